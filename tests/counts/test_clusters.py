"""Units are drawn whole: shared ones for all cells at once, separate ones within their cell."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from hmetad import InputError, count_correct, count_trials, notices, resample, sdt
from hmetad.counts.resample import clusters_of, weighted_tables


def trials(items, models=("a", "b"), each=6, seed=0):
    """Two models answer the same items, in which they share right and wrong."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        is_right = rng.random() < 0.7
        for model in models:
            for _ in range(each):
                stimulus = int(rng.integers(2))
                rows.append((model, item, stimulus, stimulus if is_right else 1 - stimulus))
    frame = pd.DataFrame(rows, columns=["model", "item", "stimulus", "response"])
    return frame.assign(confidence=rng.integers(1, 4, len(frame)))


@pytest.fixture(scope="module")
def by_item():
    return count_trials(trials(40), by=["model", "item"], ratings=3)


def accuracy(tables):
    right = sum(tables.sel(stimulus=s, response=s) for s in ("S1", "S2")).sum("rating")
    return (right / tables.sum(["stimulus", "response", "rating"])).rename("accuracy")


def test_pooled_table_is_that_of_the_trials_without_the_unit(by_item):
    pooled = clusters_of(by_item, "item").pooled
    direct = count_trials(trials(40), by="model", ratings=3)
    np.testing.assert_array_equal(pooled, direct)
    assert pooled["cell"].to_numpy().tolist() == ["a", "b"]
    assert "item" not in pooled.coords


def test_items_that_models_share_are_drawn_for_both_at_once(by_item):
    drawn = resample(by_item, accuracy, n=2000, cluster="item", seed=1)["accuracy"]
    # Right and wrong belong to the item here, and every model has it equally often.
    np.testing.assert_allclose(drawn[0], drawn[1], atol=1e-12)


def test_spread_over_items_is_that_of_items_not_of_trials(by_item):
    spread = resample(by_item, accuracy, n=4000, cluster="item", seed=1)["accuracy"].std("draw")
    share = accuracy(clusters_of(by_item, "item").pooled)
    # A binomial of the 40 items; 5 % for the Monte Carlo error of 4000 draws.
    np.testing.assert_allclose(spread, np.sqrt(share * (1 - share) / 40), rtol=0.05)
    by_model = count_trials(trials(40), by="model", ratings=3)
    by_trial = resample(by_model, accuracy, n=4000, seed=1)["accuracy"].std("draw")
    assert bool((spread > 2 * by_trial).all())


def test_subjects_of_separate_groups_are_drawn_within_their_group():
    frame = trials(12).assign(group=lambda t: np.where(t["item"] < 5, "old", "young"))
    table = count_trials(frame, by=["group", "item", "model"], ratings=3)
    clusters = clusters_of(table, "item")
    assert sorted(len(part.counts) for part in clusters.parts) == [5, 7]
    generators = [np.random.default_rng(i) for i in range(2)]
    drawn = weighted_tables(clusters, 30, "bootstrap", generators)
    total = clusters.pooled.sum(["stimulus", "response", "rating"])
    per_draw = drawn.sum(["stimulus", "response", "rating"])
    # Every item has 6 trials a model, so that the number of items drawn shows in the total.
    assert bool((per_draw == total).all())


def test_bayesian_bootstrap_weights_units(by_item):
    drawn = resample(by_item, accuracy, n=4000, kind="dirichlet", cluster="item", seed=1)
    share = accuracy(clusters_of(by_item, "item").pooled)
    right = round(40 * share.item(0))
    law = stats.beta(right, 40 - right)
    np.testing.assert_allclose(drawn["accuracy"].mean("draw"), law.mean(), rtol=0.01)
    np.testing.assert_allclose(drawn["accuracy"].std("draw"), law.std(), rtol=0.05)


def test_slices_of_draws_change_nothing(by_item, monkeypatch):
    whole = resample(by_item, sdt, n=50, cluster="item", seed=3)
    monkeypatch.setattr("hmetad.counts.resample.AT_ONCE", 8)
    assert resample(by_item, sdt, n=50, cluster="item", seed=3).identical(whole)


def test_the_unit_may_be_all_that_tells_cells_apart():
    table = count_trials(trials(10, models=("a",)), by="item", ratings=3)
    drawn = resample(table, accuracy, n=5, cluster="item", seed=1)
    assert drawn["cell"].to_numpy().tolist() == ["all"]


def test_notices_of_single_units_do_not_speak_of_their_sum():
    people = trials(40).rename(columns={"item": "subject"})
    table = count_trials(people, by=["model", "subject"], ratings=3)
    drawn = resample(table, accuracy, n=5, cluster="subject", seed=1)
    assert "few-trials" in table.attrs["notices"]
    assert "few-trials" not in drawn.attrs.get("notices", "")


def test_a_pooled_type2_table_is_told_of_as_one_that_was_counted_so():
    judged = trials(20, each=2).assign(correct=lambda t: t["stimulus"] == t["response"])
    pooled = clusters_of(count_correct(judged, by=["model", "item"], ratings=3), "item").pooled
    expected = notices(count_correct(judged, by="model", ratings=3))
    assert [(notice.code, notice.cells) for notice in expected] == [("few-trials", ("a", "b"))]
    assert notices(pooled) == expected


def test_few_units_are_noticed(by_item):
    few = by_item.isel(cell=by_item["item"].to_numpy() < 4)
    assert "few-units" in resample(few, accuracy, n=5, cluster="item", seed=1).attrs["notices"]
    many = resample(by_item, accuracy, n=5, cluster="item", seed=1)
    assert "few-units" not in many.attrs.get("notices", "")


def test_unknown_and_single_units_are_refused(by_item):
    with pytest.raises(InputError, match="Did you mean 'item'"):
        resample(by_item, sdt, cluster="itme")
    one = by_item.isel(cell=by_item["item"].to_numpy() == 3)
    with pytest.raises(InputError, match="at least two units"):
        resample(one, sdt, cluster="item")
