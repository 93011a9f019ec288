# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
"""The kernel of holding an index against its files: which entries name a record, and which none.

Entries are offsets of an index, any numbers of 64 bits in any order. Starts are the offsets at which
records start, in order. Whatever is said of many comes as a count and the positions of the first few.
"""

from cpython cimport array
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

import array

cdef enum:
    # What an entry is that names no record.
    _BETWEEN = -1     # it is inside the files, and no record starts there
    _DAMAGED = -2     # it is so, and inside a damaged region
    _AT_END = -3      # it is where the last file ends
    _PAST_END = -4    # it is behind that
    _IMPOSSIBLE = -5  # it is where no file reaches
    KINDS = 5

    NEAR = 8  # records that are a little further on

    _FEW = 3  # positions that are returned
    # A table of bits takes no more memory than the numbers, if there are so many bits a number.
    BITS = 64

BETWEEN = _BETWEEN
DAMAGED = _DAMAGED
AT_END = _AT_END
PAST_END = _PAST_END
IMPOSSIBLE = _IMPOSSIBLE

LIMIT = 1 << 63  # no file is so large
FEW = _FEW
cdef uint64_t TOP = <uint64_t>1 << 63

cdef array.array INT64 = array.array("q")
cdef array.array BYTES = array.array("B")


cdef int require(array.array values, str typecodes, str name) except -1:
    if values.typecode not in typecodes:
        raise TypeError(f"{name} is an array of {values.typecode!r}, expected {' or '.join(typecodes)}")
    return 0


cdef list listed(const Py_ssize_t* some, Py_ssize_t count):
    return [some[i] for i in range(min(count, <Py_ssize_t>_FEW))]


def same(array.array one not None, array.array other not None):
    """Return whether two arrays of int64 or uint64 hold the same 64 bits at each place."""
    require(one, "qQ", "one")
    require(other, "qQ", "other")
    cdef Py_ssize_t count = len(one)
    if count != len(other):
        return False
    # Empty arrays have no bytes to point at.
    return count == 0 or memcmp(one.data.as_voidptr, other.data.as_voidptr, 8 * count) == 0


def shifted(array.array starts not None, int64_t by):
    """Return `starts`, of int64, with `by` added to each."""
    require(starts, "q", "starts")
    cdef Py_ssize_t i, count = len(starts)
    cdef array.array found = array.clone(INT64, count, zero=False)
    cdef const int64_t* value = <int64_t*>starts.data.as_longlongs
    cdef int64_t* out = <int64_t*>found.data.as_longlongs
    with nogil:
        for i in range(count):
            out[i] = <int64_t>(<uint64_t>value[i] + <uint64_t>by)
    return found


cdef inline Py_ssize_t behind(const int64_t* value, Py_ssize_t low, Py_ssize_t high,
                              int64_t wanted) noexcept nogil:
    """Return how many of `value`, which are in order, are not above `wanted`: `low` to `high`."""
    cdef Py_ssize_t middle
    while low < high:
        middle = low + (high - low) // 2
        if value[middle] <= wanted:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline Py_ssize_t behind_near(const int64_t* value, Py_ssize_t count, Py_ssize_t at,
                                   int64_t wanted) noexcept nogil:
    """As `behind`, for all of `value`; the sooner, the nearer `at` is."""
    cdef Py_ssize_t step = 1, low = at, high = at
    if at < count and value[at] <= wanted:
        while high < count and value[high] <= wanted:
            low = high + 1
            high += step
            step *= 2
        return behind(value, low, min(high, count), wanted)
    while low > 0 and value[low - 1] > wanted:
        high = low - 1
        low -= step
        step *= 2
        if low < 0:
            low = 0
    return behind(value, low, high, wanted)


cdef inline Py_ssize_t guess(int64_t offset, int64_t size, Py_ssize_t count) noexcept nogil:
    """Return about how many of so many records start before an offset."""
    if offset >= size:
        return count
    return <Py_ssize_t>(<double>offset / <double>size * <double>count)


