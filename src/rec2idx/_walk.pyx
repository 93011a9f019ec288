# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The kernel: follow the chain of parts in a file.

Nothing here knows of paths, options or messages. A walk reports how it stands as a status;
`rec2idx.scan` alone turns one into an error. Loops hold no GIL and no Python objects.

Every read of a header is guarded by a comparison with the bytes that were really read, and no
length found in a file is ever used as the size of an allocation or of a read.
"""

from cpython cimport array
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec
from posix.unistd cimport pread

import array

# How a walk stands. WALKING: call again. END: the chain ends where the file ends. PASSED: the next
# record starts at or behind `stop`. All others are damage or a failure, and `position` is the byte
# they speak of.
cdef enum Status:
    _WALKING = 0
    _END = 1
    _BAD_MAGIC = 2    # a part should start at `position`; another word stands there
    _BAD_CFLAG = 3    # cflag above 3
    _NO_FIRST = 4     # cflag 2 or 3 opens a record
    _NOT_ENDED = 5    # cflag 0 or 1 inside a record
    _CUT_HEADER = 6   # fewer than 8 bytes from `position` to the end of the file
    _CUT_PART = 7     # the part or its padding goes past the end of the file
    _ENDS_INSIDE = 8  # the file ends between the parts of a record
    _SHRUNK = 9       # the file holds fewer bytes than its size was said to be
    _FAILED = 10      # a read failed; `failure` is its errno
    _PASSED = 11

WALKING = _WALKING
END = _END
BAD_MAGIC = _BAD_MAGIC
BAD_CFLAG = _BAD_CFLAG
NO_FIRST = _NO_FIRST
NOT_ENDED = _NOT_ENDED
CUT_HEADER = _CUT_HEADER
CUT_PART = _CUT_PART
ENDS_INSIDE = _ENDS_INSIDE
SHRUNK = _SHRUNK
FAILED = _FAILED
PASSED = _PASSED

cdef enum:
    HEADER = 8
    MOST_KEPT = 120  # bytes of a record's payload that its head may have
    MAGIC = 0xCED7230A
    LENGTH_MASK = (1 << 29) - 1

    # Bytes of one read while records are small, unless the caller says otherwise.
    BLOCK = 1 << 17
    # Parts after which a walk that reads single headers weighs the two ways of reading again.
    PROBE = 32
    # A call returns to Python, where signals are handled, at the latest after this time.
    PATIENCE_NS = 50_000_000


cdef int64_t NEVER = (<int64_t>1 << 62) + ((<int64_t>1 << 62) - 1)

# A measurement counts in full when the walk has just changed its way of reading, else for a quarter:
# one slow read should not decide. With each window of reads, the cost of the way of reading
# that is not in use fades a little, so that a way once found slow is tried again, seldom.
cdef double NEW = 0.25
cdef double FADE = 1 - 1.0 / 128


cdef inline uint32_t load32(const uint8_t* at) noexcept nogil:
    return at[0] | (<uint32_t>at[1] << 8) | (<uint32_t>at[2] << 16) | (<uint32_t>at[3] << 24)


cdef inline void put32(uint8_t* out, uint32_t word, int64_t most) noexcept nogil:
    """Write a word in little-endian byte order, but no more than `most` bytes of it."""
    cdef int64_t i
    for i in range(min(most, 4)):
        out[i] = <uint8_t>(word >> (8 * i))


cdef inline int64_t now_ns() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return <int64_t>t.tv_sec * 1_000_000_000 + t.tv_nsec


cdef class Walk:
    """One walk along the chain of parts, from byte `start` on, in a file of `size` bytes.

    It ends where the file ends, or at the first record that starts at or behind `stop`. Unless it
    may go `past` that to the end of a record, it ends at the first part there.

    There are two ways to read: whole blocks, or the 8 bytes of each header. Which one is faster
    depends on the records, the storage and what is cached, by a factor of up to 30, and it changes
    along a file. So the walk measures both, and uses the one that costs less a part.
    """

    cdef readonly int64_t position  # byte offset of the next part, or of what is wrong
    cdef readonly int64_t size      # bytes in the file
    cdef readonly int64_t stop
    cdef readonly int64_t opened    # offset of the first part of the record in progress, or -1
    cdef readonly int64_t followed  # parts that were followed so far, restarts included
    cdef readonly int status
    cdef readonly int failure      # errno of the read that failed
    cdef readonly uint32_t magic    # the header read last: its two words
    cdef readonly uint32_t lrec
    cdef readonly int64_t need      # bytes of a part to see at once, or all of a shorter one
    cdef uint8_t* heads             # where the heads of this call's records go, or NULL
    cdef int64_t keep               # bytes of a payload that a head has; 0 if none are wanted
    cdef uint8_t[8 + MOST_KEPT] head  # that of the record in progress,
    cdef int64_t seen               # of whose payload it has so many bytes
    cdef bint past                  # whether a record that starts before `stop` is followed to its end
    cdef bint busy                  # a call is under way, perhaps in another thread
    cdef int64_t payload            # bytes of the record in progress, restored magics included
    cdef uint8_t* block             # bytes [base, base + filled) of the file
    cdef int64_t room               # bytes that fit into the block
    cdef int64_t base
    cdef int64_t filled
    # How to read: the window is what was walked since the two ways were weighed last.
    cdef bint headers_only
    cdef bint changed               # the window is the first one read this way
    cdef double header_ns           # time a header takes when read alone
    cdef double byte_ns             # time a byte takes when read in blocks
    cdef int64_t window             # where the window began
    cdef int64_t parts              # parts in the window
    cdef int64_t spent_ns           # time in the window, without what the caller does between calls
    cdef int64_t clock_ns           # when spent_ns was brought up to date

    def __cinit__(self, int64_t start, int64_t size, int64_t block=BLOCK, int64_t stop=NEVER,
                  int heads=0, bint past=True):
        if block < HEADER:
            raise ValueError(f"block is {block}, expected at least {HEADER} bytes")
        if not 0 <= heads <= MOST_KEPT:
            raise ValueError(f"heads is {heads}, expected 0 to {MOST_KEPT} bytes")
        self.keep = heads
        self.need = HEADER + heads
        block = max(block, self.need)
        if not 0 <= start <= size:
            raise ValueError(f"start is {start}, expected 0 to {size}, the size of the file")
        self.position = self.window = start
        self.size = size
        self.stop = stop
        self.past = past
        self.changed = True
        self.room = min(block, max(size, self.need))
        self.opened = -1
        self.status = _WALKING
        self.block = <uint8_t*>PyMem_RawMalloc(self.room)
        if self.block == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_RawFree(self.block)

    def records(self, int fd, Py_ssize_t most):
        """Walk on in the open file `fd`; return the records that were completed.

        Returns two arrays of int64: offset of each record's first part, and payload size in
        bytes. They hold `most` records, or fewer where the walk ended or time went by. The third
        is None, or, where heads of n bytes are wanted, an array of 8 + n bytes a record: uint32
        payload length of the first part, uint32 number of parts, and the first n bytes of the
        payload; zeros follow a shorter one.
        """
        if most < 1:
            raise ValueError(f"most is {most}, expected at least 1")
        cdef array.array offsets = array.clone(EMPTY, most, zero=False)
        cdef array.array sizes = array.clone(EMPTY, most, zero=False)
        cdef array.array heads = self.enter(most)
        cdef Py_ssize_t count
        with nogil:
            count = self.run(fd, <int64_t*>offsets.data.as_longlongs,
                             <int64_t*>sizes.data.as_longlongs, most)
        return self.leave(offsets, sizes, heads, count)

    def feed(self, const uint8_t[::1] data not None, int64_t at, Py_ssize_t most):
        """Walk on in `data`, the bytes of the file from `at` on; return what `records` returns.

        Fewer than `most` records mean that the next header is not, or not wholly, in `data`:
        it is at `position`.
        """
        if most < 1:
            raise ValueError(f"most is {most}, expected at least 1")
        cdef array.array offsets = array.clone(EMPTY, most, zero=False)
        cdef array.array sizes = array.clone(EMPTY, most, zero=False)
        cdef array.array heads = self.enter(most)
        cdef Py_ssize_t count = 0
        cdef uint8_t* own = self.block
        if data.shape[0] > 0:
            with nogil:
                self.block = <uint8_t*>&data[0]
                self.base = at
                self.filled = data.shape[0]
                count = self.follow(<int64_t*>offsets.data.as_longlongs,
                                    <int64_t*>sizes.data.as_longlongs, 0, most)
                self.block = own
                self.filled = 0
        if self.status == _WALKING:
            self.end_of_file()
        return self.leave(offsets, sizes, heads, count)

    cdef array.array enter(self, Py_ssize_t most):
        """Begin a call; return where the heads of its records go, if any are wanted."""
        if self.busy:
            raise RuntimeError("a walk serves one thread at a time")
        cdef array.array heads = None
        if self.keep > 0:
            heads = array.clone(BYTES, most * self.need, zero=False)
            self.heads = heads.data.as_uchars
        self.busy = True
        return heads

    cdef tuple leave(self, array.array offsets, array.array sizes, array.array heads,
                     Py_ssize_t count):
        """End a call; return what it found."""
        self.busy = False
        self.heads = NULL
        array.resize(offsets, count)
        array.resize(sizes, count)
        if heads is not None:
            array.resize(heads, count * self.need)
        return offsets, sizes, heads

    def restart(self, int64_t at):
        """Walk on from byte `at`, wherever the walk stands, in the way of reading that it is in."""
        if self.busy:
            raise RuntimeError("a walk serves one thread at a time")
        if not 0 <= at <= self.size:
            raise ValueError(f"at is {at}, expected 0 to {self.size}, the size of the file")
        self.position = self.window = at
        self.opened = -1
        self.parts = 0
        self.status = _WALKING

    def grow(self, int64_t size):
        """Say that the file has `size` bytes, more than was said before, and walk on."""
        if size < self.size:
            raise ValueError(f"size is {size}, expected at least {self.size}")
        self.size = size
        if self.status in (_END, _ENDS_INSIDE, _CUT_HEADER, _CUT_PART):
            self.status = _WALKING

    cdef Py_ssize_t run(self, int fd, int64_t* offsets, int64_t* sizes,
                        Py_ssize_t most) noexcept nogil:
        cdef Py_ssize_t count = 0
        cdef int64_t deadline
        self.clock_ns = now_ns()
        deadline = self.clock_ns + PATIENCE_NS
        while self.status == _WALKING:
            count = self.follow(offsets, sizes, count, most)
            if count == most or self.status != _WALKING:
                break
            if not self.headers_only or self.parts >= PROBE:
                self.spend()
                self.weigh()
                if self.clock_ns > deadline:
                    break
            if not self.fill(fd):
                break
        self.spend()
        return count

    cdef void spend(self) noexcept nogil:
        cdef int64_t now = now_ns()
        self.spent_ns += now - self.clock_ns
        self.clock_ns = now

    cdef void weigh(self) noexcept nogil:
        """At the end of a window, choose the way of reading for the next one."""
        cdef double stride
        cdef double share = 1 if self.changed else NEW
        if self.parts > 0 and self.filled > 0:
            stride = <double>(self.position - self.window) / self.parts
            if self.headers_only:
                self.header_ns += share * (<double>self.spent_ns / self.parts - self.header_ns)
                self.byte_ns *= FADE
            else:
                self.byte_ns += share * (<double>self.spent_ns / self.filled - self.byte_ns)
                self.header_ns *= FADE
            self.changed = self.headers_only
            self.headers_only = self.header_ns < self.byte_ns * stride
            self.changed = self.changed != self.headers_only
        self.window = self.position
        self.parts = 0
        self.spent_ns = 0

    cdef Py_ssize_t follow(self, int64_t* offsets, int64_t* sizes, Py_ssize_t count,
                           Py_ssize_t most) noexcept nogil:
        """Follow the headers inside the block; return the new count of records."""
        cdef const uint8_t* at
        cdef const uint8_t* block = self.block
        cdef int64_t here, position = self.position
        cdef int64_t last = self.filled - HEADER  # the last place in the block for a whole header
        cdef int64_t whole, length
        cdef uint32_t cflag
        cdef int64_t parts = 0
        while count < most:
            if position >= self.stop and (self.opened < 0 or not self.past):
                self.status = _PASSED
                break
            here = position - self.base
            if here < 0 or here > last:
                break
            at = block + here
            self.magic = load32(at)
            self.lrec = load32(at + 4)
            cflag = self.lrec >> 29
            length = self.lrec & LENGTH_MASK
            whole = HEADER + ((length + 3) & ~<int64_t>3)
            self.status = self.judge(cflag, whole, self.size - position)
            if self.status != _WALKING:
                break
            if self.heads != NULL:
                if not self.see(at, self.filled - here, cflag, length, count):
                    break
            if cflag == 0:
                offsets[count] = position
                sizes[count] = length
                count += 1
            elif cflag == 1:
                self.opened = position
                self.payload = length
            else:
                self.payload += 4 + length  # the magic between two parts belongs to the payload
                if cflag == 3:
                    offsets[count] = self.opened
                    sizes[count] = self.payload
                    self.opened = -1
                    count += 1
            position += whole
            parts += 1
        self.position = position
        self.parts += parts
        self.followed += parts
        return count

    cdef inline bint see(self, const uint8_t* at, int64_t there, uint32_t cflag, int64_t length,
                         Py_ssize_t count) noexcept nogil:
        """Keep the head of a record; say whether enough bytes of its part are there for that.

        `there` bytes are, from `at` on, where the part begins.
        """
        cdef uint8_t* payload = self.head + 8
        cdef uint32_t words[2]
        cdef int64_t seen = 0
        cdef int64_t more
        if cflag > 1:
            seen = min(self.seen + 4, self.keep)  # the magic between two parts
        more = min(length, self.keep - seen)
        if there < HEADER + more:
            return False
        if cflag > 1:
            memcpy(words, self.head, 8)
            words[1] += 1
            put32(payload + self.seen, MAGIC, seen - self.seen)
        else:
            words[0] = <uint32_t>length
            words[1] = 1
            memset(payload, 0, self.keep)
        memcpy(self.head, words, 8)
        memcpy(payload + seen, at + HEADER, more)
        self.seen = seen + more
        if cflag == 0 or cflag == 3:
            memcpy(self.heads + count * self.need, self.head, self.need)
        return True

    cdef inline Status judge(self, uint32_t cflag, int64_t whole, int64_t left) noexcept nogil:
        """Say whether the header just read may stand where it stands.

        Its part takes `whole` bytes, and the file has `left` more. Where the part would end is not
        asked: a server may say that a file is so large that no number has room for that.
        """
        if self.magic != MAGIC:
            return _BAD_MAGIC
        if cflag > 3:
            return _BAD_CFLAG
        if self.opened < 0:
            if cflag > 1:
                return _NO_FIRST
        elif cflag < 2:
            return _NOT_ENDED
        if whole > left:
            return _CUT_PART
        return _WALKING

    cdef bint fill(self, int fd) noexcept nogil:
        """Read the header at `position`, and what follows it while records are small."""
        cdef int64_t want = self.need if self.headers_only else self.room
        cdef int64_t least = self.need
        cdef int64_t left = self.size - self.position
        cdef ssize_t got
        if left == 0:
            self.end_of_file()
            return False
        if want > left:
            want = left
        self.base = self.position
        self.filled = 0
        while self.filled < least and self.filled < want:
            got = pread(fd, self.block + self.filled, want - self.filled, self.base + self.filled)
            if got < 0:
                if errno != EINTR:
                    self.status = _FAILED
                    self.failure = errno
                return False
            if got == 0:
                self.status = _SHRUNK
                self.position = self.base + self.filled
                return False
            self.filled += got
        self.end_of_file()
        return self.status == _WALKING

    cdef void end_of_file(self) noexcept nogil:
        """Say whether the chain ends here: at `stop`, or with no room for another header."""
        cdef int64_t left = self.size - self.position
        if self.position >= self.stop and (self.opened < 0 or not self.past):
            self.status = _PASSED
        elif left == 0:
            self.status = _END if self.opened < 0 else _ENDS_INSIDE
        elif left < HEADER:
            self.status = _CUT_HEADER


cdef array.array EMPTY = array.array("q")
cdef array.array BYTES = array.array("B")


def find_start(const uint8_t[::1] data not None, int64_t at):
    """Return where the next record may start in `data`, the bytes of the file from `at` on, or -1.

    That is a magic at a multiple of 4 in the file, with a cflag that opens a record. It is a guess:
    writers exist that leave the magic unescaped in payloads.
    """
    cdef Py_ssize_t length = data.shape[0]
    cdef Py_ssize_t here = -at & 3
    cdef const uint8_t* first
    if length < HEADER:
        return -1
    first = &data[0]
    with nogil:
        while here <= length - HEADER:
            if load32(first + here) == MAGIC and load32(first + here + 4) >> 29 < 2:
                break
            here += 4
    return at + here if here <= length - HEADER else -1
