"""The right process is found where there are trials enough, and what cannot be told is said."""

import warnings

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad import InputError
from hmetad.select import candidates, models, select_models
from hmetad.select.models import chosen_models
from hmetad.specs.loading import load_model

QUIET = {"progressbar": False, "quiet": True}
LEVELS = ["hard", "medium", "easy"]


def people(number=4, trials=3000, **process):
    rng = np.random.default_rng(3)
    coords = {"subject": np.repeat([f"s{i}" for i in range(number)], 3), "level": LEVELS * number}
    d = np.tile([0.6, 1.3, 2.2], number) * np.repeat(rng.uniform(0.8, 1.2, number), 3)
    return hmetad.simulate_counts(d, trials=trials, coords=coords, seed=4, **process)


PROCESSES = {
    "wev": {"likelihood": "linear-gaussian", "process": "wev", "visibility": 0.5, "noise": 0.6},
    "ig": {"likelihood": "linear-gaussian", "process": "ig", "relative_dprime": 0.8},
    "lognormal_noise": {"likelihood": "lognormal", "meta_noise": 0.9},
    "sdt": {"likelihood": "signal-detection"},
}


@pytest.mark.integration
@pytest.mark.parametrize("name", PROCESSES)
def test_the_model_that_made_the_ratings_is_best(name):
    models = [*PROCESSES, "meta_d"]
    found = select_models(people(**PROCESSES[name]), models, difficulty="level", quick=True)
    assert found.table.index[0] == name
    assert found.table["best_for"].sum() == 4
    assert found.evidence.sizes == {"subject": 4, "model": 5}
    assert [one.name for one in found.models] == found.table.index.tolist()
    # Predicted tables have the observed number of trials.
    total = found.predicted.sum(["response", "rating"])
    shown = found.counts.sum(["response", "rating"]).values
    np.testing.assert_allclose(total.values, np.broadcast_to(shown, total.shape))


def test_differences_and_their_errors_are_those_of_the_people():
    found = select_models(
        people(**PROCESSES["wev"]), ["sdt", "wev"], difficulty="level", quick=True
    )
    away = (found.evidence.sel(model="wev") - found.evidence.sel(model="sdt")).values
    row = found.table.loc["sdt"]
    assert row["difference"] == pytest.approx(away.sum())
    assert row["se"] == pytest.approx(np.sqrt(4) * away.std(ddof=1))
    for name in ("wev", "sdt"):
        aic = found.fits[name]["aic"]
        np.testing.assert_allclose(found.evidence.sel(model=name), -aic / 2)


@pytest.mark.integration
def test_hierarchical_models_are_compared_by_people_left_out():
    counts = people(6, 600, **PROCESSES["ig"])
    found = select_models(
        counts, ["sdt", "ig"], difficulty="level", tune=300, draws=300, chains=2, seed=1, **QUIET
    )
    assert found.method == "hierarchical"
    assert found.table.index[0] == "ig"
    assert {"elpd", "high_k"} <= {*found.table}
    with warnings.catch_warnings():
        # With 6 people and 600 draws, weights are uneven.
        warnings.simplefilter("ignore", UserWarning)
        left_out = hmetad.loo(found.fits["ig"], by="subject", seed=1)
    np.testing.assert_allclose(found.evidence.sel(model="ig"), left_out.elpd_i)


@pytest.mark.integration
def test_no_difference_from_a_fit_that_failed_as_a_whole_is_clear():
    few = {"tune": 200, "draws": 50, "chains": 2, "seed": 1}
    counts = people(6, 600, **PROCESSES["ig"])
    found = select_models(counts, ["sdt", "ig"], difficulty="level", **few, **QUIET)
    row = found.table.iloc[1]
    assert row["difference"] > max(4, 2 * row["se"])
    assert not found.table["is_clear"].any()
    errors = [one for one in found.notices if one.severity == "error"]
    assert errors
    assert not any(one.cells for one in errors)


@pytest.mark.parametrize("bad", ["sdt", "ig", ""])
def test_no_difference_is_clear_that_rests_on_a_pareto_k_above_07(monkeypatch, bad):
    """Of fits without an error: one person of one model cannot be left out by weights."""

    def fitted(counts, spec, subject, _options):
        name = {"signal-detection": "sdt", "linear-gaussian": "ig"}[spec.likelihood]
        who = {subject: [f"s{i}" for i in range(6)]}
        evidence = xr.DataArray(np.full(6, {"sdt": -50.0, "ig": -40.0}[name]), who, [subject])
        row = {"elpd": float(evidence.sum()), "high_k": int(name == bad)}
        return models.ModelEvidence(xr.DataTree(), evidence, counts, row)

    monkeypatch.setattr(models, "fit_population", fitted)
    found = select_models(people(6, 60, **PROCESSES["ig"]), ["sdt", "ig"], difficulty="level")
    assert found.table.index.tolist() == ["ig", "sdt"]
    assert found.table["is_clear"].tolist() == [False, not bad]


def test_one_person_without_difficulties_is_compared_too():
    counts = hmetad.simulate_counts(
        1.5, trials=20_000, coords={"subject": ["a"]}, seed=1, **PROCESSES["sdt"]
    )
    found = select_models(counts, quick=True)
    assert "wev" not in found.table.index
    assert found.frequencies is None
    assert found.table.index[0] == "sdt"


def test_twins_are_named_and_edges_too():
    counts = people(2, 900, **PROCESSES["sdt"])
    names = ["casandre", "lognormal_noise", "sdt"]
    found = select_models(counts, names, difficulty="level", quick=True)
    codes = [notice.code for notice in found.notices]
    assert "same-model" in codes
    assert found.table.loc["casandre", "aic"] == pytest.approx(
        found.table.loc["lognormal_noise", "aic"], abs=1e-4
    )
    # Noise of 0 is the truth: one notice of all models, the number of people and what is open.
    (said,) = [n for n in found.notices if n.code == "at-edge"]
    number = found.table.loc["casandre", "at_edge"]
    assert number > 0
    assert f"casandre ({number}: log_meta_noise)" in said.message
    assert "sdt" not in said.message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": ["sdt", "nothing"]}, "nothing"),
        ({"models": ["sdt"]}, "two different"),
        ({"difficulty": "hardness"}, "hardness"),
        ({"subject": "person"}, "person"),
        ({"subject": "model"}, "another name"),
        ({"difficulty": None}, "several cells"),
    ],
)
def test_what_cannot_be_compared_is_refused(options, said):
    counts = people(2, 100, **PROCESSES["sdt"])
    with pytest.raises(InputError, match=said):
        select_models(counts, **{"difficulty": "level", "quick": True, **options})


def test_every_model_has_a_card_and_its_texts():
    for one in candidates().values():
        assert load_model(one.card).name == one.card
        assert one.spec.likelihood
        assert one.means.endswith(".")
        assert one.m_ratio.endswith(".")
        assert not one.same_as or one.same_as in candidates()
    default = chosen_models(None, has_levels=False, quick=False)
    assert not any(one.levels or one.slow for one in default)


def test_a_difficulty_whose_sign_is_that_of_the_stimulus_is_refused():
    counts = people(2, 100, **PROCESSES["sdt"])
    is_odd = xr.DataArray(np.arange(counts.sizes["cell"]) % 2 == 1, dims="cell")
    signed = counts.where((counts["stimulus"] == "S1") == is_odd, 0).astype(int)
    with pytest.raises(InputError, match="difficulty: Use its magnitude"):
        select_models(signed, difficulty="level", quick=True)
