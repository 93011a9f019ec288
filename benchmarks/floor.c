/* The floor: the least that a walk along the headers of a record file can do, in C.
 *
 *   floor FILE blocks|headers REPEATS
 *
 * Reads FILE with pread, in blocks of 256 KB or 8 bytes a header, checks the magic and that each
 * record has one part, and keeps offset and size of the last records. Prints the number of records,
 * then nanoseconds a record, one line for each repeat.
 */
#define _FILE_OFFSET_BITS 64
#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 8, BLOCK = 1 << 18, RING = 1 << 13 };

static uint8_t block[BLOCK];
static int64_t offsets[RING], sizes[RING];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int64_t walk(int fd, int64_t size, int64_t room) {
    int64_t count = 0, position = 0;
    while (position < size) {
        ssize_t got = pread(fd, block, room, position);
        if (got < HEADER)
            fail("pread");
        int64_t here = 0;
        while (here + HEADER <= got) {
            uint32_t words[2];
            memcpy(words, block + here, HEADER);
            if (words[0] != 0xced7230a || words[1] >> 29)
                fail("not the start of a whole record");
            offsets[count % RING] = position + here;
            sizes[count % RING] = words[1];
            count++;
            here += HEADER + (((int64_t)words[1] + 3) & ~3);
        }
        position += here;
    }
    return count;
}

int main(int argc, char **argv) {
    struct stat status;
    if (argc != 4)
        return 2;
    int fd = open(argv[1], O_RDONLY);
    if (fd < 0 || fstat(fd, &status) < 0)
        fail(argv[1]);
    int64_t room = strcmp(argv[2], "blocks") == 0 ? BLOCK : HEADER;
    for (int i = 0, repeats = atoi(argv[3]); i < repeats; i++) {
        double began = now_ns();
        int64_t count = walk(fd, status.st_size, room);
        double spent = now_ns() - began;
        if (i == 0)
            printf("%lld\n", (long long)count);
        printf("%.2f\n", spent / count);
    }
    return 0;
}
