# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The kernel of reading a record by its offset, in one read where that is possible.

It takes records of one part that lie where they should, and gives up on all others: whoever calls
it finds out what they are. Bytes are asked for as many as `SMALL` says at once, or, of a record
that was found to lie in the file, its own; what a caller guesses decides nothing else.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_CheckExact
from cpython.number cimport PyIndex_Check, PyNumber_Index
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from posix.unistd cimport pread

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef enum:
    HEADER = 8
    MAGIC = 0xCED7230A
    MAX_LENGTH = (1 << 29) - 1

    # Bytes that are read onto the stack: header and payload at once. For a larger record, a read of
    # its own costs less than to copy the payload once more.
    _SMALL = 1 << 15
    UNKNOWN = 1 << 12  # bytes to read where nothing says how long a record may be

SMALL = _SMALL


cdef inline uint32_t load32(const uint8_t* at) noexcept nogil:
    return at[0] | (<uint32_t>at[1] << 8) | (<uint32_t>at[2] << 16) | (<uint32_t>at[3] << 24)


cdef inline int64_t number_of(object number, int64_t otherwise) except? -1:
    """Return a number, or `otherwise` where it has more than 64 bits."""
    cdef int overflow = 0
    cdef int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow)
    return otherwise if overflow else value


cdef bint read_all(int fd, uint8_t* out, int64_t size, int64_t offset) noexcept nogil:
    """Read `size` bytes; return whether they were there."""
    cdef Py_ssize_t got
    while size > 0:
        got = pread(fd, out, size, offset)
        if got <= 0:
            return False
        out += got
        offset += got
        size -= got
    return True


cdef object read_at(int fd, int64_t at, int64_t wanted, int64_t size):
    """As `read_record`, for numbers of 64 bits."""
    cdef uint8_t[_SMALL] some
    cdef int64_t got, length, whole
    cdef bytes payload
    cdef uint8_t* out
    cdef bint there
    if at < 0 or at > size - HEADER:
        return None
    if wanted > _SMALL:
        wanted = HEADER
    elif wanted < HEADER:
        wanted = UNKNOWN
    with nogil:
        got = pread(fd, some, wanted, at) - HEADER
    if got < 0 or load32(some) != MAGIC:
        return None
    length = load32(some + 4)
    whole = length + 3 & ~3
    # With a cflag other than 0, the word is larger than any length.
    if length > MAX_LENGTH or whole > size - HEADER - at:
        return None
    if length <= got:
        payload = PyBytes_FromStringAndSize(<char*>some + HEADER, length)
    else:
        payload = PyBytes_FromStringAndSize(NULL, length)
        out = <uint8_t*>PyBytes_AS_STRING(payload)  # nobody else knows of it
        with nogil:
            memcpy(out, some + HEADER, got)
            there = read_all(fd, out + got, length - got, at + HEADER + got)
        if not there:
            return None
    return payload, at + HEADER + whole


def read_record(int fd, offset, guess, int64_t size):
    """Return the payload of the record at an offset, and where the record behind it starts.

    Args:
        fd: the file.
        offset: where the record should start: any number.
        guess: how many bytes it may take, or 0: any number.
        size: bytes in the file.

    Returns None if that is no whole record of one part, and if reading failed.
    """
    return read_at(fd, number_of(offset, -1), number_of(guess, 0), size)


@cython.final
cdef class Running:
    """Where records are whose keys run on: each is the one before it plus 1.

    Args:
        first: the first key.
        offsets: where the record of each key starts, and the size of the file: an array of uint64.
            It is kept, and keeps its length.
    """

    cdef uint64_t _first
    cdef const unsigned long long[::1] _offsets  # as long as it looks at them, they stay

    def __cinit__(self, uint64_t first, const unsigned long long[::1] offsets not None):
        if offsets.shape[0] == 0:
            raise ValueError("offsets is empty, expected the size of the file at its end")
        self._first = first
        self._offsets = offsets

    def read(self, int fd, key):
        """Return what `read_record` returns for a key; None, too, if there is no such key."""
        cdef int64_t number = whole_number(key)
        cdef uint64_t count = self._offsets.shape[0] - 1
        cdef uint64_t place = <uint64_t>number - self._first
        if number < 0 or <uint64_t>number < self._first or place >= count:
            return None
        # What is too large for a signed number becomes negative, and is refused.
        return read_at(
            fd,
            <int64_t>self._offsets[place],
            <int64_t>(self._offsets[place + 1] - self._offsets[place]),
            <int64_t>self._offsets[count],
        )


cdef int64_t whole_number(key) except? -1:
    """Return the number that a key equals, as one of NumPy's equals one; -1 if that is not sure."""
    if PyLong_CheckExact(key):
        return number_of(key, -1)
    if not PyIndex_Check(key):
        return -1
    cdef Py_hash_t code = hash(key)
    cdef int64_t number = number_of(PyNumber_Index(key), -1)
    return number if number == code else -1  # what equals a number has the same hash
