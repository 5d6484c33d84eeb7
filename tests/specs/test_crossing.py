"""Answers to items that are integrated out: kept with a fit, read back, and put together again."""

import numpy as np
import pytest

import hmetad
from hmetad.specs.crossing import answers_table, crossing_of, read_answers, unpooled_counts


@pytest.fixture(scope="module")
def counts():
    observers, items = [*"aabbcc"], [*"xyxyxy"]
    coords = {"subject": observers, "item": items}
    return hmetad.simulate_counts(
        [1.0] * 6, likelihood="alternatives", options=4, trials=9, coords=coords, seed=1
    )


@pytest.fixture(scope="module")
def crossing(counts):
    return crossing_of(counts, hmetad.load_model("alternatives_crossed"))


def read(table, crossing):
    return read_answers(table, crossing.counts, hmetad.load_model("alternatives_crossed"))


def test_answers_are_read_back_and_make_the_counts_again(counts, crossing):
    found = unpooled_counts(read(answers_table(crossing), crossing))
    assert found["item"].values.tolist() == counts["item"].values.tolist()
    np.testing.assert_array_equal(found, counts)
    again = crossing_of(found, hmetad.load_model("alternatives_crossed"))
    assert answers_table(again).identical(answers_table(crossing))


def drop(table):
    return table.drop_vars("number")


def shift(name, by):
    return lambda table: table.assign({name: table[name] + by})


DAMAGES = {
    "a column is missing": drop,
    "cells that there are not": shift("cell_index", 1),
    "outcomes below 0": shift("outcome_index", -1),
    "other numbers": shift("number", 1),
    "numbers that are no whole ones": shift("number", 0.5),
    "levels in another order": lambda table: table.assign(level_index=table["level_index"][::-1]),
    "one level twice": lambda table: table.assign_coords(level=["x", "x"]),
    "a factor of another model": lambda table: table.assign_attrs(factor="subject"),
    "other parameters": lambda table: table.assign_attrs(parameters="dprime"),
    "nothing": lambda table: table.isel(entry=slice(0)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_answers_that_are_not_of_the_counts_and_the_model_are_refused(crossing, damage):
    with pytest.raises(hmetad.InputError, match="crossed_answers"):
        read(damage(answers_table(crossing)), crossing)
