"""Bytes after accidents and attacks: bits, pieces and ends that are others."""

from functools import reduce

from hypothesis import strategies as st

PIECES = [b"{", b"}", b"[", b"]", b",", b'"', b"\\", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf"]
PIECES += [b"NaN", b"-Infinity", b"1e400", b"9" * 400, b"9" * 5000, b"null", b"true", b'""', b"{}"]
PIECES += [
    b"[" * 300,
    b'{"a":' * 5000,
    b"\\ud800",
    b'"' + b"x" * 5000 + b'"',
    b"\nmodel,stimulus\na,S1\n",
]

place = st.floats(0, 1, exclude_max=True)
change = st.one_of(
    st.tuples(st.just("flip"), place, st.integers(1, 255)),
    st.tuples(st.sampled_from(["cut", "again", "zero", "turn"]), place, place),
    st.tuples(st.just("end"), place, st.none()),
    st.tuples(st.just("nest"), place, st.integers(1, 3000)),
    st.tuples(st.just("enlarge"), place, st.integers(2, 300)),
    st.tuples(st.just("insert"), place, st.sampled_from(PIECES)),
)
changes = st.lists(change, min_size=1, max_size=4)


def damaged(content, changes):
    """Bytes with all changes, one after the other."""
    return reduce(changed, changes, content)


def changed(content, change):
    """Bytes with one change."""
    how, where, what = change
    at = int(where * len(content))
    if how == "flip" and content:
        return content[:at] + bytes([content[at] ^ what]) + content[at + 1 :]
    if how in ("cut", "again", "zero", "turn"):
        end = at + int(what * min(200, len(content)))
        part = content[at:end]
        others = {"cut": b"", "again": part * 2, "zero": bytes(len(part)), "turn": part[::-1]}
        return content[:at] + others[how] + content[end:]
    if how == "end":
        return content[:at]
    if how == "nest":
        # What a value begins with, and what would close it.
        start = max(content.find(b": ", at), 0)
        return content[:start] + b": " + b"[" * what + b"1" + b"]" * what + content[start + 3 :]
    if how == "enlarge":
        return content[:at] + content[at : at + 300] * what + content[at + 300 :]
    return content[:at] + what + content[at:] if how == "insert" else content
