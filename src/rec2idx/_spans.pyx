# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""Records looked at as spans of bytes: which are laid out as a conforming writer lays them out.

Offsets and sizes may be anything, also wrong for the bytes: nothing is read outside of the data.
"""

from cpython cimport array
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

import array

cdef enum:
    HEADER = 8
    WORDS = 64  # of 4 bytes, compared at once: a compiler makes vector instructions of that

cdef uint32_t MAGIC = 0xCED7230A
cdef int64_t MAX_LENGTH = (1 << 29) - 1


cdef inline uint32_t word(const uint8_t* at) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, at, 4)
    return value


cdef inline int64_t magic_in(const uint8_t* data, int64_t length) noexcept nogil:
    """Return where the first magic at a multiple of 4 bytes starts, or -1."""
    cdef int64_t i = 0, words = length // 4
    cdef int j
    cdef uint32_t hit
    while i + WORDS <= words:
        hit = 0
        for j in range(WORDS):
            hit |= word(data + 4 * (i + j)) == MAGIC
        if hit:
            break
        i += WORDS
    while i < words:
        if word(data + 4 * i) == MAGIC:
            return 4 * i
        i += 1
    return -1


cdef bint is_tidy(const uint8_t* data, int64_t room, int64_t size) noexcept nogil:
    """Return whether a record of `size` bytes starts the `room` bytes of data, and is tidy."""
    cdef int64_t end, stop
    if not 0 <= size <= MAX_LENGTH:
        return False
    end = HEADER + size
    stop = (end + 3) & ~<int64_t>3
    if stop > room:
        return False
    if word(data) != MAGIC or word(data + 4) != size:  # with cflag 0, lrec is the length
        return False
    while end < stop:
        if data[end] != 0:
            return False
        end += 1
    return magic_in(data + HEADER, size) < 0


def tidy(const uint8_t[::1] data not None, int64_t base, array.array offsets not None,
         array.array sizes not None, Py_ssize_t start):
    """Return how many records, from number `start` on, follow each other tidily in `data`.

    A record is tidy that lies wholly in `data`, with its padding; that has one part; whose padding
    is zeros; and whose payload holds no magic at a multiple of 4 bytes. So the bytes of tidy
    records that follow each other are what a conforming writer writes. The count ends before the
    first that is not tidy, and before the first that does not start where the one before it ends.

    Args:
        data: bytes of the file.
        base: byte offset in the file of the first of them.
        offsets: byte offset of each record, an array of int64.
        sizes: payload size of each, an array of int64.
        start: the number in these arrays to begin with.
    """
    if offsets.typecode != "q" or sizes.typecode != "q":
        raise TypeError("expected offsets and sizes as arrays of 'q'")
    cdef Py_ssize_t count = len(offsets), i = start
    if len(sizes) != count:
        raise ValueError(f"{count} records have {len(sizes)} sizes")
    if not 0 <= start <= count:
        raise ValueError(f"start is {start}, expected 0 to {count}")
    cdef int64_t length = data.shape[0], at
    if base < 0:
        raise ValueError(f"base is {base}, expected 0 or more")
    if length == 0:
        return 0
    cdef const uint8_t* bytes_of = &data[0]
    cdef const int64_t* offset = <int64_t*>offsets.data.as_longlongs
    cdef const int64_t* size = <int64_t*>sizes.data.as_longlongs
    with nogil:
        while i < count:
            if offset[i] < base:
                break
            at = offset[i] - base  # of two that are 0 or more, so that this does not overflow
            if at > length - HEADER or not is_tidy(bytes_of + at, length - at, size[i]):
                break
            i += 1
            if i < count and offset[i] < base:
                break
            # The record lies in the data, so that where it ends is no large number.
            if i < count and offset[i] - base != at + ((HEADER + size[i - 1] + 3) & ~<int64_t>3):
                break
    return i - start


def find_magic(const uint8_t[::1] data not None, int64_t start=0):
    """Return where in `data` the first magic is, at `start` or a multiple of 4 after it, or -1.

    `start` may be any number; behind the end there is nothing to find.
    """
    cdef int64_t length = data.shape[0], found
    if start < 0:
        raise ValueError(f"start is {start}, expected 0 or more")
    if start >= length:
        return -1
    cdef const uint8_t* bytes_of = &data[0]
    with nogil:
        found = magic_in(bytes_of + start, length - start)
    return found + start if found >= 0 else -1
