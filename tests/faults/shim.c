/* A library to preload: counts the calls that change a folder, and does harm at one of them.
 *
 * It counts calls that name something in a watched folder, or that go to a file opened there, and
 * writes a line about each to a trace. At the call whose number is asked for it returns an error,
 * kills the process, sends it a signal or runs a shell command. It is armed by the variable
 * FAULT_PLAN, which programs that are started from here do not inherit, or by `fault_arm`. The
 * plan has five fields, with a line feed between them:
 *
 *     folder    the absolute path of the watched folder, without links
 *     trace     a file for the trace, or nothing
 *     names     of calls, with commas between them, to count only those; or nothing
 *     number    of the call, from 1 on; 0 for none, -1 for all that are counted
 *     action    "errno N", "kill before", "kill after", "signal before N", "signal after N",
 *               "run before COMMAND", "run after COMMAND"
 *
 * fsync and fdatasync are counted, and not carried out: nobody pulls the plug here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define LENGTH (2 * PATH_MAX)

static struct {
    int armed;
    char folder[PATH_MAX];
    int trace;
    char names[256]; /* with a comma before and after each */
    long number;
    char action[PATH_MAX];
} plan;
static long counted;
static __thread int inside; /* a call of our own is under way in this thread */

struct call {
    long number; /* 0 for one that is not counted */
    const char *name;
    int hit;
    char about[2 * LENGTH];
};

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* Arming. */

static char *field(char **rest) {
    char *found = strsep(rest, "\n");
    return found == NULL ? "" : found;
}

