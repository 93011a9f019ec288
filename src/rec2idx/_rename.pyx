# cython: language_level=3, auto_pickle=False
"""Renaming that replaces nothing, or that gives back what it replaces. Python has neither."""

cdef extern from *:
    """
    #include <errno.h>
    #include <stdio.h>
    #if defined(__linux__)
    #include <sys/syscall.h>
    #include <unistd.h>
    #endif

    /* how: 1 replaces nothing, 2 exchanges; the numbers are Linux's own. */
    static int rename_in(int folder, const char *old, const char *to, unsigned int how)
    {
    #if defined(__linux__) && defined(SYS_renameat2)
        return syscall(SYS_renameat2, folder, old, folder, to, how) ? errno : 0;
    #elif defined(__APPLE__)
        return renameatx_np(folder, old, folder, to, how == 1 ? 4 : 2) ? errno : 0;
    #else
        return ENOSYS;
    #endif
    }
    """
    int rename_in(int folder, const char *old, const char *to, unsigned int how) nogil


def rename_new(int folder, bytes old not None, bytes new not None):
    """Rename a file in an open folder to a name that nothing has.

    Returns:
        0, or an error number: EEXIST if something has the name; EINVAL, ENOSYS or ENOTSUP where
        the system or the file system cannot do this.
    """
    cdef const char *source = old
    cdef const char *target = new
    cdef int error
    with nogil:
        error = rename_in(folder, source, target, 1)
    return error


def exchange(int folder, bytes one not None, bytes other not None):
    """Exchange the names of two files in an open folder, in one step.

    Returns:
        0, or an error number: ENOENT if one of the files is missing; EINVAL, ENOSYS or ENOTSUP
        where the system or the file system cannot do this.
    """
    cdef const char *source = one
    cdef const char *target = other
    cdef int error
    with nogil:
        error = rename_in(folder, source, target, 2)
    return error
