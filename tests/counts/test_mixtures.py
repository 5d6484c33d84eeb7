"""What is said of columns that are not counted by: nothing of an ordinary design."""

import numpy as np
import pandas as pd
import pytest

from hmetad import count_trials, notices, simulate_trials

N = 400


@pytest.fixture
def ordinary():
    """Two participants with the columns that experiments record beside the answers."""
    coords = {"participant": ["p1", "p2"]}
    drawn = simulate_trials([1.5, 1.5], trials=N, coords=coords, seed=1)
    rng = np.random.default_rng(1)
    return drawn.assign(
        rt=rng.gamma(2, 0.3, 2 * N),
        trial=np.tile(np.arange(N), 2),
        session=np.tile(np.repeat([1, 2], N // 2), 2),
        block=np.tile(np.arange(N) // 100, 2),
        condition=np.tile(["a", "b"], N),
    )


def codes(counts):
    return [notice.code for notice in notices(counts)]


@pytest.mark.parametrize("by", ["participant", ["participant", "condition"], ["session", "block"]])
def test_an_ordinary_design_is_clean(ordinary, by):
    assert codes(count_trials(ordinary, by=by)) == []


def test_a_difficulty_that_is_counted_by_is_clean(ordinary):
    graded = ordinary.rename(columns={"condition": "difficulty"})
    assert codes(count_trials(graded, by=["participant", "difficulty"])) == []
    assert codes(count_trials(graded, by="participant")) == ["mixed-difficulty"]


def test_numbers_that_no_two_trials_share_are_no_items(ordinary):
    numbered = ordinary.assign(item_id=np.arange(2 * N))
    assert codes(count_trials(numbered, by="participant")) == []
    shared = ordinary.assign(item_id=ordinary["trial"])
    assert codes(count_trials(shared, by="participant")) == ["mixed-items"]
    texts = ordinary.assign(question=[f"Question {i}?" for i in range(2 * N)])
    assert codes(count_trials(texts, by="participant")) == ["mixed-items"]


@pytest.mark.parametrize("name", ["value", "stimuli", "0"])
def test_grouping_columns_may_have_any_name(ordinary, name):
    graded = ordinary.rename(columns={"condition": name})
    graded["contrast"] = np.where(graded[name] == "a", np.arange(2 * N) // 2 % 2, 1)
    counts = count_trials(graded, by=name)
    assert [(n.code, n.cells) for n in notices(counts)] == [("mixed-difficulty", ("a",))]


@pytest.mark.parametrize(
    "levels",
    [
        pd.Categorical(["a", "b"] * N, categories=["b", "a", "c"]),
        pd.array(["a", "b"] * N, dtype="string"),
        np.tile([True, False], N),
        np.tile([0.5, 1.5], N),
    ],
    ids=lambda levels: str(levels.dtype),
)
def test_cells_are_found_whatever_the_type_of_their_levels(ordinary, levels):
    is_first = np.asarray(levels) == levels[0]
    contrast = np.where(is_first, np.arange(2 * N) // 2 % 2, 1)
    counts = count_trials(ordinary.assign(condition=levels, contrast=contrast), by="condition")
    (notice,) = notices(counts)
    assert (notice.code, notice.cells) == ("mixed-difficulty", (str(levels[0]),))


def test_trials_are_not_changed(ordinary):
    signed = ordinary.assign(contrast=np.tile([-0.1, 0.2], N), item=np.tile(np.arange(N), 2))
    before = signed.copy(deep=True)
    count_trials(signed, by="participant")
    pd.testing.assert_frame_equal(signed, before)
