# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The kernel of writing records: each laid out as a conforming writer does, many in one buffer."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy, memset

cdef enum:
    HEADER = 8
    WORD = 4
    MAGIC = 0xCED7230A
    MAX_LENGTH = (1 << 29) - 1

    WHOLE = 0
    FIRST = 1
    MIDDLE = 2
    LAST = 3

    SOME = 64       # words that are compared without a look at each
    KEPT = 1 << 18  # bytes of a buffer that is kept when it is empty


cdef inline void put32(uint8_t* out, uint32_t word) noexcept nogil:
    out[0] = word & 0xFF
    out[1] = word >> 8 & 0xFF
    out[2] = word >> 16 & 0xFF
    out[3] = word >> 24


cdef inline bint equals(const uint8_t* at, uint32_t word) noexcept nogil:
    """Say whether four bytes are those of a word of this machine."""
    cdef uint32_t there
    memcpy(&there, at, WORD)
    return there == word


cdef Py_ssize_t next_magic(const uint8_t* data, Py_ssize_t at, Py_ssize_t size) noexcept nogil:
    """Return where a magic stands, at `at` or a multiple of 4 bytes behind it; -1 if nowhere."""
    cdef uint8_t[WORD] bytes_of_magic
    cdef uint32_t magic
    cdef bint any_of_them = False
    cdef Py_ssize_t i
    put32(bytes_of_magic, MAGIC)
    memcpy(&magic, bytes_of_magic, WORD)
    while size - at >= WORD * SOME:  # a loop that compilers turn into few instructions
        for i in range(SOME):
            any_of_them |= equals(data + at + WORD * i, magic)
        if any_of_them:
            break
        at += WORD * SOME
    while size - at >= WORD:
        if equals(data + at, magic):
            return at
        at += WORD
    return -1


cdef uint8_t* put_part(uint8_t* out, uint32_t cflag, const uint8_t* payload,
                       Py_ssize_t length) noexcept nogil:
    """Write a part: header, payload and padding; return where it ends."""
    put32(out, MAGIC)
    put32(out + WORD, cflag << 29 | <uint32_t>length)
    memcpy(out + HEADER, payload, length)
    memset(out + HEADER + length, 0, -length & 3)
    return out + HEADER + (length + 3 & ~3)


cdef Py_ssize_t parts_in(const uint8_t* payload, Py_ssize_t size) noexcept nogil:
    """Return how many parts a record has."""
    cdef Py_ssize_t parts = 1, at = next_magic(payload, 0, size)
    while at >= 0:
        parts += 1
        at = next_magic(payload, at + WORD, size)
    return parts


cdef inline Py_ssize_t size_of(Py_ssize_t size, Py_ssize_t parts) noexcept nogil:
    """Return how many bytes a record takes; of each magic between parts, none."""
    return parts * HEADER + (size - (parts - 1) * WORD + 3 & ~3)


cdef void put_record(uint8_t* out, const uint8_t* payload, Py_ssize_t size,
                     Py_ssize_t parts) noexcept nogil:
    cdef Py_ssize_t at = 0, magic
    cdef uint32_t cflag = FIRST
    if parts == 1:
        put_part(out, WHOLE, payload, size)
        return
    while parts > 1:
        magic = next_magic(payload, at, size)
        out = put_part(out, cflag, payload + at, magic - at)
        cflag = MIDDLE
        at = magic + WORD
        parts -= 1
    put_part(out, LAST, payload + at, size - at)


cdef const uint8_t* bytes_of(bytes payload) except NULL:
    if len(payload) > MAX_LENGTH:
        raise ValueError(f"the payload has {len(payload)} bytes, expected {MAX_LENGTH} at most")
    return <const uint8_t*>PyBytes_AS_STRING(payload)


def lay_out(bytes payload not None):
    """Return a record as a writer lays it out: its parts, each with its padding.

    It is split at the magics that lie at a multiple of 4 bytes from its start, which are dropped.
    """
    cdef const uint8_t* data = bytes_of(payload)
    cdef Py_ssize_t size = len(payload), parts = parts_in(data, size)
    cdef bytes record = PyBytes_FromStringAndSize(NULL, size_of(size, parts))
    put_record(<uint8_t*>PyBytes_AS_STRING(record), data, size, parts)  # nobody else knows of it
    return record


@cython.final
cdef class Pile:
    """Bytes that wait to be written to a file.

    Attributes:
        start: bytes of the file before them.
        end: bytes of the file once they are written.
    """

    cdef uint8_t* _data
    cdef Py_ssize_t _room
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t end

    def __dealloc__(self):
        PyMem_Free(self._data)

    cdef uint8_t* grown(self, Py_ssize_t size) except NULL:
        """Go on for `size` bytes; return where they are to be put."""
        cdef Py_ssize_t held = self.end - self.start
        cdef Py_ssize_t room = held + size
        cdef uint8_t* data
        if room > self._room or self._data == NULL:
            room = max(room, KEPT)
            data = <uint8_t*>PyMem_Realloc(self._data, room)
            if data == NULL:
                raise MemoryError()
            self._data = data
            self._room = room
        self.end += size
        return self._data + held

    def add(self, bytes data not None):
        """Add some bytes."""
        memcpy(self.grown(len(data)), PyBytes_AS_STRING(data), len(data))

    def add_record(self, bytes payload not None):
        """Add a record, as `lay_out` returns it; return where in the file it starts."""
        cdef const uint8_t* data = bytes_of(payload)
        cdef Py_ssize_t start = self.end, size = len(payload), parts = parts_in(data, size)
        put_record(self.grown(size_of(size, parts)), data, size, parts)
        return start

    def cut(self, Py_ssize_t end):
        """Forget what lies from `end` on."""
        if not self.start <= end <= self.end:
            raise ValueError(f"end is {end}, expected {self.start} to {self.end}")
        self.end = end

    def content(self):
        """Return the bytes."""
        return PyBytes_FromStringAndSize(<char*>self._data, self.end - self.start)

    def clear(self):
        """Forget the bytes, for they are written."""
        self.start = self.end
        if self._room > KEPT:
            PyMem_Free(self._data)
            self._data = NULL
            self._room = 0
