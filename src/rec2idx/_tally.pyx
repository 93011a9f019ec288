# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""Counts over the heads of all records of a file: sizes, labels, kinds of images.

See `rec2idx.segments.Batch` for what a head is.
"""

from cpython cimport array
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

import array
import os

cdef enum:
    PARTS = 4
    PAYLOAD = 8  # where in a head the payload begins
    IR_HEADER = 24
    SIGNATURE = 20  # bytes that tell what an image is

    # What is true of a record.
    _NO_IMAGE = 1       # its labels end where it ends
    _CUT_LABELS = 2     # it ends before as many labels as its flag says
    _NO_HEADER = 4      # it is shorter than an IRHeader
    _SHORT_FIRST = 8    # its first part is
    _LABELS_SPLIT = 16  # its first part ends before its labels do
    _FLAGGED = 32       # its flag is not 0
    _MULTI_PART = 64    # it has several parts

NO_IMAGE = _NO_IMAGE
CUT_LABELS = _CUT_LABELS
NO_HEADER = _NO_HEADER
SHORT_FIRST = _SHORT_FIRST
LABELS_SPLIT = _LABELS_SPLIT
FLAGGED = _FLAGGED
MULTI_PART = _MULTI_PART

cdef array.array BYTES = array.array("B")
cdef array.array FLOATS = array.array("f")

cdef uint8_t* JPEG = b"\xff\xd8\xff"
cdef uint8_t* PNG = b"\x89PNG\r\n\x1a\n"


# How what is neither JPEG nor PNG begins, if it is known at all: so few that others are not looked at.
KNOWN = (
    b"GI", b"BM", b"RI", b"II", b"MM", b"\0\0", b"\xff\x0a", b"\xffO", b"\x93N",
    b"P1", b"P2", b"P3", b"P4", b"P5", b"P6", b"P7", b"<!", b"<h", b"<H", b"<?", b'{"',
)
cdef uint8_t[8192] KNOWN_BITS

for _start in KNOWN:
    KNOWN_BITS[(_start[0] << 8 | _start[1]) >> 3] |= 1 << (_start[1] & 7)


cdef inline bint is_known(const uint8_t* at) noexcept nogil:
    return KNOWN_BITS[(at[0] << 8 | at[1]) >> 3] >> (at[1] & 7) & 1


cdef inline uint32_t word(const uint8_t* at) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, at, 4)
    return value


cdef Py_ssize_t count_of(array.array kinds) except -1:
    """Return how many records there are."""
    if kinds.typecode != "B":
        raise TypeError(f"kinds is an array of {kinds.typecode!r}, expected 'B'")
    return len(kinds)


cdef int require(array.array heads, Py_ssize_t count, Py_ssize_t stride,
                 Py_ssize_t least) except -1:
    """Require that `heads` holds `count` heads of `stride` bytes, `least` of which are read."""
    if heads.typecode != "B":
        raise TypeError(f"heads is an array of {heads.typecode!r}, expected 'B'")
    if stride < least or len(heads) != count * stride:
        raise ValueError(
            f"{count} records have {len(heads)} bytes of heads, {stride} each, expected {least}"
        )
    return 0


cdef inline uint8_t traits_of(int64_t size, const uint8_t* head) noexcept nogil:
    cdef int64_t first = word(head)
    cdef int64_t labels
    cdef uint8_t found = _MULTI_PART if word(head + PARTS) > 1 else 0
    if first < IR_HEADER:
        found |= _SHORT_FIRST
    if size < IR_HEADER:
        return found | _NO_HEADER
    labels = IR_HEADER + 4 * <int64_t>word(head + PAYLOAD)
    if labels > IR_HEADER:
        found |= _FLAGGED
    if labels > first:
        found |= _LABELS_SPLIT
    if labels > size:
        found |= _CUT_LABELS
    elif labels == size:
        found |= _NO_IMAGE
    return found


def traits(array.array sizes not None, array.array heads not None, Py_ssize_t stride):
    """Return what is true of each record, an array of bytes, a bit each: NO_IMAGE, ..."""
    cdef Py_ssize_t i, count = len(sizes)
    if sizes.typecode != "q":
        raise TypeError(f"sizes is an array of {sizes.typecode!r}, expected 'q'")
    require(heads, count, stride, PAYLOAD + IR_HEADER)
    cdef const uint8_t* head = heads.data.as_uchars
    cdef const int64_t* size = <int64_t*>sizes.data.as_longlongs
    cdef array.array found = array.clone(BYTES, count, zero=False)
    cdef uint8_t* out = found.data.as_uchars
    with nogil:
        for i in range(count):
            out[i] = traits_of(size[i], head + i * stride)
    return found


def two_labels(array.array sizes not None, array.array heads not None, Py_ssize_t stride):
    """Return the first two labels of each record, an array of float32, two for each.

    Where a record has no such label, or its head does not reach that far, that is NaN.
    """
    cdef Py_ssize_t i, j, count = len(sizes)
    if len(heads) != count * stride or stride < PAYLOAD + IR_HEADER + 8:
        raise ValueError(f"{count} records have {len(heads)} bytes of heads")
    cdef const uint8_t* head = heads.data.as_uchars
    cdef const int64_t* size = <int64_t*>sizes.data.as_longlongs
    cdef array.array found = array.clone(FLOATS, 2 * count, zero=False)
    cdef float* out = found.data.as_floats
    cdef uint32_t flag
    with nogil:
        for i in range(count):
            out[2 * i] = out[2 * i + 1] = NAN
            if size[i] < IR_HEADER:
                continue
            flag = word(head + i * stride + PAYLOAD)
            if flag == 0:
                memcpy(out + 2 * i, head + i * stride + PAYLOAD + 4, 4)
                continue
            for j in range(min(flag, <uint32_t>2)):
                if IR_HEADER + 4 * (j + 1) <= size[i]:
                    memcpy(out + 2 * i + j, head + i * stride + PAYLOAD + IR_HEADER + 4 * j, 4)
    return found


def multi_part(array.array heads not None, Py_ssize_t stride):
    """Return how many records have several parts."""
    require(heads, len(heads) // max(stride, 1), stride, PAYLOAD)
    cdef Py_ssize_t i, found = 0, count = len(heads) // stride
    cdef const uint8_t* head = heads.data.as_uchars
    with nogil:
        for i in range(count):
            found += word(head + i * stride + PARTS) > 1
    return found


def flag_runs(array.array heads not None, array.array kinds not None, Py_ssize_t stride,
              uint8_t most):
    """Return [flag, count] of each run of equal flags, of the records of a kind up to `most`."""
    cdef Py_ssize_t i, count = count_of(kinds)
    require(heads, count, stride, PAYLOAD + 4)
    cdef const uint8_t* head = heads.data.as_uchars
    cdef const uint8_t* kind = kinds.data.as_uchars
    cdef uint32_t flag, last = 0
    cdef int64_t run = 0
    runs = []
    for i in range(count):
        if kind[i] > most:
            continue
        flag = word(head + i * stride + PAYLOAD)
        if run and flag != last:
            runs.append((last, run))
            run = 0
        last = flag
        run += 1
    if run:
        runs.append((last, run))
    return runs


def signatures(array.array sizes not None, array.array heads not None, array.array kinds not None,
               Py_ssize_t stride, uint8_t wanted):
    """Return how the images of the records of the kind `wanted` begin.

    Returns:
        The number of JPEG, of PNG, and of what is not known; a list of the first 20 bytes, or
        fewer, of what may be known; and the number of those that begin behind the bytes that the
        head has.
    """
    cdef Py_ssize_t i, count = count_of(kinds)
    require(heads, count, stride, PAYLOAD + IR_HEADER)
    if sizes.typecode != "q" or len(sizes) != count:
        raise ValueError(f"{count} records have {len(sizes)} sizes of {sizes.typecode!r}")
    cdef const uint8_t* head = heads.data.as_uchars
    cdef const uint8_t* kind = kinds.data.as_uchars
    cdef const int64_t* size = <int64_t*>sizes.data.as_longlongs
    cdef const uint8_t* image
    cdef int64_t at, there
    cdef int64_t jpegs = 0, pngs = 0, unknown = 0, behind = 0
    others = []
    for i in range(count):
        if kind[i] != wanted:
            continue
        at = IR_HEADER + 4 * <int64_t>word(head + i * stride + PAYLOAD)
        there = min(size[i] - at, <int64_t>SIGNATURE)
        if PAYLOAD + at + there > stride:
            behind += 1
            continue
        image = head + i * stride + PAYLOAD + at
        if there >= 3 and memcmp(image, JPEG, 3) == 0:
            jpegs += 1
        elif there >= 8 and memcmp(image, PNG, 8) == 0:
            pngs += 1
        elif there >= 2 and is_known(image):
            others.append(image[:there])
        else:
            unknown += 1
    return jpegs, pngs, unknown, others, behind


def order(array.array values not None):
    """Return (least, median, largest, sum) of `values`, of int64, which are put in another order.

    The median of an even number is the lower one of the two in the middle.
    """
    if values.typecode != "q" or not len(values):
        raise ValueError("expected values as an array of 'q' with something in it")
    cdef Py_ssize_t i, count = len(values)
    cdef int64_t* value = <int64_t*>values.data.as_longlongs
    cdef int64_t least = value[0], largest = value[0], total = 0, median
    with nogil:
        for i in range(count):
            least = min(least, value[i])
            largest = max(largest, value[i])
            total += value[i]
        median = select(value, count, (count - 1) // 2)
    return least, median, largest, total


cdef int64_t select(int64_t* value, Py_ssize_t count, Py_ssize_t wanted) noexcept nogil:
    """Return what would stand at `wanted` if the values were in order (Hoare's quickselect)."""
    cdef Py_ssize_t low = 0, high = count - 1, i, j
    cdef int64_t pivot, other
    cdef uint64_t state = 0x9E3779B97F4A7C15  # of the random numbers that choose pivots
    while low < high:
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        pivot = value[low + <Py_ssize_t>(state % <uint64_t>(high - low + 1))]
        i, j = low, high
        while i <= j:
            while value[i] < pivot:
                i += 1
            while value[j] > pivot:
                j -= 1
            if i <= j:
                other = value[i]
                value[i] = value[j]
                value[j] = other
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return value[wanted]


cdef class Distinct:
    """Counts distinct 32-bit words, in memory for these alone, however often each comes.

    Where a word stands depends on a random number, so that nobody can write a file whose words
    all want the same place.
    """

    cdef uint32_t* table  # 0 where nothing is; the word 0 is counted apart
    cdef Py_ssize_t room  # a power of 2
    cdef Py_ssize_t used
    cdef bint zero
    cdef uint64_t salt

    def __cinit__(self):
        self.salt = int.from_bytes(os.urandom(8), "little") | 1
        self.room = 1024
        self.table = <uint32_t*>PyMem_RawCalloc(self.room, sizeof(uint32_t))
        if self.table == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_RawFree(self.table)

    def __len__(self):
        return self.used + self.zero

    def add_labels(self, array.array heads not None, array.array kinds not None,
                   Py_ssize_t stride, uint8_t wanted):
        """Add the one label of each record of the kind `wanted` that has a single one."""
        cdef Py_ssize_t i, count = count_of(kinds)
        require(heads, count, stride, PAYLOAD + IR_HEADER)
        cdef const uint8_t* head = heads.data.as_uchars
        cdef const uint8_t* kind = kinds.data.as_uchars
        cdef const uint8_t* payload
        cdef uint32_t flag
        for i in range(count):
            if kind[i] != wanted:
                continue
            payload = head + i * stride + PAYLOAD
            flag = word(payload)
            if flag == 0:
                self.add(word(payload + 4))
            elif flag == 1 and stride >= PAYLOAD + IR_HEADER + 4:
                self.add(word(payload + IR_HEADER))

    def add_numbers(self, array.array values not None):
        """Add float32 values, but for NaN."""
        cdef Py_ssize_t i, count = len(values)
        if values.typecode != "f":
            raise TypeError(f"values is an array of {values.typecode!r}, expected 'f'")
        cdef const float* value = values.data.as_floats
        for i in range(count):
            if value[i] == value[i]:
                self.add(word(<const uint8_t*>(value + i)))

    cdef int add(self, uint32_t value) except -1:
        cdef Py_ssize_t at
        if value == 0 or value == <uint32_t>0x80000000:  # 0.0 and -0.0 are one label
            self.zero = True
            return 0
        if 2 * self.used >= self.room:
            self.grow()
        at = self.place(value)
        if self.table[at] == 0:
            self.table[at] = value
            self.used += 1
        return 0

    cdef inline Py_ssize_t place(self, uint32_t value) noexcept nogil:
        """Return where the word stands, or could stand."""
        cdef uint64_t mixed = value * self.salt
        mixed = (mixed ^ mixed >> 32) * self.salt
        cdef Py_ssize_t at = (mixed >> 32) & (self.room - 1)
        while self.table[at] != 0 and self.table[at] != value:
            at = (at + 1) & (self.room - 1)
        return at

    cdef int grow(self) except -1:
        cdef uint32_t* old = self.table
        cdef Py_ssize_t i, count = self.room
        cdef uint32_t* new = <uint32_t*>PyMem_RawCalloc(4 * count, sizeof(uint32_t))
        if new == NULL:
            raise MemoryError()
        self.table = new
        self.room = 4 * count
        for i in range(count):
            if old[i] != 0:
                self.table[self.place(old[i])] = old[i]
        PyMem_RawFree(old)
        return 0
