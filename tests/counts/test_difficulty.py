"""What is said of columns that are not counted by: difficulty and items; else nothing."""

import numpy as np
import pandas as pd
import pyarrow as pa
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


# Accuracy that goes with a column, whatever its name


@pytest.fixture
def graded():
    """Two people with trials that are easy or hard; `ease` says which."""
    coords = {"participant": ["p1", "p2"]}
    drawn = [
        simulate_trials([d, d], trials=N, coords=coords, seed=seed).assign(ease=ease)
        for seed, (d, ease) in enumerate([(0.7, 0.2), (2.4, 0.8)])
    ]
    return pd.concat(drawn, ignore_index=True)


def is_right(trials):
    return trials["stimulus"] == trials["response"]


@pytest.mark.parametrize(
    "column",
    [
        lambda trials: trials["ease"],
        lambda trials: trials["ease"].map({0.2: "near", 0.8: "far"}),
        lambda trials: trials["ease"] > 0.5,
        lambda trials: trials["ease"].map({0.2: "near", 0.8: "far"}).astype("category"),
        lambda trials: trials["ease"] + np.arange(len(trials)) % 40 / 100,
        lambda trials: trials["ease"] * np.where(trials["stimulus"] == "S1", -1, 1),
        lambda trials: trials["ease"] + (trials["participant"] == "p2") * 7,
    ],
    ids=["number", "text", "bool", "category", "40 values", "signed", "own values"],
)
@pytest.mark.parametrize("name", ["SOA", "DotDiff"])
def test_a_column_that_accuracy_goes_with_is_difficulty_whatever_its_name(graded, column, name):
    trials = graded.drop(columns="ease").assign(**{name: column(graded)})
    (notice,) = notices(count_trials(trials, by="participant"))
    assert (notice.code, notice.cells) == ("mixed-difficulty", ("p1", "p2"))
    assert f"differ in {name}, and accuracy" in notice.message
    assert f"Group by {name} as well" in notice.next_step
    assert codes(count_trials(trials, by=["participant", name], ratings=4))[:1] != [notice.code]


def test_the_column_that_tells_most_comes_first(graded):
    rng = np.random.default_rng(2)
    flipped = np.where(rng.random(len(graded)) < 0.2, 1 - graded["ease"], graded["ease"])
    counts = count_trials(graded.assign(block_type=flipped, snr=1), by="participant")
    assert "differ in ease, block_type, and" in notices(counts)[0].message


def test_what_is_made_of_the_answer_is_no_difficulty(graded):
    right, confidence = is_right(graded), graded["confidence"]
    made = {
        "outcome": right,
        "verdict": right.map({True: "hit", False: "miss"}),
        "gain": np.where(right, confidence, -confidence),
        "key": graded["response"] + confidence.map(str),
        "sureness": confidence * 25,
        "second_rating": np.clip(confidence + np.arange(len(graded)) % 2, 1, 4),
        "RT_dec": np.round(2 - right + 0.1 * (np.arange(len(graded)) % 9), 1),
        "elapsed": 2 - right + np.random.default_rng(3).random(len(graded)),
    }
    for name, values in made.items():
        trials = graded.drop(columns="ease").assign(**{name: values})
        assert codes(count_trials(trials, by="participant")) == [], name


def test_many_columns_that_tell_nothing_are_none(ordinary):
    rng = np.random.default_rng(4)
    noise = {f"x{i}": rng.integers(0, 2 + i, len(ordinary)) for i in range(40)}
    assert codes(count_trials(ordinary.assign(**noise), by="participant")) == []


def test_numbers_of_trials_and_blocks_are_no_difficulty(graded):
    ordered = graded.sort_values("ease", kind="stable").drop(columns="ease")
    numbers = {"trial_in_block": np.arange(4 * N), "BlockNumber": np.arange(4 * N) // N}
    assert codes(count_trials(ordered.assign(**numbers), by="participant")) == []


def test_a_name_of_difficulty_decides_only_where_trials_cannot():
    drawn = simulate_trials([1.5], trials=8000, coords={"participant": ["p1"]}, seed=5)
    trials = drawn.assign(contrast=np.arange(8000) % 2)
    assert codes(count_trials(trials, by="participant")) == []
    (few,) = notices(count_trials(trials.head(300), by="participant"))
    assert (few.code, few.cells) == ("mixed-difficulty", ("p1",))
    assert "by its name" in few.message


@pytest.mark.parametrize("kind", ["arrow", "duckdb", "csv", "parquet", "polars"])
def test_difficulty_is_found_in_tables_of_any_kind(graded, kind, tmp_path):
    expected = notices(count_trials(graded, by="participant"))
    table = pa.Table.from_pandas(graded)
    if kind == "arrow":
        trials = table
    elif kind == "duckdb":
        trials = pytest.importorskip("duckdb").from_arrow(table)
    elif kind == "polars":
        trials = pytest.importorskip("polars").from_arrow(table).lazy()
    else:
        trials = tmp_path / f"trials.{kind}"
        write = {"csv": graded.to_csv, "parquet": graded.to_parquet}[kind]
        write(trials, index=False)
    assert notices(count_trials(trials, by="participant")) == expected
    assert expected[0].code == "mixed-difficulty"


def test_rows_may_stand_for_many_trials(graded):
    columns = ["participant", "stimulus", "response", "confidence", "ease"]
    tallied = graded.value_counts(columns).rename("n").reset_index()
    assert codes(count_trials(tallied, by="participant", n="n")) == ["mixed-difficulty"]


def test_columns_that_only_some_files_have_are_left_alone(graded, tmp_path):
    graded.to_csv(tmp_path / "a.csv", index=False)
    graded.drop(columns="ease").to_csv(tmp_path / "b.csv", index=False)
    assert codes(count_trials(tmp_path, by="participant")) == []


def test_of_many_trials_a_sample_is_enough(graded):
    many = pd.concat([graded] * 80, ignore_index=True)
    assert len(many) > 100_000
    (notice,) = notices(count_trials(many, by="participant"))
    assert (notice.code, notice.cells) == ("mixed-difficulty", ("p1", "p2"))


@pytest.mark.parametrize(
    ("name", "column"),
    [("Pereira_2018", "Ease"), ("Rausch_2020", "SOA"), ("Siedlecka_2016", "Tar_letters")],
)
def test_published_difficulties_are_found(shared, name, column):
    """Sets of the Confidence Database (Rahnev et al. 2020)."""
    (notice,) = [x for x in published(shared, name) if x.code == "mixed-difficulty"]
    assert f"differ in {column}, and" in notice.message


@pytest.mark.parametrize("name", ["Kantner_2010", "Jachs_2015_Exp2", "Hu_2017"])
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
