"""What the tests of several readers of logs share."""

import json

import numpy as np
from hypothesis import strategies as st

from hmetad.base.errors import InputError
from hmetad.logs.samples import read_log

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


COLOURS = [[-0.5, -1.5, -3.0, -2.5], [-1.0, -1.25, -2.0, -4.0], [-2.0, -3.0, -2.5, -4.0]]
COLOURS += [[-3.0, -3.5, -5.0, -1.0]]


def check_colours(trials):
    """Probabilities of four options to four questions, of a model of fixed log-probabilities."""
    odds = np.exp(COLOURS)
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(trials["option_probabilities"].tolist(), expected)
    np.testing.assert_allclose(trials["confidence"], expected.max(axis=1))
    assert trials["target"].tolist() == [0, 1, 2, 3]
    assert trials["chosen"].tolist() == [0, 0, 0, 3]


TEXTS = ["<script>alert(1)</script>", "\x00\x07\x1b[31m", "=1+1", "\ud800", "y" * 5000]


def check_texts(found):
    """Text is data, whatever is in it; halves of characters are shown, long text is cut."""
    assert found[:4] == [*TEXTS[:3], "\\ud800"]
    assert len(found[4]) == 1000


def check_read_or_refused(kind, path, options):
    """Whatever stands in a log: a table that can be written, or an error in words."""
    try:
        trials = read_log(kind, path, **options)
    except InputError:
        return
    json.dumps(trials.attrs)
    assert trials.to_csv(index=False).encode()
    assert trials["confidence"].dropna().between(0, 1).all()
