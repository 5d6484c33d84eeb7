"""The two labels of stimuli and responses.

Distinct rows of trials, or labels as given → (S1, S2), or InputError.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.counts.alike import refuse_alike
from hmetad.counts.checks import Label, plain_array
from hmetad.counts.codes import code_step, label_codes
from hmetad.counts.correctness import looks_like_correctness, response_is_correctness
from hmetad.errors import InputError

__all__ = ["as_text", "given_labels", "label_frequencies", "two_labels"]


def two_labels(
    groups: pd.DataFrame,
    n: NDArray[np.int64],
    stimulus: str,
    response: str,
    labels: Sequence[Label] | None,
) -> list[Label]:
    """Labels behind S1 and S2: those given, or the two in the data, sorted.

    Row i of `groups` stands for n[i] trials.

    Examples
    --------
    >>> rows = pd.DataFrame({"truth": ["b", "a"], "answer": ["a", "a"]})
    >>> two_labels(rows, np.array([3, 5]), "truth", "answer", None)
    ['a', 'b']
    """
    shown, said = (label_frequencies(groups[column], n, column) for column in (stimulus, response))
    seen = {*shown, *said}
    labels = None if labels is None else labels_in(seen, given_labels(labels))
    legal = set(shown) if labels is None else set(labels)
    covered = len(seen) <= 2 and set(said) & legal if labels is None else seen <= legal
    if not covered and not set(said) <= legal and looks_like_correctness(said):
        raise response_is_correctness(f"values {list(said)}, not those of the stimulus", stimulus)
    listed = ", ".join(
        f"{label!r} (stimulus {shown[label]}, response {said[label]})"
        for label in sorted(seen, key=repr)[:10]
    )
    if labels is not None:
        if not covered:
            raise InputError("labels", f"{labels!r} but in the data {listed}", "all that is there")
        return labels
    columns = f"{stimulus!r} and {response!r}"
    if len(seen) == 1:
        step = "Name both: labels=(S1, S2)."
        raise InputError(columns, f"the single label {listed}", "two labels", step)
    if len(seen) > 2 or len({isinstance(label, str) for label in seen}) > 1:
        step = "Drop the other trials, or recode both columns to the same two labels."
        step = code_step(label_codes(shown + said)) or step
        raise InputError(columns, f"{len(seen)} labels: {listed}", "the same two labels", step)
    pair = sorted(seen)
    refuse_alike(columns, pair)
    return pair


def given_labels(labels: Sequence[Label]) -> list[Label]:
    """Labels as given, if they are two."""
    # A set has no order that says which is S1.
    has_order = isinstance(labels, Iterable) and not isinstance(labels, str | Set | Mapping)
    given = labels if has_order else []
    pair = [label.item() if isinstance(label, np.generic) else label for label in given]
    if len(pair) != 2 or pair[0] == pair[1] or not all(isinstance(x, Label) for x in pair):
        raise InputError("labels", repr(labels), "two different labels, (S1, S2)")
    refuse_alike("labels", pair)
    return pair


def labels_in(seen: Set[Label], labels: list[Label]) -> list[Label]:
    """Labels as the data have them: where these are numbers, "1" is 1.

    Examples
    --------
    >>> labels_in({0.0, 1.0}, ["0", "1"])
    [0.0, 1.0]
    """
    named = {text(label): label for label in seen for text in (str, as_text)}
    return [label if label in seen else named.get(str(label), label) for label in labels]


def as_text(value: object) -> str:
    """Text of a value; a column of integers that became floats reads as integers."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def label_frequencies(column: pd.Series, n: NDArray[np.int64], name: str) -> Counter[Label]:
    """Trials per label of a column."""
    frequencies: Counter[Label] = Counter()
    for label, times in zip(plain_array(name, column).tolist(), n.tolist(), strict=True):
        frequencies[label] += times
    return frequencies