cdef inline int64_t none_of(int64_t offset, int64_t size, const int64_t* region,
                            const int64_t* stop, Py_ssize_t regions) noexcept nogil:
    """Return what an offset is at which no record starts."""
    cdef Py_ssize_t at
    if offset > size:
        return _PAST_END
    if offset == size:
        return _AT_END
    at = behind(region, 0, regions, offset)
    return _DAMAGED if at > 0 and offset < stop[at - 1] else _BETWEEN


def match(array.array entries not None, array.array starts not None, int64_t size,
          array.array regions not None, array.array stops not None):
    """Return the record that each entry names, and of each record whether an entry does.

    Args:
        entries: an array of uint64.
        starts: where records start, an array of int64, in order.
        size: bytes in all files.
        regions: where damaged regions start, an array of int64, in order.
        stops: where each of them ends.

    Returns:
        An array of int64 with the number of a record for each entry, or BETWEEN, ...; and an array
        of bytes with 1 for each record that is named, 0 for the others.
    """
    require(entries, "Q", "entries")
    for name, values in (("starts", starts), ("regions", regions), ("stops", stops)):
        require(values, "q", name)
    if len(regions) != len(stops):
        raise ValueError(f"{len(regions)} regions have {len(stops)} stops")
    cdef Py_ssize_t i, at = 0, count = len(entries), records = len(starts), spans = len(regions)
    cdef array.array found = array.clone(INT64, count, zero=False)
    cdef array.array named = array.clone(BYTES, records, zero=False)
    cdef const uint64_t* entry = <uint64_t*>entries.data.as_ulonglongs
    cdef const int64_t* start = <int64_t*>starts.data.as_longlongs
    cdef const int64_t* region = <int64_t*>regions.data.as_longlongs
    cdef const int64_t* stop = <int64_t*>stops.data.as_longlongs
    cdef int64_t* out = <int64_t*>found.data.as_longlongs
    cdef uint8_t* is_named = named.data.as_uchars
    cdef int64_t offset
    if size < 0 or (records and not 0 <= start[records - 1] <= size):
        raise ValueError(f"records start behind {size}, where the files end")
    with nogil:
        if records:
            memset(is_named, 0, records)
        for i in range(count):
            if entry[i] >= TOP:
                out[i] = _IMPOSSIBLE
                continue
            offset = <int64_t>entry[i]
            # Mostly the next record is meant, or one a little further on.
            if at >= records or start[at] != offset:
                if at + NEAR >= records or start[at + NEAR] < offset or offset < start[at]:
                    at = guess(offset, size, records)
                at = behind_near(start, records, at, offset) - 1
            if at >= 0 and start[at] == offset:
                out[i] = at
                is_named[at] = 1
                at += 1
            else:
                out[i] = none_of(offset, size, region, stop, spans)
                at += 1  # which is the first record behind the offset
    return found, named


def misses(array.array records not None):
    """Return of how many entries each kind is that names no record, and where the first few are.

    Args:
        records: the record of each entry, or what it is, as `match` returns them.

    Returns:
        A list of (count, positions) for BETWEEN, DAMAGED, AT_END, PAST_END and IMPOSSIBLE.
    """
    require(records, "q", "records")
    cdef Py_ssize_t i, kind, count = len(records)
    cdef Py_ssize_t[KINDS] found
    cdef Py_ssize_t[KINDS][_FEW] few
    cdef const int64_t* record = <int64_t*>records.data.as_longlongs
    for kind in range(KINDS):
        found[kind] = 0
    with nogil:
        for i in range(count):
            kind = -1 - record[i]
            if 0 <= kind < KINDS:
                if found[kind] < _FEW:
                    few[kind][found[kind]] = i
                found[kind] += 1
    return [(found[kind], listed(few[kind], found[kind])) for kind in range(KINDS)]


