"""Answers to items that are integrated out: kept with a fit, read back, and put together again."""

import numpy as np
import pytest

import hmetad
from hmetad.bayes.program import build_program
from hmetad.specs.crossing import answers_table, crossing_of, read_answers, unpooled_counts
from hmetad.specs.spec import with_changes


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
    "too many nodes": lambda table: table.assign_attrs(fineness=9),
    "a factor of another model": lambda table: table.assign_attrs(factor="subject"),
    "other parameters": lambda table: table.assign_attrs(parameters="dprime"),
    "nothing": lambda table: table.isel(entry=slice(0)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_answers_that_are_not_of_the_counts_and_the_model_are_refused(crossing, damage):
    with pytest.raises(hmetad.InputError, match="crossed_answers"):
        read(damage(answers_table(crossing)), crossing)


def answered(items, trials=1, seed=1, **columns):
    """Counts of two alternatives, one stimulus an item: of each cell the item, from 0 on."""
    number = len(items)
    coords = {"item": [f"q{x:02d}" for x in items]} | columns
    counts = hmetad.simulate_counts(
        [1.5] * number, m_ratio=0.8, trials=2 * trials, coords=coords, seed=seed
    )
    values, shown = counts.values.copy(), np.array(items) % 2
    # What is left of the other stimulus are trials that this one lacks.
    values[np.arange(number), 1 - shown] = 0
    return counts.copy(data=values)


def of_cards(counts, **formula):
    spec = hmetad.load_model("crossed_items")
    return crossing_of(counts, with_changes(spec, formula=formula))


def observers(number, items):
    return {"subject": np.repeat([f"m{j}" for j in range(number)], items).tolist()}


def test_an_observer_has_the_same_parameters_for_items_of_different_numbers_of_options(counts):
    numbers = np.where(counts["item"] == "x", 3, 4)
    mixed = counts.assign_coords(options=("cell", numbers))
    program = build_program(mixed, hmetad.load_model("alternatives_crossed"))
    assert program.counts["options"].values.tolist() == [3, 4] * 3
    one = build_program(counts, hmetad.load_model("alternatives_crossed"))
    assert program.layout.size == one.layout.size
    assert [v.name for v in program.layout.free] == [v.name for v in one.layout.free]
    value, slopes = program.log_density(program.first_point)
    assert np.isfinite(value)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("who", [{"subject": ["m0"] * 8}, {"subject": [*"aaaabbbb"]}])
def test_one_answer_to_each_item_is_refused_with_the_designs_that_work(who):
    """Of one observer, or of several without common items."""
    counts = answered(range(8), **who)
    for fit in (hmetad.fit, hmetad.fit_mle):
        with pytest.raises(hmetad.InputError, match="several observers answer the same"):
            fit(counts, "crossed_items")
    # Answered repeatedly, they are integrated out, crossed or nested.
    repeated = build_program(
        answered(range(8), trials=5, **who), hmetad.load_model("crossed_items")
    )
    assert repeated.crossing.answers.numbers.sum() == 40
    assert repeated.counts["subject"].values.tolist() == sorted({*who["subject"]})
    assert np.isfinite(repeated.log_density(repeated.first_point)[0])


def test_an_item_that_all_get_right_with_the_same_rating_is_fine():
    counts = answered([*range(6)] * 3, **observers(3, 6))
    values, same = counts.values.copy(), (counts["item"] == "q01").values
    values[same] = 0
    values[same, 1, 1, 3] = 1
    program = build_program(counts.copy(data=values), hmetad.load_model("crossed_items"))
    value, slopes = program.log_density(program.first_point)
    assert np.isfinite(value)
    assert np.isfinite(slopes).all()


def test_families_without_outcomes_in_compiled_code_are_sampled():
    counts = answered([*range(6)] * 3, **observers(3, 6))
    spec = hmetad.load_model("gaussian_noise_group")
    spec = with_changes(spec, formula={"dprime": "1 + (1 | subject) + (1 | item)"})
    assert crossing_of(counts, spec) is None


def test_a_parameter_without_a_formula_has_values_of_items_which_are_then_sampled():
    counts = answered([*range(6)] * 3, **observers(3, 6))
    formula = {"dprime": "0 + subject + (1 | item)", "c": "0 + subject"}
    spec = with_changes(hmetad.load_model("individual"), formula=formula)
    assert crossing_of(counts, spec) is None


def test_a_predictor_of_items_is_a_part_of_the_cells_of_observers():
    items, length = [*range(6)] * 3, np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0] * 3)
    counts = answered(items, **observers(3, 6), length=length.tolist())
    assert of_cards(counts).counts.sizes["cell"] == 3
    found = of_cards(counts, dprime="0 + subject + length + (1 | item)")
    assert found.counts.sizes["cell"] == 6
    np.testing.assert_array_equal(found.counts.sum("cell"), counts.sum("cell"))
    prompts = ["x"] * 9 + ["y"] * 9
    found = of_cards(counts.assign_coords(prompt=("cell", prompts)), m="0 + subject:prompt")
    assert found.counts["prompt"].values.tolist() == ["x", "x", "y", "y"]


def test_cells_of_observers_are_refused_where_they_are_too_many(monkeypatch):
    """As with a predictor that differs between all items."""
    counts = answered([*range(6)] * 3, **observers(3, 6), length=[*range(6)] * 3)
    monkeypatch.setattr("hmetad.specs.crossing.MOST_NODES", 18 * 21 * 21 - 1)
    formula = {"dprime": "0 + subject + length + (1 | item)"}
    with pytest.raises(hmetad.InputError, match="18 cells of observers") as error:
        of_cards(counts, **formula)
    assert "a few classes" in error.value.next_step
    assert of_cards(counts) is not None
    monkeypatch.setattr("hmetad.specs.crossing.MOST_NODES", 18 * 81 - 1)
    assert of_cards(counts, **formula, log_spread="0") is None


def test_a_column_that_the_card_names_and_cells_lack_is_asked_for(counts):
    renamed = counts.rename(subject="model")
    with pytest.raises(hmetad.InputError, match=r"formula of m: .*by=\{'subject': column\}"):
        hmetad.fit_mle(renamed, "alternatives_crossed")