void fault_arm(const char *text) {
    char *copy = strdup(text), *rest = copy;
    snprintf(plan.folder, sizeof plan.folder, "%s", field(&rest));
    const char *trace = field(&rest);
    plan.trace = -1;
    if (*trace) {
        int fd = REAL(open64)(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        /* Out of the way, so that numbers of descriptors are as without it. */
        plan.trace = REAL(fcntl64)(fd, F_DUPFD_CLOEXEC, 900);
        REAL(close)(fd);
    }
    const char *names = field(&rest);
    snprintf(plan.names, sizeof plan.names, *names ? ",%s," : "", names);
    plan.number = atol(field(&rest));
    snprintf(plan.action, sizeof plan.action, "%s", rest == NULL ? "" : rest);
    free(copy);
    counted = 0;
    plan.armed = 1;
}

__attribute__((constructor)) static void arm_from_environment(void) {
    const char *text = getenv("FAULT_PLAN");
    if (text != NULL) {
        fault_arm(text);
        unsetenv("FAULT_PLAN");
    }
}

/* Which calls count. */

static int is_inside(const char *path) {
    size_t length = strlen(plan.folder);
    return strncmp(path, plan.folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int path_of_fd(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length >= 0;
}

/* Write the absolute path of what is named; links in its folder are followed. */
static void resolve(int folder, const char *name, char *path) {
    char joined[LENGTH], above[PATH_MAX];
    if (name[0] == '/' || folder == AT_FDCWD) {
        snprintf(joined, sizeof joined, "%s", name);
    } else {
        char base[PATH_MAX];
        path_of_fd(folder, base);
        snprintf(joined, sizeof joined, "%s/%s", base, name);
    }
    char *last = strrchr(joined, '/');
    const char *rest = last == NULL ? joined : last + 1;
    if (last == joined) {
        above[0] = '/', above[1] = 0;
    } else if (last != NULL) {
        *last = 0;
    }
    if (last == joined || realpath(last == NULL ? "." : joined, above) == NULL) {
        snprintf(path, LENGTH, "%s", name);
        return;
    }
    int is_above = strcmp(rest, ".") == 0 || *rest == 0;
    snprintf(path, LENGTH, "%s%s%.*s", above, is_above ? "" : "/", NAME_MAX, is_above ? "" : rest);
}

static int about_path(struct call *call, int folder, const char *name) {
    if (!plan.armed || inside || name == NULL) {
        return 0;
    }
    int before = errno;
    resolve(folder, name, call->about);
    errno = before;
    return is_inside(call->about);
}

static int about_two(struct call *call, int folder, const char *name, int other_folder,
                     const char *other_name) {
    struct call other;
    int one = about_path(call, folder, name), two = about_path(&other, other_folder, other_name);
    if (!one && !two) {
        return 0;
    }
    size_t length = strlen(call->about);
    snprintf(call->about + length, sizeof call->about - length, " -> %s", other.about);
    return 1;
}

static int about_fd(struct call *call, int fd) {
    if (!plan.armed || inside) {
        return 0;
    }
    int before = errno;
    int known = path_of_fd(fd, call->about);
    errno = before;
    return known && is_inside(call->about);
}

/* What happens at a call. */

static void trace(const struct call *call, const char *end) {
    char line[2 * LENGTH + 200];
    if (plan.trace >= 0) {
        int length = snprintf(line, sizeof line, "%ld\t%s\t%s\t%s\n", call->number, call->name,
                              call->about, end);
        REAL(write)(plan.trace, line, (size_t)length);
    }
}

static const char *action(const char *what) {
    size_t length = strlen(what);
    return strncmp(plan.action, what, length) == 0 ? plan.action + length : NULL;
}

static void harm(const struct call *call, const char *moment) {
    char what[32];
    const char *rest;
    snprintf(what, sizeof what, "kill %s", moment);
    if (action(what)) {
        trace(call, what);
        kill(getpid(), SIGKILL);
    }
    snprintf(what, sizeof what, "signal %s ", moment);
    if ((rest = action(what))) {
        trace(call, what);
        kill(getpid(), atoi(rest));
    }
    snprintf(what, sizeof what, "run %s ", moment);
    if ((rest = action(what))) {
        trace(call, what);
        int status = system(rest);
        (void)status;
    }
}

/* Returns whether the call fails, and sets errno then. */
static int enter(struct call *call, const char *name) {
    call->number = 0;
    call->name = name;
    call->hit = 0;
    char between[64];
    snprintf(between, sizeof between, ",%s,", name);
    if (plan.names[0] && strstr(plan.names, between) == NULL) {
        return 0;
    }
    inside = 1;
    call->number = __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST);
    call->hit = plan.number == -1 || plan.number == call->number;
    const char *error = call->hit ? action("errno ") : NULL;
    if (error) {
        trace(call, plan.action);
    } else if (call->hit) {
        harm(call, "before");
    }
    inside = 0;
    if (error) {
        errno = atoi(error);
    }
    return error != NULL;
}

static void leave(const struct call *call, int failed) {
    if (call->number == 0) {
        return;
    }
    int before = errno;
    char end[64];
    snprintf(end, sizeof end, failed ? "failed with %d" : "done", before);
    inside = 1;
    trace(call, end);
    if (call->hit) {
        harm(call, "after");
    }
    inside = 0;
    errno = before;
}

#define COUNTED(type, name, is_about, invocation)                                                  \
    struct call call;                                                                              \
    if (!(is_about)) {                                                                             \
        return invocation;                                                                         \
    }                                                                                              \
    if (enter(&call, name)) {                                                                      \
        return -1;                                                                                 \
    }                                                                                              \
    type result = invocation;                                                                      \
    leave(&call, result < 0);                                                                      \
    return result

/* The calls. */

#define OPEN_MODE(flags)                                                                           \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                       \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }

static const char *name_of_open(int flags) {
    return (flags & O_TMPFILE) == O_TMPFILE ? "tmpfile" : "open";
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        OPEN_MODE(flags)                                                                           \
        COUNTED(int, name_of_open(flags), about_path(&call, AT_FDCWD, path),                       \
                REAL(name)(path, flags, mode));                                                    \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int folder, const char *path, int flags, ...) {                                       \
        OPEN_MODE(flags)                                                                           \
        COUNTED(int, name_of_open(flags), about_path(&call, folder, path),                         \
                REAL(name)(folder, path, flags, mode));                                            \
    }
OPENAT(openat)
OPENAT(openat64)

#define CREAT(name)                                                                                \
    int name(const char *path, mode_t mode) {                                                      \
        COUNTED(int, "open", about_path(&call, AT_FDCWD, path), REAL(name)(path, mode));           \
    }
CREAT(creat)
CREAT(creat64)

ssize_t write(int fd, const void *data, size_t size) {
    COUNTED(ssize_t, "write", about_fd(&call, fd), REAL(write)(fd, data, size));
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    COUNTED(ssize_t, "write", about_fd(&call, fd), REAL(writev)(fd, pieces, count));
}

#define PWRITE(name, offset_type)                                                                  \
    ssize_t name(int fd, const void *data, size_t size, offset_type offset) {                      \
        COUNTED(ssize_t, "write", about_fd(&call, fd), REAL(name)(fd, data, size, offset));        \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define PWRITEV(name, offset_type)                                                                 \
    ssize_t name(int fd, const struct iovec *pieces, int count, offset_type offset) {              \
        COUNTED(ssize_t, "write", about_fd(&call, fd), REAL(name)(fd, pieces, count, offset));     \
    }
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)

ssize_t copy_file_range(int from, off64_t *start, int to, off64_t *at, size_t size,
                        unsigned int flags) {
    COUNTED(ssize_t, "copy_file_range", about_fd(&call, to),
            REAL(copy_file_range)(from, start, to, at, size, flags));
}

#define SENDFILE(name, offset_type)                                                                \
    ssize_t name(int to, int from, offset_type *start, size_t size) {                              \
        COUNTED(ssize_t, "sendfile", about_fd(&call, to), REAL(name)(to, from, start, size));      \
    }
ssize_t sendfile(int, int, off_t *, size_t);
ssize_t sendfile64(int, int, off64_t *, size_t);
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

int fsync(int fd) {
    COUNTED(int, "fsync", about_fd(&call, fd), plan.armed ? 0 : REAL(fsync)(fd));
}

int fdatasync(int fd) {
    COUNTED(int, "fsync", about_fd(&call, fd), plan.armed ? 0 : REAL(fdatasync)(fd));
}

int close(int fd) {
    struct call call;
    if (!about_fd(&call, fd)) {
        return REAL(close)(fd);
    }
    if (enter(&call, "close")) {
        int error = errno;
        REAL(close)(fd); /* one that fails has closed the descriptor */
        errno = error;
        return -1;
    }
    int result = REAL(close)(fd);
    leave(&call, result < 0);
    return result;
}

int dup(int fd) {
    COUNTED(int, "dup", about_fd(&call, fd), REAL(dup)(fd));
}

int dup2(int fd, int other) {
    COUNTED(int, "dup", about_fd(&call, fd), REAL(dup2)(fd, other));
}

int dup3(int fd, int other, int flags) {
    COUNTED(int, "dup", about_fd(&call, fd), REAL(dup3)(fd, other, flags));
}

/* Locks and leases count; flags of descriptors do not. */
static const char *name_of_command(int command) {
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        return "dup";
    case F_SETLEASE:
        return "lease";
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return "lock";
    default:
        return NULL;
    }
}

#define FCNTL(name)                                                                                \
    int name(int fd, int command, ...) {                                                           \
        va_list more;                                                                              \
        va_start(more, command);                                                                   \
        void *argument = va_arg(more, void *);                                                     \
        va_end(more);                                                                              \
        const char *what = name_of_command(command);                                               \
        COUNTED(int, what, what != NULL && about_fd(&call, fd), REAL(name)(fd, command, argument)); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int flock(int fd, int operation) {
    COUNTED(int, "lock", about_fd(&call, fd), REAL(flock)(fd, operation));
}

int lockf64(int fd, int command, off64_t size) {
    COUNTED(int, "lock", about_fd(&call, fd), REAL(lockf64)(fd, command, size));
}

#define TRUNCATE(name, offset_type)                                                                \
    int name(int fd, offset_type size) {                                                           \
        COUNTED(int, "ftruncate", about_fd(&call, fd), REAL(name)(fd, size));                      \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define ALLOCATE(name, offset_type)                                                                \
    int name(int fd, int mode, offset_type offset, offset_type size) {                             \
        COUNTED(int, "fallocate", about_fd(&call, fd), REAL(name)(fd, mode, offset, size));        \
    }
ALLOCATE(fallocate, off_t)
ALLOCATE(fallocate64, off64_t)

int fchmod(int fd, mode_t mode) {
    COUNTED(int, "fchmod", about_fd(&call, fd), REAL(fchmod)(fd, mode));
}

int chmod(const char *path, mode_t mode) {
    COUNTED(int, "fchmod", about_path(&call, AT_FDCWD, path), REAL(chmod)(path, mode));
}

int fchmodat(int folder, const char *path, mode_t mode, int flags) {
    COUNTED(int, "fchmod", about_path(&call, folder, path),
            REAL(fchmodat)(folder, path, mode, flags));
}

int fchown(int fd, uid_t owner, gid_t group) {
    COUNTED(int, "fchown", about_fd(&call, fd), REAL(fchown)(fd, owner, group));
}

int chown(const char *path, uid_t owner, gid_t group) {
    COUNTED(int, "fchown", about_path(&call, AT_FDCWD, path), REAL(chown)(path, owner, group));
}

int fchownat(int folder, const char *path, uid_t owner, gid_t group, int flags) {
    COUNTED(int, "fchown", about_path(&call, folder, path),
            REAL(fchownat)(folder, path, owner, group, flags));
}

int rename(const char *from, const char *to) {
    COUNTED(int, "rename", about_two(&call, AT_FDCWD, from, AT_FDCWD, to), REAL(rename)(from, to));
}

int renameat(int from, const char *name, int to, const char *other) {
    COUNTED(int, "rename", about_two(&call, from, name, to, other),
            REAL(renameat)(from, name, to, other));
}

int renameat2(int from, const char *name, int to, const char *other, unsigned int flags) {
    COUNTED(int, "renameat2", about_two(&call, from, name, to, other),
            REAL(renameat2)(from, name, to, other, flags));
}

int link(const char *from, const char *to) {
    COUNTED(int, "link", about_two(&call, AT_FDCWD, from, AT_FDCWD, to), REAL(link)(from, to));
}

int linkat(int from, const char *name, int to, const char *other, int flags) {
    COUNTED(int, "link", about_two(&call, from, name, to, other),
            REAL(linkat)(from, name, to, other, flags));
}

int symlink(const char *content, const char *path) {
    COUNTED(int, "symlink", about_path(&call, AT_FDCWD, path), REAL(symlink)(content, path));
}

int symlinkat(const char *content, int folder, const char *path) {
    COUNTED(int, "symlink", about_path(&call, folder, path),
            REAL(symlinkat)(content, folder, path));
}

int unlink(const char *path) {
    COUNTED(int, "unlink", about_path(&call, AT_FDCWD, path), REAL(unlink)(path));
}

int unlinkat(int folder, const char *path, int flags) {
    COUNTED(int, flags & AT_REMOVEDIR ? "rmdir" : "unlink", about_path(&call, folder, path),
            REAL(unlinkat)(folder, path, flags));
}

int mkdir(const char *path, mode_t mode) {
    COUNTED(int, "mkdir", about_path(&call, AT_FDCWD, path), REAL(mkdir)(path, mode));
}

int mkdirat(int folder, const char *path, mode_t mode) {
    COUNTED(int, "mkdir", about_path(&call, folder, path), REAL(mkdirat)(folder, path, mode));
}

int rmdir(const char *path) {
    COUNTED(int, "rmdir", about_path(&call, AT_FDCWD, path), REAL(rmdir)(path));
}

/* Where the C library has no function for it, or a program does not take that. */
long syscall(long number, ...) {
    va_list more;
    va_start(more, number);
    long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long);
    long d = va_arg(more, long), e = va_arg(more, long), f = va_arg(more, long);
    va_end(more);
    COUNTED(long, "renameat2",
            number == SYS_renameat2
                && about_two(&call, (int)a, (const char *)b, (int)c, (const char *)d),
            REAL(syscall)(number, a, b, c, d, e, f));
}
