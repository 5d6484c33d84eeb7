"""Fits that do not keep the quantities of their cells, and say so."""

import numpy as np
import pytest
import xarray as xr
from sampled_items import sampled_items

import hmetad
from hmetad.base.errors import InputError
from hmetad.base.notice_registry import limit
from hmetad.base.variable_roles import identity_of
from hmetad.bayes.fit import fit
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import keeps_cells
from hmetad.bayes.predict import predict, predict_levels
from hmetad.bayes.predictive import predicted_counts
from hmetad.compare.contrasts import contrast
from hmetad.plots import correlations
from hmetad.report.contents.estimates import estimate_table
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.loading import load_model
from hmetad.specs.spec import ModelSpec, with_changes

pytestmark = pytest.mark.integration

SUBJECTS, ITEMS = 4, 7
QUIET = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 200, "chains": 2}


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    coords = {
        "subject": np.repeat([f"s{i}" for i in range(SUBJECTS)], ITEMS),
        "item": np.tile([f"i{i}" for i in range(ITEMS)], SUBJECTS),
    }
    d = 1.5 + 0.3 * rng.standard_normal(SUBJECTS * ITEMS)
    return simulate_counts(d, m_ratio=0.8, trials=200, coords=coords, seed=1)


@pytest.fixture(scope="module")
def whole(counts):
    return fit(counts, sampled_items(), keep_cells=True, **QUIET)


@pytest.fixture(scope="module")
def without(counts):
    return fit(counts, sampled_items(), keep_cells=False, **QUIET)


def of_card(card, **formula):
    """A fit without draws, of a card or a model."""
    spec = load_model(card) if isinstance(card, str) else card
    spec = with_changes(spec, formula=formula) if formula else spec
    return Fitted.of(xr.DataTree(xr.Dataset(attrs={"spec": spec.to_json()})))


def test_factors_are_those_of_the_formulas_as_they_are_written():
    assert of_card(sampled_items()).factors == [("subject",), ("item",)]
    assert of_card("group").shrunk_over["m_ratio"] == "subject"
    assert of_card("individual").shrunk_over == {}
    nested = of_card("group", log_m="1 + (1 | lab/subject) + (1 | item)")
    assert nested.shrunk_over["m_ratio"] == "lab/subject and item"
    assert nested.shrunk_over["dprime"] == "subject"


def test_what_is_left_out_follows_from_the_rest(whole, without):
    kept, all_of_it = without["posterior"].to_dataset(), whole["posterior"].to_dataset()
    assert not set(sampled_items().record.results) & {*kept}
    for name, values in kept.items():
        np.testing.assert_array_equal(values, all_of_it[name])
    cells, expected = (predict(one, group_terms=True) for one in (without, whole))
    for name, values in expected.items():
        np.testing.assert_allclose(cells[name].values, values.values, rtol=1e-12)


def test_observers_without_an_item_are_at_an_average_item(whole):
    posterior = whole["posterior"].to_dataset()
    found = predict(whole, {"subject": ["s0", "s2"]}, group_terms=True)["log_m"]
    effects = posterior["log_m_1|subject"].sel(subject__factor_dim=["s0", "s2"])
    expected = posterior["log_m_Intercept"] + effects
    np.testing.assert_allclose(found.values, expected.transpose("chain", "draw", ...).values)


@pytest.fixture(scope="module")
def renamed():
    """A fit of HMeta-d's card, which has names of its own for three variables of log M."""
    coords = {"subject": np.repeat(list("abcdef"), 2), "task": ["x", "y"] * 6}
    table = simulate_counts(np.full(12, 1.5), trials=300, coords=coords, seed=1)
    return fit(table, "hmetad_correlation", **QUIET)


def test_attrs_say_what_a_variable_is_whatever_its_card_calls_it(renamed, tmp_path):
    again = hmetad.load_fit(hmetad.save_fit(renamed, tmp_path / "fit.nc"))
    for tree in (renamed, again):
        posterior = tree["posterior"].to_dataset()
        known = {name: identity_of(own.attrs) for name, own in posterior.items()}
        assert known["mu_log_m"] == ("coefficient", "log_m", "task", "")
        assert known["sigma_log_m"] == ("sd", "log_m", "task", "subject")
        assert known["rho"] == ("correlation", "log_m", "task", "subject")
        assert known["log_m_task|subject"] == ("effect", "log_m", "task", "subject")
        assert known["mu_c2"] == ("hyperparameter", "criteria", "", "")
        assert known["m_ratio"] == ("cell", "log_m", "", "")
        assert None not in known.values()
        assert contrast(tree, var="mu_log_m", over="task")["pair"].values.tolist() == ["x − y"]
        assert len(correlations(tree).get_yticklabels()) == 1


