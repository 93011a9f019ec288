# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The kernel of reading an index: lines of two numbers, offsets in order, keys by offset.

It takes lines that are written exactly as an index should be, and stops at the first other one:
whoever calls it looks at that line, and calls again behind it. Nothing is read outside the bytes
that were given, and what is taken of memory goes by how many lines there were, never by what a
line says.
"""

from cpython cimport array
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort

import array

cdef enum:
    TAB = 9
    NEWLINE = 10
    RETURN = 13
    ZERO = 48

    DIGITS = 20       # of the longest number
    SAFE_DIGITS = 19  # so many never go past 64 bits
    # Lines that wait on the stack to be appended; the GIL is taken once for so many.
    WAITING = 1024

    _ONE = 0
    _NONE = 1
    _SEVERAL = 2

    _UNORDERED = 0
    _RISING = 1
    _RUNNING = 2

ONE = _ONE
NONE = _NONE
SEVERAL = _SEVERAL

UNORDERED = _UNORDERED
RISING = _RISING
RUNNING = _RUNNING

cdef array.array UINT64 = array.array("Q")
cdef array.array BYTES = array.array("B")


cdef inline const uint8_t* take_number(const uint8_t* at, const uint8_t* end,
                                       uint64_t* value) noexcept nogil:
    """Read digits from `at` on; return where they end, or NULL if they are no number below 2^64."""
    cdef const uint8_t* first = at
    cdef uint64_t number = 0
    cdef uint8_t digit
    while at < end:
        digit = <uint8_t>(at[0] - ZERO)
        if digit > 9:
            break
        number = number * 10 + digit  # what goes past 64 bits here is counted again below
        at += 1
    if at == first or at - first > DIGITS:
        return NULL
    if at - first > SAFE_DIGITS:
        return take_long(first, at, value)
    value[0] = number
    return at


cdef const uint8_t* take_long(const uint8_t* at, const uint8_t* end,
                              uint64_t* value) noexcept nogil:
    """As `take_number`, for the digits from `at` to `end`, with a look at each step."""
    cdef uint64_t most = <uint64_t>-1
    cdef uint64_t number = 0
    cdef uint64_t digit
    while at < end:
        digit = at[0] - ZERO
        if number > most // 10 or number * 10 > most - digit:
            return NULL
        number = number * 10 + digit
        at += 1
    value[0] = number
    return end


cdef inline const uint8_t* take_line(const uint8_t* at, const uint8_t* end, uint8_t separator,
                                     bint returns, uint64_t* key,
                                     uint64_t* offset) noexcept nogil:
    """Read one line from `at` on; return where the next one starts, or NULL if it is another."""
    # A key may be a name, and 007 is another name than 7.
    if end - at > 1 and at[0] == ZERO and at[1] != separator:
        return NULL
    at = take_number(at, end, key)
    if at == NULL or at == end or at[0] != separator:
        return NULL
    at = take_number(at + 1, end, offset)
    if at == NULL:
        return NULL
    if returns:
        if at == end or at[0] != RETURN:
            return NULL
        at += 1
    if at == end or at[0] != NEWLINE:
        return NULL
    return at + 1


def parse_lines(const uint8_t[::1] data not None, Py_ssize_t start, array.array keys not None,
                array.array offsets not None, uint8_t separator=TAB, bint returns=False):
    """Append key and offset of each line in `data`, from byte `start` on, to two arrays of uint64.

    A line is digits, the separator, digits and a newline, or a carriage return and a newline where
    `returns` says so. Both numbers are below 2^64 and have 20 digits at most, and a key has no zeros
    before it.

    Returns the position of the first line that is written otherwise (the length of `data` if there
    is none), and how many lines came before it. Nothing else may look into the arrays meanwhile.
    """
    if keys.typecode != "Q" or offsets.typecode != "Q":
        raise TypeError(f"arrays of {keys.typecode!r} and {offsets.typecode!r}, expected 'Q'")
    if keys is offsets:
        raise ValueError("keys and offsets are one array, expected two")
    if not 0 <= start <= data.shape[0]:
        raise ValueError(f"start is {start}, expected 0 to {data.shape[0]}, the length of data")
    cdef uint64_t some_keys[WAITING]
    cdef uint64_t some_offsets[WAITING]
    cdef Py_ssize_t total = 0, count = WAITING
    cdef const uint8_t* first
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef const uint8_t* after
    if start == data.shape[0]:
        return start, 0
    first = &data[0]
    at = first + start
    end = first + data.shape[0]
    while count == WAITING:
        with nogil:
            count = 0
            while count < WAITING and at < end:
                after = take_line(at, end, separator, returns, some_keys + count,
                                  some_offsets + count)
                if after == NULL:
                    break
                at = after
                count += 1
        array.extend_buffer(keys, <char*>some_keys, count)
        array.extend_buffer(offsets, <char*>some_offsets, count)
        total += count
    return at - first, total


def parse_running(const uint8_t[::1] data not None, uint64_t key, array.array offsets not None):
    """Append the offset of each line in `data`, as long as keys run on from `key`.

    Lines are as `parse_lines` takes them, with tabs and newlines; each key is the one before it
    plus 1. Returns the position of the first line that is another, and how many came before it.
    """
    if offsets.typecode != "Q":
        raise TypeError(f"offsets is an array of {offsets.typecode!r}, expected 'Q'")
    cdef uint64_t some[WAITING]
    cdef uint64_t found
    cdef Py_ssize_t total = 0, count = WAITING
    cdef const uint8_t* first
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef const uint8_t* after
    if data.shape[0] == 0:
        return 0, 0
    first = at = &data[0]
    end = first + data.shape[0]
    while count == WAITING:
        with nogil:
            count = 0
            while count < WAITING and at < end:
                after = take_line(at, end, TAB, False, &found, some + count)
                if after == NULL or found != key:
                    break
                at = after
                count += 1
                key += 1
                if key == 0:  # no number follows the largest one
                    end = at
        array.extend_buffer(offsets, <char*>some, count)
        total += count
    return at - first, total


cdef int compare(const void* one, const void* other) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*>one)[0]
    cdef uint64_t b = (<const uint64_t*>other)[0]
    return (a > b) - (a < b)


def order_of(array.array numbers not None):
    """Say how an array of uint64 goes on.

    RUNNING: each number is the one before it plus 1. RISING: each is larger than the one before.
    UNORDERED: anything else.
    """
    if numbers.typecode != "Q":
        raise TypeError(f"numbers is an array of {numbers.typecode!r}, expected 'Q'")
    cdef const uint64_t* all = <const uint64_t*>numbers.data.as_ulonglongs
    cdef Py_ssize_t count = len(numbers), i = 1
    cdef bint running
    with nogil:
        # The difference alone would also be 1 where 0 follows the largest number.
        while i < count and all[i - 1] < all[i] and all[i] - all[i - 1] == 1:
            i += 1
        running = i >= count
        while i < count and all[i - 1] < all[i]:
            i += 1
    if running:
        return RUNNING
    return RISING if i >= count else UNORDERED


def sort_distinct(array.array numbers not None):
    """Sort an array of uint64 in place, and keep each number once."""
    if numbers.typecode != "Q":
        raise TypeError(f"numbers is an array of {numbers.typecode!r}, expected 'Q'")
    cdef uint64_t* all = <uint64_t*>numbers.data.as_ulonglongs
    cdef Py_ssize_t count = len(numbers), i = 1, kept = 1
    with nogil:
        while i < count and all[i - 1] < all[i]:
            i += 1
        if i < count:
            qsort(all, count, sizeof(uint64_t), compare)
            for i in range(1, count):
                if all[i] != all[kept - 1]:
                    all[kept] = all[i]
                    kept += 1
        else:
            kept = count
    if kept < count:
        array.resize(numbers, kept)


cdef struct Entry:
    uint64_t offset
    uint64_t key
    Py_ssize_t place  # equal offsets stay in the order of the lines


cdef int compare_entries(const void* one, const void* other) noexcept nogil:
    cdef const Entry* a = <const Entry*>one
    cdef const Entry* b = <const Entry*>other
    if a.offset != b.offset:
        return 1 if a.offset > b.offset else -1
    return (a.place > b.place) - (a.place < b.place)


def sort_entries(array.array offsets not None, array.array keys not None):
    """Put entries, two arrays of uint64, in the order of their offsets; equal ones stay as they are.

    Those that are in order already take no memory, others 24 bytes each meanwhile.
    """
    require_entries(offsets, keys)
    cdef uint64_t* offset = <uint64_t*>offsets.data.as_ulonglongs
    cdef uint64_t* key = <uint64_t*>keys.data.as_ulonglongs
    cdef Py_ssize_t count = len(offsets), i = 1
    cdef Entry* entries
    with nogil:
        while i < count and offset[i - 1] <= offset[i]:
            i += 1
    if i >= count:
        return
    entries = <Entry*>PyMem_RawMalloc(count * sizeof(Entry))
    if entries == NULL:
        raise MemoryError()
    with nogil:
        for i in range(count):
            entries[i].offset = offset[i]
            entries[i].key = key[i]
            entries[i].place = i
        qsort(entries, count, sizeof(Entry), compare_entries)
        for i in range(count):
            offset[i] = entries[i].offset
            key[i] = entries[i].key
    PyMem_RawFree(entries)


def match(array.array offsets not None, array.array keys not None, array.array records not None,
          int64_t base=0):
    """Return the keys that entries give to records, by where these start.

    Args:
        offsets: those of the entries, of uint64, in order.
        keys: of the entries, of uint64.
        records: offsets of records, of int64, in order.
        base: bytes by which the records are moved.

    Returns the key of each record, an array of uint64; whether it has ONE, NONE (its key is then 0)
    or SEVERAL different ones (it is then the first), an array of bytes; and how many entries are at
    one of the records.
    """
    require_entries(offsets, keys)
    if records.typecode != "q":
        raise TypeError(f"records is an array of {records.typecode!r}, expected 'q'")
    if base < 0:
        raise ValueError(f"base is {base}, expected 0 or more")
    cdef const uint64_t* offset = <uint64_t*>offsets.data.as_ulonglongs
    cdef const uint64_t* key = <uint64_t*>keys.data.as_ulonglongs
    cdef const int64_t* record = <int64_t*>records.data.as_longlongs
    cdef Py_ssize_t entries = len(offsets), count = len(records), at, i, found = 0
    cdef array.array picked = array.clone(UINT64, count, zero=False)
    cdef array.array marks = array.clone(BYTES, count, zero=False)
    cdef uint64_t* out = <uint64_t*>picked.data.as_ulonglongs
    cdef uint8_t* mark = marks.data.as_uchars
    cdef uint64_t start
    with nogil:
        at = first_from(offset, entries, <uint64_t>record[0] + base) if count else 0
        for i in range(count):
            start = <uint64_t>record[i] + base
            while at < entries and offset[at] < start:
                at += 1
            if at == entries or offset[at] != start:
                out[i] = 0
                mark[i] = _NONE
                continue
            out[i] = key[at]
            mark[i] = _ONE
            while at < entries and offset[at] == start:
                if key[at] != out[i]:
                    mark[i] = _SEVERAL
                found += 1
                at += 1
    return picked, marks, found


cdef Py_ssize_t first_from(const uint64_t* offset, Py_ssize_t count, uint64_t least) noexcept nogil:
    """Return the place of the first of some offsets, in order, that is `least` or more."""
    cdef Py_ssize_t low = 0, high = count, middle
    while low < high:
        middle = low + (high - low) // 2
        if offset[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


cdef int require_entries(array.array offsets, array.array keys) except -1:
    if offsets.typecode != "Q" or keys.typecode != "Q":
        raise TypeError(f"arrays of {offsets.typecode!r} and {keys.typecode!r}, expected 'Q'")
    if len(offsets) != len(keys):
        raise ValueError(f"{len(offsets)} offsets have {len(keys)} keys")
    return 0
