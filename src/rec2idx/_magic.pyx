# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The search for a part's header, at any byte."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memchr

cdef enum:
    HEADER = 8
    MAGIC = 0xCED7230A
    RARE = 0xD7  # the byte of the magic that is looked for: in text, none is rarer
    PLACE = 2    # where in the magic it stands


cdef inline uint32_t load32(const uint8_t* at) noexcept nogil:
    return at[0] | (<uint32_t>at[1] << 8) | (<uint32_t>at[2] << 16) | (<uint32_t>at[3] << 24)


def find_header(const uint8_t[::1] data not None, Py_ssize_t start):
    """Return where in `data`, from `start` on, the first header of a part stands, or -1.

    That is a magic and a cflag of 0 to 3, at any byte, all eight bytes of it in `data`.
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
            if load32(at) == MAGIC and load32(at + 4) >> 29 < 4:
                found = at - first
                break
            at += 1
    return found
