"""Texts of indexes for property tests: good lines, and what is odd about others."""

from hypothesis import strategies as st

TOP = 1 << 64
BORDERS = [0, 1, 9, 10, 10**19 - 1, 10**19, TOP - 1, TOP, TOP + 1, 10**20 - 1, 10**20, 10 * TOP + 1]

numbers = st.one_of(st.integers(0, 300), st.integers(0, TOP - 1), st.sampled_from(BORDERS))
plain_lines = st.tuples(numbers, numbers).map(lambda pair: b"%d\t%d\n" % pair)
bits = st.sampled_from(
    [b"%d" % number for number in BORDERS]
    + [b"0", b"7", b"44", b"007", b"-3", b"+5", b"1.5", b"1e3", b"1_0", b"cat", b"#", b"\0", b","]
    + [b"\t", b"\t", b"\n", b"\n", b"\r\n", b"\r", b" ", b"  ", b"\v", b"\f", b"\xa0", b"-", b"+"]
    + [
        "\u0663".encode(),
        "\u00a0".encode(),
        "\u2003".encode(),
        "\x1f\x85".encode(),
        b"\xef\xbb\xbf",
    ]
)
texts = st.lists(st.one_of(plain_lines, bits, st.binary(max_size=3)), max_size=30).map(b"".join)