def test_draws_without_attrs_are_those_of_the_formulas_of_their_fit(renamed):
    bare = renamed.assign(posterior=xr.DataTree(renamed["posterior"].to_dataset().drop_attrs()))
    assert Fitted.of(bare).identities.items() >= Fitted.of(renamed).identities.items()
    by_name = contrast(bare, var="mu_log_m", over="task")
    np.testing.assert_array_equal(by_name, contrast(renamed, var="mu_log_m", over="task"))


def test_a_fit_is_read_whose_renamed_correlation_the_cells_do_not_have(tmp_path):
    coords = {"subject": list("abcdef"), "task": ["x"] * 6}
    table = simulate_counts([1.5] * 6, coords=coords, seed=1)
    formula = {"log_m": "1 + (0 + task | subject)"}
    spec = ModelSpec("mine", formula=formula, names={"log_m_task|subject_corr": "rho"})
    alone = fit(table, spec, **QUIET)
    again = hmetad.load_fit(hmetad.save_fit(alone, tmp_path / "fit.nc"))
    assert "rho" not in again["posterior"]


def test_the_notice_says_what_to_do_and_is_no_trouble(whole, without):
    (said,) = [one for one in hmetad.notices(without) if one.code == "cells-not-kept"]
    assert said.severity == "info"
    assert "28 cells" in said.message
    assert "cells-not-kept" not in {one.code for one in hmetad.notices(whole)}


def test_levels_are_those_of_the_factor_with_few_groups(without, monkeypatch):
    monkeypatch.setattr("hmetad.bayes.fitted.MOST_LEVELS", 5)
    assert Fitted.of(without).columns_of_levels == ["subject"]
    table = estimate_table(without)
    assert table["cell"].tolist() == ["s0", "s1", "s2", "s3"]
    subjects = predict(without, {"subject": table["cell"].tolist()}, group_terms=True)
    means = subjects["log_m"].mean(["chain", "draw"]).values
    np.testing.assert_allclose(table["log_m"], means)


def test_cells_that_are_put_together_have_the_sum_of_their_counts(whole, counts):
    alone = predicted_counts(whole, draws=100)
    together = predicted_counts(whole, by=["subject"], draws=100)
    own = counts.groupby("subject").sum()
    np.testing.assert_array_equal(together["counts"].values, own.values)
    summed = alone["mean"].values.reshape(SUBJECTS, ITEMS, 2, 2, -1).sum(axis=1)
    np.testing.assert_allclose(together["mean"].values, summed, rtol=1e-12)


def test_a_contrast_of_cells_that_are_not_kept_says_how_to_get_them(without):
    with pytest.raises(InputError, match="predict"):
        contrast(without, var="log_m", over="subject")
    subjects = predict(without, {"subject": ["s0", "s1"]}, group_terms=True)
    assert contrast(subjects, var="log_m", over="subject").sizes["pair"] == 1


def test_cells_that_stand_for_themselves_are_always_kept(counts):
    with pytest.raises(InputError, match="draws"):
        keeps_cells(None, counts, load_model("individual"), numbers(10**9))
    with pytest.raises(InputError, match=r"keep_cells: .*got False"):
        fit(counts, "individual", keep_cells=False, **QUIET)


def numbers(draws):
    return {"draws": draws, "tune": 0, "chains": 4}


def test_cells_are_left_out_by_default_beyond_a_size(counts, monkeypatch):
    assert limit("cells-not-kept") == 2
    monkeypatch.setattr("hmetad.bayes.kept_cells.limit", lambda _: 1e-3)
    spec = sampled_items()
    # 12 numbers of 8 bytes for each of 28 cells, in a megabyte.
    most = 10**6 // (28 * 12 * 8 * 4)
    assert keeps_cells(None, counts, spec, numbers(most))
    assert not keeps_cells(None, counts, spec, numbers(most + 1))
    assert keeps_cells(True, counts, spec, numbers(most + 1))


def test_signs_of_levels_are_checked_where_cells_are_not_kept():
    """In a group of people the levels are the people: what is said is the same."""
    coords = {"subject": [f"s{i}" for i in range(8)]}
    counts = simulate_counts(
        [1.2] * 8, m_ratio=[0.05] * 4 + [1.0] * 4, trials=80, coords=coords, seed=4
    )
    kept, not_kept = (fit(counts, "group", keep_cells=keep, **QUIET) for keep in (True, False))
    codes = ("meta-d-sign", "dprime-sign")
    first, second = (
        {(n.code, n.cells) for n in hmetad.notices(one) if n.code in codes}
        for one in (kept, not_kept)
    )
    assert first == second
    assert first
    # Levels that have the labels of these people bear their error, the population a warning.
    drawn = predict_levels(not_kept)["log_m"], predict(not_kept)["log_m"]
    for draws, is_theirs in zip(drawn, (True, False), strict=True):
        errors = {n.code for n in hmetad.notices(draws) if n.severity == "error"}
        assert ("meta-d-sign" in errors) == is_theirs
