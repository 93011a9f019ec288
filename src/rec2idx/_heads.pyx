# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""What the heads of records say: which have an image, and their ids. See `rec2idx.segments.Batch`.

A head is 32 bytes or more: uint32 payload length of the first part, uint32 number of parts, then the
payload, which begins with the IRHeader: uint32 flag, float32 label, uint64 id, uint64 id2.
"""

from cpython cimport array
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

import array

cdef enum:
    HEAD = 32
    IR_HEADER = 24

    _IMAGE = 0      # bytes follow the labels
    _NO_IMAGE = 1   # the labels end where the record ends
    _CUT_LABELS = 2  # the record ends before as many labels as the flag says
    _NO_HEADER = 3  # fewer bytes than an IRHeader

IMAGE = _IMAGE
NO_IMAGE = _NO_IMAGE
CUT_LABELS = _CUT_LABELS
NO_HEADER = _NO_HEADER

cdef array.array UINT64 = array.array("Q")
cdef array.array BYTES = array.array("B")


cdef inline uint32_t flag_of(const uint8_t* head) noexcept nogil:
    cdef uint32_t flag
    memcpy(&flag, head + 8, 4)
    return flag


cdef inline uint8_t kind_of(int64_t size, const uint8_t* head) noexcept nogil:
    cdef int64_t rest = size - IR_HEADER
    if rest < 0:
        return _NO_HEADER
    rest -= 4 * <int64_t>flag_of(head)  # with flag 0 the label is in the header
    if rest < 0:
        return _CUT_LABELS
    return _IMAGE if rest > 0 else _NO_IMAGE


cdef Py_ssize_t stride_of(array.array sizes, array.array heads) except -1:
    """Return the bytes of a head."""
    if sizes.typecode != "q" or heads.typecode != "B":
        raise TypeError("expected sizes as an array of 'q' and heads as one of 'B'")
    cdef Py_ssize_t count = len(sizes)
    cdef Py_ssize_t stride = len(heads) // count if count else HEAD
    if stride < HEAD or stride * count != len(heads):
        raise ValueError(f"{count} records have {len(heads)} bytes of heads")
    return stride


def kinds(array.array sizes not None, array.array heads not None):
    """Return the kind of each record, an array of bytes: IMAGE, NO_IMAGE, ..."""
    cdef Py_ssize_t stride = stride_of(sizes, heads)
    cdef const uint8_t* head = heads.data.as_uchars
    cdef Py_ssize_t i, count = len(sizes)
    cdef array.array found = array.clone(BYTES, count, zero=False)
    cdef uint8_t* out = found.data.as_uchars
    cdef const int64_t* size = <int64_t*>sizes.data.as_longlongs
    with nogil:
        for i in range(count):
            out[i] = kind_of(size[i], head + i * stride)
    return found


def ids(array.array sizes not None, array.array heads not None):
    """Return the id of each record, an array of uint64; 0 where it has none."""
    cdef Py_ssize_t stride = stride_of(sizes, heads)
    cdef const uint8_t* head = heads.data.as_uchars
    cdef Py_ssize_t i, count = len(sizes)
    cdef array.array found = array.clone(UINT64, count, zero=False)
    cdef uint64_t* out = <uint64_t*>found.data.as_ulonglongs
    with nogil:
        for i in range(count):
            memcpy(out + i, head + i * stride + 16, 8)
    return found


def pick(array.array values not None, array.array kinds not None, uint8_t wanted):
    """Return those of `values`, of int64 or uint64, whose record is of the kind `wanted`."""
    if values.typecode not in "qQ" or kinds.typecode != "B":
        raise TypeError("expected values as an array of 'q' or 'Q' and kinds as one of 'B'")
    if len(values) != len(kinds):
        raise ValueError(f"{len(values)} values have {len(kinds)} kinds")
    cdef Py_ssize_t i, kept = 0, count = len(values)
    cdef array.array found = array.clone(values, count, zero=False)
    cdef const int64_t* value = <int64_t*>values.data.as_longlongs
    cdef int64_t* out = <int64_t*>found.data.as_longlongs
    cdef const uint8_t* kind = kinds.data.as_uchars
    with nogil:
        for i in range(count):
            out[kept] = value[i]
            kept += kind[i] == wanted
    array.resize(found, kept)
    return found


def rises(array.array values not None):
    """Return whether each of `values`, of uint64, is larger than the one before it."""
    if values.typecode != "Q":
        raise TypeError(f"values is an array of {values.typecode!r}, expected 'Q'")
    cdef const uint64_t* value = <uint64_t*>values.data.as_ulonglongs
    return climbs(value, len(values))


def bounds(array.array values not None):
    """Return the least and the largest of `values`, of uint64, of which there is one at least."""
    if values.typecode != "Q" or not len(values):
        raise ValueError("expected values as an array of 'Q' with something in it")
    cdef Py_ssize_t i, count = len(values)
    cdef const uint64_t* value = <uint64_t*>values.data.as_ulonglongs
    cdef uint64_t least = value[0], largest = value[0]
    with nogil:
        for i in range(1, count):
            least = min(least, value[i])
            largest = max(largest, value[i])
    return least, largest


cdef bint climbs(const uint64_t* value, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(1, count):
        if value[i] <= value[i - 1]:
            return False
    return True


cdef int compare(const void* one, const void* other) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*>one)[0]
    cdef uint64_t b = (<const uint64_t*>other)[0]
    return (a > b) - (a < b)


def repeats(array.array values not None):
    """Return how many of `values`, of uint64, stand in the array before, and the least of them.

    Without repeats that is (0, None).
    """
    if values.typecode != "Q":
        raise TypeError(f"values is an array of {values.typecode!r}, expected 'Q'")
    cdef Py_ssize_t i, count = len(values), found = 0
    cdef const uint64_t* value = <uint64_t*>values.data.as_ulonglongs
    cdef uint64_t least = 0
    if climbs(value, count):
        return 0, None
    cdef uint64_t* ordered = <uint64_t*>PyMem_RawMalloc(count * sizeof(uint64_t))
    if ordered == NULL:
        raise MemoryError()
    try:
        with nogil:
            memcpy(ordered, value, count * sizeof(uint64_t))
            qsort(ordered, count, sizeof(uint64_t), compare)
            for i in range(1, count):
                if ordered[i] == ordered[i - 1]:
                    if found == 0:
                        least = ordered[i]
                    found += 1
        return (found, least) if found else (0, None)
    finally:
        PyMem_RawFree(ordered)
