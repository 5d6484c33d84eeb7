"""Columns that are not counted by: difficulty and items have a notice, others have none."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hmetad import InputError, count_trials, notices, simulate_trials
from hmetad.counts.difficulty import accuracy_by, answers_of

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
    counts = count_trials(graded, by=name, difficulty="contrast")
    assert [(n.code, n.cells) for n in notices(counts)] == [("mixed-difficulty", ("a",))]


@pytest.mark.parametrize(
    "levels",
    [pd.Categorical(["a", "b"] * N, ["b", "a", "c"]), [True, False] * N, np.tile([0.5, 1.5], N)],
    ids=["category", "bool", "float"],
)
def test_cells_are_found_whatever_the_type_of_their_levels(ordinary, levels):
    is_first = np.asarray(levels) == levels[0]
    contrast = np.where(is_first, np.arange(2 * N) // 2 % 2, 1)
    trials = ordinary.assign(condition=levels, contrast=contrast)
    counts = count_trials(trials, by="condition", difficulty="contrast")
    (notice,) = notices(counts)
    assert (notice.code, notice.cells) == ("mixed-difficulty", (str(levels[0]),))


def test_trials_are_not_changed(ordinary):
    signed = ordinary.assign(contrast=np.tile([-0.1, 0.2], N), item=np.tile(np.arange(N), 2))
    before = signed.copy(deep=True)
    count_trials(signed, by="participant")
    pd.testing.assert_frame_equal(signed, before)


# Accuracy that varies with a column, whatever its name


@pytest.fixture(scope="module")
def graded():
    """Two participants with easy and hard trials; `ease` is the difficulty."""
    coords = {"participant": ["p1", "p2"]}
    drawn = [
        simulate_trials([d, d], trials=N, coords=coords, seed=seed).assign(ease=ease)
        for seed, (d, ease) in enumerate([(0.7, 0.2), (2.4, 0.8)])
    ]
    return pd.concat(drawn, ignore_index=True)


def is_right(trials):
    return trials["stimulus"] == trials["response"]


def sides(trials):
    """-1 for one stimulus, 1 for the other."""
    return np.where(trials["stimulus"] == trials["stimulus"].min(), -1, 1)


@pytest.mark.parametrize(
    "column",
    [
        lambda trials: trials["ease"],
        lambda trials: trials["ease"] + np.arange(len(trials)) % 10 / 100,
        lambda trials: trials["ease"] - 0.5,
        lambda trials: trials["ease"] + (trials["participant"] == "p2") * 7,
    ],
    ids=["two values", "20 values", "both signs", "values of each participant"],
)
def test_a_number_that_accuracy_varies_with_is_difficulty_whatever_its_name(graded, column):
    trials = graded.drop(columns="ease").assign(x1=column(graded))
    (notice,) = notices(count_trials(trials, by="participant"))
    assert (notice.code, notice.cells) == ("mixed-difficulty", ("p1", "p2"))
    assert "differ in x1, and accuracy" in notice.message
    assert "Add x1 to by=" in notice.next_step
    assert codes(count_trials(trials, by=["participant", "x1"], ratings=4))[:1] != [notice.code]


def test_other_columns_are_not_difficulty(graded):
    rng, right, rating = np.random.default_rng(3), is_right(graded), graded["confidence"]
    is_first, number = graded["participant"] == "p1", len(graded)
    time = 2 - right + rng.gamma(2, 0.3, number)
    others = {
        "magnitude constant, sign of the stimulus": 0.2 * sides(graded),
        "sign of the stimulus": graded["ease"] * sides(graded),
        "sign of the other stimulus": -graded["ease"] * sides(graded),
        "constant": 0.3,
        "missing": np.nan,
        "constant within cells": np.where(is_first, 0.3, 0.7),
        "the stimulus": sides(graded),
        "response time": time,
        "response time in steps of 10 ms": time.round(2),
        "number of the trial": graded["ease"].groupby(is_first).rank(method="first"),
        "id of the row": np.arange(number) + 10_000,
        "noise": rng.integers(0, 5, number),
        "text": graded["ease"].map({0.2: "hard", 0.8: "easy"}),
        "correctness": right * 1,
        "points": np.where(right, rating, -rating),
        "key of response and rating": 10 * (graded["response"] == "S1") + rating,
        "confidence in percent": rating * 25,
    }
    for name, column in others.items():
        trials = graded.drop(columns="ease").assign(x=column)
        assert codes(count_trials(trials, by="participant")) == [], name
    # All of them together with a difficulty.
    (notice,) = notices(count_trials(graded.assign(**others), by="participant"))
    assert "differ in ease, and" in notice.message


def test_cells_in_which_the_column_is_constant_are_not_named(graded):
    one = graded.assign(ease=graded["ease"].mask(graded["participant"] == "p2", 0.5))
    (notice,) = notices(count_trials(one, by="participant"))
    assert notice.cells == ("p1",)


def test_chance_is_not_part_of_the_standard_deviation(ordinary):
    by, rng = ["participant"], np.random.default_rng(5)
    roles = {name: name for name in ("stimulus", "response", "confidence")}
    frame, answers, _ = answers_of(ordinary, np.ones(2 * N, dtype=np.int64), by, roles)
    noise = [pd.Series(rng.integers(0, 10, 2 * N), frame.index) for _ in range(40)]
    found = [accuracy_by(column, answers)[0] for column in noise]
    # Ten levels of equal accuracy .77 in 800 trials: √(9 · .18/800) = .045 with chance.
    assert np.mean(found) < 0.02


@pytest.mark.parametrize("name", ["RT_dec", "rt", "reactionTime", "Response Time", "latency"])
def test_a_response_time_that_a_coarse_clock_rounds_is_not_difficulty(graded, name):
    assert codes(count_trials(graded.rename(columns={"ease": name}), by="participant")) == []


@pytest.mark.parametrize(
    "name",
    ["confidence", "Confidence_2", "statedConfidence", "rating", "sure", "response", "answer"],
)
def test_a_second_answer_is_not_difficulty(graded, name):
    roles = {"confidence": "certain", "response": "said"}
    trials = graded.rename(columns=roles | {"ease": name})
    assert codes(count_trials(trials, by="participant", **roles)) == []
    # What is named difficulty is that, whatever it is called.
    found = count_trials(trials, by="participant", **roles, difficulty=name)
    assert codes(found) == ["mixed-difficulty"]


@pytest.mark.parametrize("name", ["stimulus", "signal", "length", "difficulty_rating"])
def test_a_second_stimulus_may_be_difficulty(graded, name):
    trials = graded.rename(columns={"stimulus": "shown", "ease": name})
    assert codes(count_trials(trials, by="participant", stimulus="shown")) == ["mixed-difficulty"]


def test_forty_columns_of_noise_raise_no_notice(ordinary):
    rng = np.random.default_rng(4)
    # A name decides nothing.
    ordinary = ordinary.assign(contrast=np.arange(2 * N) // 2 % 2, difficulty=ordinary["trial"])
    noise = {f"x{i}": rng.integers(0, 2 + i, len(ordinary)) for i in range(40)}
    assert codes(count_trials(ordinary.assign(**noise), by="participant")) == []


def test_the_column_with_the_largest_differences_comes_first(graded):
    rng = np.random.default_rng(2)
    flipped = np.where(rng.random(len(graded)) < 0.2, 1 - graded["ease"], graded["ease"])
    counts = count_trials(graded.assign(block_type=flipped, snr=1), by="participant")
    assert "differ in ease, block_type, and" in notices(counts)[0].message


@pytest.mark.parametrize(("sd", "is_found"), [(0.02, False), (0.04, True)])
def test_the_limit_is_a_standard_deviation_of_accuracy(sd, is_found):
    n = 100_000
    level, shown = np.arange(n) % 2, np.arange(n) // 2 % 2
    right = np.random.default_rng(1).random(n) < 0.75 + sd * (2 * level - 1)
    trials = pd.DataFrame({"stimulus": shown, "response": np.where(right, shown, 1 - shown)})
    counts = count_trials(trials.assign(confidence=1 + np.arange(n) % 3, x=level))
    assert ("mixed-difficulty" in codes(counts)) == is_found


# The column that difficulty= names


@pytest.mark.parametrize("column", ["ease", "EASE", "text", "signed", "time"])
def test_a_named_difficulty_is_noticed_where_it_varies(graded, column):
    is_second = graded["participant"] == "p2"
    trials = graded.assign(
        ease=graded["ease"].mask(is_second, 0.5),
        text=graded["ease"].map({0.2: "hard", 0.8: "easy"}).mask(is_second, "all"),
        signed=np.where(is_second, 0.2, graded["ease"]) * sides(graded),
        time=np.where(is_second, 1, np.random.default_rng(1).random(len(graded))),
    )
    (notice,) = notices(count_trials(trials, by="participant", difficulty=column))
    assert (notice.code, notice.cells) == ("mixed-difficulty", ("p1",))
    assert f"differ in {column}, their difficulty" in notice.message


def test_a_named_difficulty_that_does_not_vary_ends_the_search(graded):
    assert codes(count_trials(graded.assign(x=1), by="participant", difficulty="x")) == []
    by = ["participant", "ease"]
    assert codes(count_trials(graded, by=by, difficulty="ease", ratings=4)) == []


def test_a_difficulty_that_is_not_a_column_is_refused(graded):
    with pytest.raises(InputError, match="difficulty"):
        count_trials(graded, difficulty="eas")


# Tables of any kind


def test_difficulty_is_found_in_tables_of_any_kind(graded, tmp_path):
    expected = notices(count_trials(graded, by="participant"))
    graded.to_csv(tmp_path / "trials.csv", index=False)
    for trials in (pa.Table.from_pandas(graded), tmp_path / "trials.csv"):
        assert notices(count_trials(trials, by="participant")) == expected
    assert expected[0].code == "mixed-difficulty"


def test_rows_may_stand_for_many_trials(graded):
    columns = ["participant", "stimulus", "response", "confidence", "ease"]
    tallied = graded.value_counts(columns).rename("n").reset_index()
    assert codes(count_trials(tallied, by="participant", n="n")) == ["mixed-difficulty"]


def test_columns_that_only_some_files_have_are_not_tested(graded, tmp_path):
    graded.to_csv(tmp_path / "a.csv", index=False)
    graded.drop(columns="ease").to_csv(tmp_path / "b.csv", index=False)
    assert codes(count_trials(tmp_path, by="participant")) == []


def test_for_many_trials_a_sample_is_enough(graded):
    many = pd.concat([graded] * 80, ignore_index=True)
    assert len(many) > 100_000
    (notice,) = notices(count_trials(many, by="participant"))
    assert (notice.code, notice.cells) == ("mixed-difficulty", ("p1", "p2"))


@pytest.mark.parametrize(
    ("name", "column"),
    [
        *[("Siedlecka_2016", "Tar_letters"), ("Kvam_2016", "DotProportion")],
        *[("Mazor_2021_Expt1", "SOA"), ("Schurgin_2018", "Setsize"), ("Rausch_2020", "SOA")],
        # Its response times, RT_dec, are in steps of 20 ms.
        ("Pereira_2018", "Ease"),
    ],
)
def test_published_difficulties_are_found(shared, name, column):
    """Sets of the Confidence Database (Rahnev et al. 2020)."""
    (notice,) = [x for x in published(shared, name) if x.code == "mixed-difficulty"]
    assert f"differ in {column}, and" in notice.message


# Reyes_2015 and Maniscalco_2017_expt1: the difficulty is constant for each participant.
@pytest.mark.parametrize("name", ["Kantner_2010", "Hu_2017", "Reyes_2015", "Maniscalco_2017_expt1"])
def test_published_sets_without_difficulty_have_none(shared, name):
    assert "mixed-difficulty" not in [x.code for x in published(shared, name)]


def published(shared, name):
    """Notices of a published set of trials; confidence in quantiles where it is fine."""
    trials = pd.read_csv(shared / "data" / "confidence_database" / f"data_{name}.csv.gz")
    names = ["Stimulus", "Response", "Confidence"]
    roles = {one.lower(): one for one in names}
    trials = trials.dropna(subset=names)
    fine = {"quantiles": 4} if trials["Confidence"].nunique() > 12 else {}
    return notices(count_trials(trials, by="Subj_idx", **roles, **fine))
