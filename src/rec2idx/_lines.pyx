# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The kernel of reading an index: lines of two numbers, and offsets in order.

It takes lines that are written exactly as an index should be, and stops at the first other one:
whoever calls it looks at that line, and calls again behind it. Nothing is read outside the bytes
that were given, and what is taken of memory goes by how many lines there were, never by what a
line says.
"""

from cpython cimport array
from libc.stdint cimport uint8_t, uint64_t
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


cdef int compare(const void* one, const void* other) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*>one)[0]
    cdef uint64_t b = (<const uint64_t*>other)[0]
    return (a > b) - (a < b)


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