def impossible(array.array entries not None):
    """Return how many entries, of uint64, are LIMIT or more, where the first few of them are, and
    whether they are all the same.
    """
    require(entries, "Q", "entries")
    cdef Py_ssize_t i, found = 0, count = len(entries)
    cdef Py_ssize_t[_FEW] few
    cdef const uint64_t* entry = <uint64_t*>entries.data.as_ulonglongs
    cdef uint64_t first = 0
    cdef bint alike = True
    with nogil:
        for i in range(count):
            if entry[i] >= TOP:
                if found == 0:
                    first = entry[i]
                if found < _FEW:
                    few[found] = i
                alike &= entry[i] == first
                found += 1
    return found, listed(few, found), bool(alike)


def having(array.array traits not None, uint8_t wanted, uint8_t unwanted=0,
           array.array named=None, uint8_t is_named=1):
    """Return how many records have a bit of `wanted` and none of `unwanted`, and the first few.

    Args:
        traits: what is true of each, an array of bytes, a bit each.
        wanted: bits of which there is one; 0 for any record.
        unwanted: bits of which there is none.
        named: of each record 1 or 0, an array of bytes; only those count that have `is_named`.
        is_named: 1 or 0.
    """
    require(traits, "B", "traits")
    cdef Py_ssize_t i, found = 0, count = len(traits)
    cdef Py_ssize_t[_FEW] few
    cdef const uint8_t* trait = traits.data.as_uchars
    cdef const uint8_t* name = NULL
    if named is not None:
        require(named, "B", "named")
        if len(named) != count:
            raise ValueError(f"{count} records have {len(named)} names")
        name = named.data.as_uchars
    with nogil:
        for i in range(count):
            if (wanted and not trait[i] & wanted) or trait[i] & unwanted:
                continue
            if name != NULL and name[i] != is_named:
                continue
            if found < _FEW:
                few[found] = i
            found += 1
    return found, listed(few, found)


def drift(array.array entries not None, array.array starts not None):
    """Return how far entries are off if that grows by as much from each to the next, or None.

    That is, entry i is `first` + i * `step` bytes behind the start of record i. Two entries always
    are, so None is returned for them.

    Returns:
        first and step, which may be negative.
    """
    require(entries, "Q", "entries")
    require(starts, "q", "starts")
    cdef Py_ssize_t i, count = len(entries)
    cdef const uint64_t* entry = <uint64_t*>entries.data.as_ulonglongs
    cdef const uint64_t* start = <uint64_t*>starts.data.as_longlongs
    cdef uint64_t first, step
    if count < 3 or count > len(starts):
        return None
    first = entry[0] - start[0]
    step = entry[1] - start[1] - first
    with nogil:
        for i in range(2, count):
            if entry[i] - start[i] != first + <uint64_t>i * step:
                break
        else:
            i = count
    return (<int64_t>first, <int64_t>step) if i == count else None


def runs_on(array.array keys not None):
    """Return whether `keys`, of uint64, are 0, 1, 2 and so on."""
    require(keys, "Q", "keys")
    cdef Py_ssize_t i, count = len(keys)
    cdef const uint64_t* key = <uint64_t*>keys.data.as_ulonglongs
    for i in range(count):
        if key[i] != <uint64_t>i:
            return False
    return True


def are_ids(array.array keys not None, array.array records not None, array.array ids not None):
    """Return whether each key, of uint64, is the id of the record that its entry names.

    Args:
        keys: the key of each entry.
        records: the record that it names, as `match` returns them; others are passed over.
        ids: the id of each record, an array of uint64.
    """
    require(keys, "Q", "keys")
    require(records, "q", "records")
    require(ids, "Q", "ids")
    cdef Py_ssize_t i, count = len(keys)
    cdef int64_t most = len(ids)
    cdef const uint64_t* key = <uint64_t*>keys.data.as_ulonglongs
    cdef const int64_t* record = <int64_t*>records.data.as_longlongs
    cdef const uint64_t* id = <uint64_t*>ids.data.as_ulonglongs
    if len(records) != count:
        raise ValueError(f"{count} keys have {len(records)} records")
    for i in range(count):
        if record[i] >= most:
            raise ValueError(f"entry {i} names record {record[i]} of {most}")
        if record[i] >= 0 and key[i] != id[record[i]]:
            return False
    return True


