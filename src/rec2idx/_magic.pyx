# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The search for the magic: for a record's start at any byte, and for words of a payload."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memchr, memcpy

cdef enum:
    HEADER = 8
    MAGIC = 0xCED7230A
    RARE = 0xD7  # the byte of the magic that is looked for: in text, none is rarer
    PLACE = 2    # where in the magic it stands
    SOME = 64    # words that are compared without a look at each


cdef inline uint32_t load32(const uint8_t* at) noexcept nogil:
    return at[0] | (<uint32_t>at[1] << 8) | (<uint32_t>at[2] << 16) | (<uint32_t>at[3] << 24)


def find_opening(const uint8_t[::1] data not None, Py_ssize_t start):
    """Return where in `data`, from `start` on, a header first stands that opens a record, or -1.

    That is a magic and a cflag of 0 or 1, at any byte, all eight bytes of it in `data`.
    """
    if start < 0:
        raise ValueError(f"start is {start}, expected 0 or more")
    cdef Py_ssize_t last = data.shape[0] - HEADER  # the last place for a whole header
    cdef Py_ssize_t found = -1
    cdef const uint8_t* first
    cdef const uint8_t* at
    if start > last:
        return -1
    first = &data[0]
    with nogil:
        at = first + start
        while at <= first + last:
            at = <const uint8_t*>memchr(at + PLACE, RARE, first + last - at + 1)
            if at == NULL:
                break
            at -= PLACE
            if load32(at) == MAGIC and load32(at + 4) >> 29 < 2:
                found = at - first
                break
            at += 1
    return found


cdef inline bint equals(const uint8_t* at, uint32_t word) noexcept nogil:
    """Say whether four bytes are those of a word of this machine."""
    cdef uint32_t there
    memcpy(&there, at, 4)
    return there == word


def find_word(const uint8_t[::1] data not None, Py_ssize_t start):
    """Return where in `data` the first magic at a multiple of 4 stands, from `start` on, or -1.

    `start` is such a multiple.
    """
    if start < 0 or start % 4 != 0:
        raise ValueError(f"start is {start}, expected a multiple of 4, 0 or more")
    cdef uint8_t[4] bytes_of_magic = [0x0A, 0x23, 0xD7, 0xCE]
    cdef Py_ssize_t at = start, size = data.shape[0], found = -1, i
    cdef uint32_t magic
    cdef bint any_of_them = False
    cdef const uint8_t* first
    if size - start < 4:
        return -1
    memcpy(&magic, bytes_of_magic, 4)
    first = &data[0]
    with nogil:
        while size - at >= 4 * SOME:  # a loop that compilers turn into few instructions
            for i in range(SOME):
                any_of_them |= equals(first + at + 4 * i, magic)
            if any_of_them:
                break
            at += 4 * SOME
        while size - at >= 4:
            if equals(first + at, magic):
                found = at
                break
            at += 4
    return found
