"""Posteriors of choices among options, and all that is made of them."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import hmetad
from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.bayes import (
    add_groups,
    predict_measures,
    predicted_counts,
)
from hmetad.bayes.program import build_program
from hmetad.counts.tables import type2_counts
from hmetad.likelihood.family import NUMPY

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
DESIGNS = {
    "right and wrong": {"likelihood": "alternatives", "options": [3, 5]},
    "all options": {"likelihood": "biased-alternatives", "options": 3, "bias": [0.3, -0.1]},
}


def table(kind, **others):
    """Counts of two cells."""
    design = {"trials": 1500, "m_ratio": [0.7, 1.0], "seed": 1, **DESIGNS[kind], **others}
    counts = hmetad.simulate_counts([1.4, 2.2], **design)
    return counts if kind == "right and wrong" else with_letters(counts)


def with_letters(counts):
    """The table with labels of its own."""
    return counts.assign_coords(stimulus=[*"ABC"], response=[*"ABC"])


@pytest.fixture(scope="module", params=DESIGNS)
def fitted(request):
    counts = table(request.param)
    return counts, hmetad.fit(counts, draws=500, chains=2, **QUIET)


def test_the_posterior_is_near_the_maximum_and_the_truth(fitted):
    counts, fit = fitted
    mle = hmetad.fit_mle(counts)
    for name, truth in (("m_ratio", [0.7, 1.0]), ("dprime", [1.4, 2.2])):
        draws = fit["posterior"][name]
        mean, sd = draws.mean(["chain", "draw"]), draws.std(["chain", "draw"])
        assert (abs(mean - truth) < 4 * sd).all(), name
        assert (abs(mean - mle[name]) < 0.5 * sd).all(), name
        np.testing.assert_allclose(sd, mle[f"{name}_se"], rtol=0.2)


def test_labels_are_those_of_the_table_everywhere(fitted, tmp_path):
    counts, fit = fitted
    read = hmetad.load_fit(hmetad.save_fit(fit, tmp_path / "fit.nc"))
    for one in (fit, read):
        assert (one["observed_data"]["counts"].values == counts.values).all()
        groups = add_groups(one)
        for dim in counts.dims[1:]:
            found = groups["posterior_predictive"][dim].values.tolist()
            assert [*dict.fromkeys(found)] == counts[dim].values.tolist()
    if "options" in counts.coords:
        assert read["posterior"]["options"].values.tolist() == [3, 5]
    else:
        assert read["posterior"]["response"].values.tolist() == [*"ABC"]


def test_predicted_counts_have_the_numbers_of_trials(fitted):
    counts, fit = fitted
    predicted = predicted_counts(fit, draws=100)
    given = [dim for dim in ("stimulus",) if dim in counts.dims]
    others = [dim for dim in counts.dims if dim not in ("cell", *given)]
    np.testing.assert_allclose(predicted["mean"].sum(others), counts.sum(others))
    assert (predicted["outside"] < 0.2).all()
    axes = hmetad.plots.fit(predicted)
    assert len(axes) == 2
    assert axes[0].get_xlabel() in ("", "rating")


def test_a_population_of_observers():
    people = {"subject": [f"p{i}" for i in range(8)]}
    counts = hmetad.simulate_counts(
        np.linspace(1.2, 2.4, 8), m_ratio=0.8, trials=600, seed=1, coords=people,
        likelihood="alternatives", options=[4] * 6 + [3] * 2,
    )  # fmt: skip
    fit = hmetad.fit(counts, "alternatives_group", draws=400, tune=300, chains=2, **QUIET)
    mean = hmetad.predict(fit)["m_ratio"]
    assert abs(float(mean.mean()) - 0.8) < 4 * float(mean.std())
    new = hmetad.predict(fit, {"subject": ["p1"]}, group_terms=True)
    assert new["m_ratio"].sizes["cell"] == 1
    with pytest.raises(InputError, match=r"Expected a column options.*no options"):
        predict_measures(fit, "auroc2")
    known = predict_measures(fit, "auroc2", {"options": [3, 5]})
    first, second = known["auroc2"].mean(["chain", "draw"]).values
    # With more options the right one leads by less.
    assert first > second


def test_choices_below_chance_are_said():
    counts = hmetad.simulate_counts(
        [-0.3, 1.5], trials=1000, seed=1, likelihood="alternatives", options=4
    )
    said = notices(hmetad.fit(counts, **QUIET))
    of_sign = [one for one in said if one.code == "dprime-sign"]
    assert of_sign
    assert {cell for one in of_sign for cell in one.cells} == {"1"}
    assert any(one.severity == "error" for one in of_sign)


def test_other_choices_of_the_likelihood_have_densities_of_their_own():
    counts = table("right and wrong")
    spec = hmetad.load_model("alternatives", noise="gumbel")
    program = build_program(counts, spec)
    value, _ = program.log_density(program.first_point)
    normal = build_program(counts, hmetad.load_model("alternatives"))
    assert value != pytest.approx(normal.log_density(program.first_point)[0], abs=0.1)
    record = spec.record
    values = dict(program.start.values.items()) | dict(program.given)
    log_p = record.outcomes(values, NUMPY)
    priors = sum(
        norm.logpdf(
            program.start.values[p.variable], p.prior.parameters["mu"], p.prior.parameters["sigma"]
        ).sum()
        for p in record.parameters
    )
    assert value == pytest.approx((counts.values * log_p).sum() + priors, rel=1e-9)


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="give options= where it is known"):
        hmetad.fit(table("right and wrong").drop_vars("options"))
    with pytest.raises(InputError, match=r"counts: .*got dims"):
        hmetad.fit(table("all options"), "alternatives")
    one = table("all options").copy()
    one[{"stimulus": [1, 2]}] = 0
    with pytest.raises(InputError, match="a stimulus never shown in"):
        hmetad.fit(one)
    with pytest.raises(InputError, match=r"two alternatives.*apply fit_mle and fit"):
        hmetad.fit(table("all options"), "individual")
    assert isinstance(
        hmetad.fit(table("all options")[:1], draws=50, chains=1, **QUIET), xr.DataTree
    )


def test_estimates_of_other_outcomes_are_not_compared():
    counts = hmetad.simulate_counts(
        1.8, trials=200, seed=1, likelihood="biased-alternatives", options=3, bias=[0.1, 0.0]
    )
    run = {"draws": 200, "tune": 100, "chains": 2, "random_seed": 1, "quiet": True}
    tables = {"letters": counts, "right": type2_counts(counts)}
    found = {name: hmetad.loo(hmetad.fit(table, **run)) for name, table in tables.items()}
    with pytest.raises(InputError, match="outcomes"):
        hmetad.compare_models(found)
