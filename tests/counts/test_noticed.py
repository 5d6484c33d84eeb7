"""Confidence of a choice between two options is said of M, wherever the trials come from."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import run

from hmetad.base.notice import notice_of, notices
from hmetad.counts.counting import count_correct, count_trials
from hmetad.counts.noticed import add_notices
from hmetad.counts.ratings import bin_confidence
from hmetad.measures.trial_measures import measure_trials, resample_trials

CODE = "confidence-of-the-choice"


@pytest.fixture
def trials():
    """Choices between two options, as a reader of logs returns them."""
    rng = np.random.default_rng(1)
    target = np.repeat([0, 1], 100)
    odds = np.clip(rng.normal(0.6 * (2 * target - 1), 1), -3, 3)
    p = 1 / (1 + np.exp(-odds))
    frame = pd.DataFrame({"target": target, "chosen": (p > 0.5).astype(int)})
    frame["correct"] = frame["target"] == frame["chosen"]
    frame["confidence"] = np.maximum(p, 1 - p)
    frame["option_probabilities"] = [[1 - x, x] for x in p.tolist()]
    frame["rating"] = bin_confidence(frame["confidence"], 4)
    frame.attrs = add_notices({}, [notice_of(CODE)])
    return frame


def counted(table, **options):
    given = {"stimulus": "target", "response": "chosen", "quantiles": 4, **options}
    return count_trials(table, **given)


def codes(result):
    return [notice.code for notice in notices(result)]


def as_text(trials):
    """Lists as JSON text, as a CSV has them."""
    return trials.assign(option_probabilities=trials["option_probabilities"].map(str))


def bare(trials):
    """The trials, which say nothing of themselves."""
    copy = trials.copy()
    copy.attrs = {}
    return copy


def files(trials, folder):
    as_text(trials).to_csv(folder / "t.csv", index=False)
    bare(trials).to_parquet(folder / "t.parquet")
    return [folder / "t.csv", folder / "t.parquet"]


TABLES = {
    "attrs": lambda trials: trials.drop(columns="option_probabilities"),
    "lists": bare,
    "text": lambda trials: as_text(bare(trials)),
    "arrow": lambda trials: pa.Table.from_pandas(bare(trials)),
    "dask": lambda trials: dd.from_pandas(as_text(bare(trials)), npartitions=3),
}


@pytest.mark.parametrize("kind", TABLES)
def test_any_table_of_choices_says_so_of_counts_with_a_stimulus(trials, kind):
    table = TABLES[kind](trials)
    assert codes(counted(table)).count(CODE) == 1
    assert codes(counted(table, confidence="rating", quantiles=None)).count(CODE) == 1
    assert CODE not in codes(count_correct(table, quantiles=4))
    assert CODE not in codes(measure_trials(table))
    assert CODE not in codes(resample_trials(table, n=5, seed=1))


def test_any_file_of_choices_says_so(trials, tmp_path):
    for path in files(trials, tmp_path):
        assert codes(counted(path)).count(CODE) == 1, path
        assert CODE in codes(counted(path, confidence="rating", quantiles=None)), path
        assert CODE not in codes(count_correct(path, quantiles=4)), path


def test_confidence_from_elsewhere_says_nothing(trials, tmp_path):
    rng = np.random.default_rng(2)
    stated = trials.assign(confidence=rng.uniform(0.5, 1, len(trials)))
    assert CODE not in codes(counted(stated))
    own = trials.assign(own=rng.integers(1, 5, len(trials)))
    assert CODE not in codes(counted(own, confidence="own", quantiles=None))
    without = own.drop(columns="option_probabilities")
    assert CODE not in codes(counted(without, confidence="own", quantiles=None))
    assert CODE in codes(counted(without))
    three = trials.assign(option_probabilities=[[0.2, 0.3, 0.5]] * len(trials))
    assert CODE not in codes(counted(three))
    for odd in ("[0.2", "none", None, 3, ["a", "b"]):
        none = bare(trials).assign(option_probabilities=[odd] * len(trials))
        assert CODE not in codes(counted(none)), odd
    stated.to_csv(tmp_path / "t.csv", index=False)
    assert CODE not in codes(counted(tmp_path / "t.csv"))


def test_a_few_rows_of_the_first_partition_are_looked_at(trials):
    seen = []

    def looked(part):
        seen.append(len(part))
        return part

    table = dd.from_pandas(as_text(bare(trials)), npartitions=4)
    counted(table.map_partitions(looked, meta=table._meta))
    # A pass over four partitions, and two looks: at choices, and at columns of difficulty.
    assert len(seen) == 6


def test_commands_say_it_of_files(trials, tmp_path):
    files(trials, tmp_path)
    asked = "--stimulus target --response chosen --json"
    done = run(tmp_path, f"measures t.parquet {asked} --quantiles 4")
    assert CODE in [notice["code"] for notice in done.answer["notices"]]
    done = run(tmp_path, "measures t.parquet --correct correct --json")
    assert CODE not in [notice["code"] for notice in done.answer["notices"]]


def test_other_notices_of_trials_reach_every_count(trials):
    told = trials.drop(columns="option_probabilities")
    told.attrs = add_notices({}, [notice_of("filter-chosen", tasks="sums: a, not b")])
    for result in (counted(told), count_correct(told, quantiles=4), measure_trials(told)):
        assert "filter-chosen" in codes(result)


def many_options(trials, rows):
    """Items of four options before the others, as a folder of several tasks has them."""
    four = trials.iloc[np.arange(rows) % len(trials)].copy()
    four["option_probabilities"] = [[0.4, 0.3, 0.2, 0.1]] * rows
    four["confidence"] = np.random.default_rng(3).uniform(0.3, 1, rows)
    return four


def test_what_a_reader_said_holds_where_the_first_rows_have_more_options(trials):
    mixed = pd.concat([many_options(trials, 1200), trials], ignore_index=True)
    mixed.attrs = trials.attrs
    assert CODE in codes(counted(mixed))
    assert CODE not in codes(counted(bare(mixed)))
    few = pd.concat([trials.iloc[:5], many_options(trials, 200)], ignore_index=True)
    assert CODE not in codes(counted(bare(few)))


def test_single_precision_is_no_other_number(trials):
    single = bare(trials)
    single["option_probabilities"] = [
        np.array(x, dtype=np.float32) for x in trials["option_probabilities"]
    ]
    assert CODE in codes(counted(single))


def test_trials_of_four_options_with_two_labels_are_warned_of(trials):
    four = many_options(trials, 200)
    assert codes(counted(four)).count("several-options") == 1
    assert "several-options" not in codes(counted(trials))
    assert "several-options" not in codes(counted(pd.concat([trials.iloc[:5], four])))
