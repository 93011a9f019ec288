# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The kernel of writing an index: many lines at once, without Python objects."""

from cpython cimport array
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.pyport cimport PY_SSIZE_T_MAX
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    DIGITS = 20            # of the longest number
    LINE = 2 * DIGITS + 2  # bytes of the longest index line


cdef char* PAIRS = (
    b"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    b"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    b"8081828384858687888990919293949596979899"
)


cdef inline char* put_number(char* out, uint64_t value) noexcept nogil:
    """Write `value` in decimal at `out`, where DIGITS bytes are free; return where it ends."""
    cdef char digits[2 * DIGITS]
    cdef char* first = digits + DIGITS
    while value >= 100:
        first -= 2
        memcpy(first, PAIRS + 2 * (value % 100), 2)
        value //= 100
    if value >= 10:
        first -= 2
        memcpy(first, PAIRS + 2 * value, 2)
    else:
        first -= 1
        first[0] = <char>(48 + value)
    # Always as many bytes, which is faster than as many as there are digits.
    memcpy(out, first, DIGITS)
    return out + (digits + DIGITS - first)


def format_lines(array.array offsets not None, int64_t first, Py_ssize_t start=0,
                 Py_ssize_t stop=PY_SSIZE_T_MAX, int64_t base=0, array.array keys=None):
    """Return the index lines of the records at `offsets[start:stop]`, moved by `base` bytes.

    A line is the key, a tab, the offset and a newline, in ASCII. Keys are those in `keys`, an array
    of uint64; without it, record `offsets[0]` has the key `first`, and those after it run on.
    `offsets` is an array of int64.
    """
    if offsets.typecode != "q":
        raise TypeError(f"offsets is an array of {offsets.typecode!r}, expected 'q'")
    if first < 0:
        raise ValueError(f"first is {first}, expected 0 or more")
    if base < 0:
        raise ValueError(f"base is {base}, expected 0 or more")
    cdef const uint64_t* key = NULL
    if keys is not None:
        if keys.typecode != "Q":
            raise TypeError(f"keys is an array of {keys.typecode!r}, expected 'Q'")
        if len(keys) != len(offsets):
            raise ValueError(f"{len(offsets)} records have {len(keys)} keys")
        key = <uint64_t*>keys.data.as_ulonglongs
    stop = min(stop, len(offsets))
    start = min(max(start, 0), stop)
    cdef const int64_t* source = <int64_t*>offsets.data.as_longlongs
    cdef char* lines = <char*>PyMem_RawMalloc((stop - start + 1) * LINE)
    if lines == NULL:
        raise MemoryError()
    cdef char* out = lines
    cdef Py_ssize_t i
    try:
        with nogil:
            for i in range(start, stop):
                out = put_number(out, <uint64_t>first + i if key == NULL else key[i])
                out[0] = b"\t"
                out = put_number(out + 1, <uint64_t>source[i] + base)
                out[0] = b"\n"
                out += 1
        return PyBytes_FromStringAndSize(lines, out - lines)
    finally:
        PyMem_RawFree(lines)