cdef int compare(const void* one, const void* other) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*>one)[0]
    cdef uint64_t b = (<const uint64_t*>other)[0]
    return (a > b) - (a < b)


def repeated(array.array values not None, limit=1 << 64):
    """Return how many of `values`, of uint64, stand in the array before, and where some of them do.

    Those are the first few; or, of values that are far apart, those that are equal to the least of
    them. What is `limit` or more is passed over.
    """
    require(values, "Q", "values")
    cdef Py_ssize_t i, count = len(values)
    cdef const uint64_t* value = <uint64_t*>values.data.as_ulonglongs
    cdef uint64_t largest = limit - 1  # that is not passed over
    cdef uint64_t least = largest, most = 0
    cdef bint rises = True
    if count < 2:
        return 0, []
    with nogil:
        for i in range(1, count):
            rises &= value[i] > value[i - 1]
        if not rises:
            for i in range(count):
                if value[i] <= largest:
                    least = min(least, value[i])
                    most = max(most, value[i])
    if rises or most < least:
        return 0, []
    if most - least < BITS * <uint64_t>count:
        return repeated_bits(value, count, least, most)
    return repeated_far(value, count, largest)


cdef repeated_bits(const uint64_t* value, Py_ssize_t count, uint64_t least, uint64_t most):
    cdef Py_ssize_t i, found = 0
    cdef Py_ssize_t[_FEW] few
    cdef uint64_t at
    cdef uint8_t* seen = <uint8_t*>PyMem_RawCalloc((most - least) // 8 + 1, 1)
    if seen == NULL:
        raise MemoryError()
    with nogil:
        for i in range(count):
            if value[i] > most:
                continue
            at = value[i] - least
            if seen[at >> 3] >> (at & 7) & 1:
                if found < _FEW:
                    few[found] = i
                found += 1
            seen[at >> 3] |= 1 << (at & 7)
    PyMem_RawFree(seen)
    return found, listed(few, found)


cdef repeated_far(const uint64_t* value, Py_ssize_t count, uint64_t largest):
    cdef Py_ssize_t i, found = 0, alike = -1
    cdef Py_ssize_t[_FEW] few
    cdef uint64_t least = 0
    cdef uint64_t* ordered = <uint64_t*>PyMem_RawMalloc(count * sizeof(uint64_t))
    if ordered == NULL:
        raise MemoryError()
    with nogil:
        memcpy(ordered, value, count * sizeof(uint64_t))
        qsort(ordered, count, sizeof(uint64_t), compare)
        for i in range(1, count):
            if ordered[i] > largest:
                break
            if ordered[i] == ordered[i - 1]:
                if found == 0:
                    least = ordered[i]
                found += 1
        if found:
            for i in range(count):
                if value[i] == least:
                    if 0 <= alike < _FEW:
                        few[alike] = i
                    alike += 1
    PyMem_RawFree(ordered)
    return found, listed(few, max(alike, <Py_ssize_t>0))


def place_of(array.array values not None, uint64_t wanted):
    """Return where `wanted` first stands among `values`, of int64 or uint64, or -1."""
    require(values, "qQ", "values")
    cdef Py_ssize_t i, count = len(values)
    cdef const uint64_t* value = <uint64_t*>values.data.as_ulonglongs
    with nogil:
        for i in range(count):
            if value[i] == wanted:
                break
        else:
            i = -1
    return i
