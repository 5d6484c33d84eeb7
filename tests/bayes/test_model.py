"""The PyMC model of a card has the densities that its paper says."""

from math import factorial

import numpy as np
import pytest
from likelihood.gradients import meta_d as log_likelihood_and_gradient
from pytensor.compile.mode import Mode
from scipy.stats import kstest, norm, truncnorm

from hmetad.base.errors import InputError
from hmetad.bayes.distributions import sorted_normal_random
from hmetad.bayes.model import build_model
from hmetad.counts.vectors import from_nr
from hmetad.specs.loading import load_model

# PyTensor's own evaluation, without compiling.
MODE = Mode(linker="py", optimizer=None)
COUNTS = from_nr([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])


def log_densities(model, values):
    """Log density of each variable at a point that names free variables."""
    point = {**model.initial_point(), **{k: np.asarray(v, float) for k, v in values.items()}}
    density = model.compile_logp([model[k] for k in values], sum=False, mode=MODE)
    return dict(zip(values, density(point), strict=True))


def test_the_observed_counts_have_the_kernels_density():
    model = build_model(COUNTS, load_model("individual"))
    log_gap = np.log([[[0.5, 0.4, 0.6], [0.3, 0.5, 0.7]]])
    values = {"dprime": [1.5], "c": [0.2], "log_m": [np.log(0.8)], "log_gap": log_gap}
    ours = model.compile_logp([model["counts"]], mode=MODE)(values)
    kernels = log_likelihood_and_gradient(
        COUNTS.values.astype(float),
        np.array([1.5]),
        np.array([0.2]),
        np.full((1, 2), 1.2),
        np.full((1, 2), 0.16),
        np.exp(log_gap),
        np.ones(1),
    ).value
    np.testing.assert_allclose(ours, kernels[0], rtol=1e-12)


def test_the_absolute_criterion_is_c_itself():
    for rule, expected in (("relative", 0.16), ("absolute", 0.2)):
        model = build_model(COUNTS, load_model("individual", meta_criterion=rule))
        point = {model["c"]: [0.2], model["log_m"]: [np.log(0.8)]}
        kappa = model["meta_c"].eval(point, on_unused_input="ignore")
        np.testing.assert_allclose(kappa, [expected])


def test_sorted_criteria_have_the_density_of_ordered_truncated_normals():
    model = build_model(COUNTS, load_model("hmetad_single"))
    gaps = np.array([[0.4, 0.5, 0.6], [0.3, 0.2, 0.9]])
    c, sd = 0.3, np.sqrt(0.5)
    log_density = log_densities(model, {"c": [c], "log_gap": [np.log(gaps)]})["log_gap"]
    expected = 0.0
    for side, row in zip((-1, 1), gaps, strict=True):
        criteria = c + side * np.cumsum(row)
        start, scores = side * c / sd, side * criteria / sd
        expected += np.sum(truncnorm.logpdf(scores, start, np.inf) - np.log(sd))
        expected += np.log(factorial(3)) + np.sum(np.log(row))
    # PyTensor's erfc, in the share beyond κ, is good to some 1e-8.
    np.testing.assert_allclose(log_density, [expected], rtol=1e-7)


def test_sorted_criteria_are_drawn_from_that_density():
    mu, sigma = np.zeros((2, 1)), np.full((2, 1), 0.7)
    kappa = np.full(4000, 0.3)
    gaps = np.exp(sorted_normal_random(kappa, mu, sigma, np.random.default_rng(1)))[..., 0]
    for side, gap in zip((-1, 1), gaps.T, strict=True):
        above = truncnorm(side * 0.3 / 0.7, np.inf, scale=0.7)
        assert kstest(side * 0.3 + gap, above.cdf).pvalue > 1e-3


def test_plugged_in_type1_parameters_are_those_of_padded_counts():
    model = build_model(COUNTS, load_model("hmetad_single", type1="plug_in"))
    assert [v.name for v in model.free_RVs] == ["meta_d", "log_gap"]
    hits, false_alarms = (156 + 0.5) / 201, (44 + 0.5) / 201
    expected = norm.ppf(hits) - norm.ppf(false_alarms)
    assert float(model["dprime"].eval()[0]) == pytest.approx(expected)


def test_the_model_holds_the_counts_whatever_their_order_and_number():
    turned = COUNTS.transpose("rating", "cell", "response", "stimulus")
    for table, factor in ((COUNTS, 1), (1000 * COUNTS, 1000), (turned, 1)):
        model = build_model(table, load_model("individual"))
        held = model.rvs_to_values[model["counts"]].data
        np.testing.assert_array_equal(held, factor * COUNTS.values)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (from_nr([30, 10], [8, 32]), "at least two"),
        (COUNTS - 100, "counts"),
    ],
)
def test_what_is_no_table_of_counts_with_the_information_is_refused(counts, message):
    with pytest.raises(InputError, match=message):
        build_model(counts, load_model("individual"))


def test_meta_d_is_m_times_dprime_on_the_identity_scale():
    model = build_model(COUNTS, load_model("individual", scale="m"))
    point = {model["dprime"]: [1.5], model["m"]: [-0.4]}
    meta_d = model["meta_d"].eval(point, on_unused_input="ignore")
    np.testing.assert_allclose(meta_d, [-0.6])
