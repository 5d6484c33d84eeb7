"""Responses alone, without ratings: d′ and c of verdicts, by maximum likelihood and a posterior."""

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad.bayes.fitted import Fitted

# NQ301 (Si et al., 2021; Bulian et al., 2022): bad-fail, bad-pass; good-fail, good-pass.
BEM = ((602, 72), (217, 599))
GPT4 = ((560, 114), (117, 699))
OPTIONS = {"progressbar": False, "quiet": True, "random_seed": 1}


def verdicts(*tables, **columns):
    """Count table without ratings, a cell for each 2 × 2 table."""
    names = [str(i) for i in range(len(tables))]
    coords = {"cell": names, "stimulus": ["S1", "S2"], "response": ["S1", "S2"], "rating": [1]}
    coords |= {name: ("cell", own) for name, own in columns.items()}
    values = np.array(tables)[..., None]
    return xr.DataArray(values, coords, ("cell", "stimulus", "response", "rating"), name="counts")


def test_maximum_likelihood_of_verdicts_is_signal_detection_in_closed_form():
    counts = verdicts(BEM, GPT4)
    found, closed = hmetad.fit_mle(counts, "sdt"), hmetad.sdt(counts)
    assert found["dprime"].values[0] == pytest.approx(1.868757, abs=1e-6)
    for name in ("dprime", "c", "dprime_se", "c_se"):
        np.testing.assert_allclose(found[name], closed[name], rtol=1e-5)
    assert not hmetad.notices(found)


def test_a_posterior_of_verdicts_has_the_maximum_and_error_of_signal_detection(tmp_path):
    counts = verdicts(BEM, GPT4, judge=["bem", "gpt4"])
    fit, closed = hmetad.fit(counts, "sdt", **OPTIONS), hmetad.sdt(counts)
    draws = hmetad.load_fit(hmetad.save_fit(fit, tmp_path / "fit.nc"))["posterior"]["dprime"]
    np.testing.assert_allclose(draws.mean(["chain", "draw"]), closed["dprime"], atol=0.02)
    np.testing.assert_allclose(draws.std(["chain", "draw"]), closed["dprime_se"], rtol=0.1)
    assert not hmetad.notices(fit)
    decided = hmetad.decide(hmetad.contrast(fit, var="c", over="judge"), rope=(-0.1, 0.1))
    text = hmetad.report.fit_report(fit, decided).markdown()
    assert "without confidence" in text
    assert "AUROC2" not in text
    assert "Type-2" not in text


@pytest.mark.integration
def test_a_group_of_observers_without_ratings_has_a_population_and_a_new_member():
    rng = np.random.default_rng(1)
    with_ratings = hmetad.simulate_counts(
        rng.normal(1.5, 0.4, 12),
        c=rng.normal(0, 0.3, 12),
        likelihood="signal-detection",
        trials=400,
        coords={"subject": [*"abcdefghijkl"]},
        seed=1,
    )
    counts = with_ratings.sum("rating").expand_dims(rating=[1], axis=3)
    fit = hmetad.fit(counts, "sdt_group", draws=300, **OPTIONS)
    posterior, closed = fit["posterior"], hmetad.sdt(counts)
    np.testing.assert_allclose(
        posterior["dprime_Intercept"].mean(), closed["dprime"].mean(), atol=0.1
    )
    # Members are shrunken towards the population.
    assert float(posterior["dprime"].mean(["chain", "draw"]).std()) < float(closed["dprime"].std())
    one = hmetad.predict(fit, {"subject": ["new"]})
    np.testing.assert_array_equal(
        one["dprime"].isel(cell=0).values, posterior["dprime_Intercept"].values
    )
    assert Fitted.of(fit).log_probabilities(posterior.to_dataset()).sizes["rating"] == 1
    assert set(hmetad.report.population_table(fit)["variable"]) == {
        "dprime",
        "c",
        "dprime_1|subject_sigma",
        "c_1|subject_sigma",
    }


@pytest.mark.parametrize("card", ["individual", "group", "rce", "unequal_variance"])
def test_models_of_confidence_refuse_verdicts_alone_and_name_the_card_that_takes_them(card):
    with pytest.raises(hmetad.InputError, match="the card sdt"):
        hmetad.fit(verdicts(BEM, subject=["a"]), card)
