"""Words follow from differences and errors; frequencies are those of the exact posterior."""

from copy import copy
from functools import cache
from itertools import product

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import digamma, expit, gammaln, logsumexp, softmax
from scipy.stats import beta

from hmetad.base.errors import InputError
from hmetad.base.notice import Notice, notices, with_notices
from hmetad.compare.model_comparison import (
    compare_models,
    exceedance,
    log_evidence_of_equal,
    model_frequencies,
    posterior_concentration,
)


@cache
def result(shift=0.0, scatter=0.0, trials=400, noise=0.01):
    rng = np.random.default_rng(1)
    log_p = rng.normal(-1.5, noise, (4, 250, trials)) + shift
    log_p += scatter * np.random.default_rng(2).normal(size=trials)
    return az.loo(
        az.from_dict({"posterior": {"d": log_p[..., 0]}, "log_likelihood": {"y": log_p}}),
        pointwise=True,
    )


def test_numbers_are_those_of_arviz():
    models = {"a": result(), "b": result(-0.05, 0.3), "c": result(-0.1)}
    found = compare_models(models)
    expected = az.compare(models, round_to="none")
    pd.testing.assert_frame_equal(found.drop(columns="in_words"), expected)
    assert found.index[0] == "a"


def test_words_say_what_differences_and_their_errors_do():
    models = {"base": result(), "alike": result(-0.005), "worse": result(-0.1)}
    words = compare_models(models | {"unclear": result(-0.025, 0.5)})["in_words"]
    assert words["base"] == "predicts best"
    assert words["alike"].startswith("predicts as well: the difference, 2.0, is below 4")
    assert words["worse"].startswith("predicts worse: by 40.0, 2 SE are 0.0")
    assert words["unclear"].startswith("not told apart")
    words = compare_models({"a": result(), "b": result(-0.1)}, reference="b")["in_words"]
    assert words.to_dict() == {"a": "predicts better: by 40.0, 2 SE are 0.0", "b": "the reference"}


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_results_that_cannot_be_relied_on_are_named():
    words = compare_models({"a": result(), "b": result(-0.1, noise=4.0)})["in_words"]
    assert "not to be relied on" in words["b"]
    assert "not to be relied on" not in words["a"]


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_a_difference_from_a_result_that_cannot_be_relied_on_cannot_be_either():
    table = compare_models({"a": result(noise=4.0), "b": result(-20), "c": result(-21)})
    assert table.index[0] == "a"
    assert table["diag_elpd"].astype(bool).tolist() == [True, False, False]
    assert table["in_words"].str.contains("not to be relied on").all()


def test_estimates_of_fits_that_were_sampled_badly_are_named():
    bad = copy(result())
    bad.elpd_i = with_notices(bad.elpd_i, [Notice("ess", "error", "Low.", ())])
    words = compare_models({"good": result(), "bad": bad})["in_words"]
    assert "its fit" not in words["good"]
    assert "not to be relied on (its fit: low ESS" in words["bad"]


def test_fits_single_models_and_other_trials_are_refused():
    posterior = az.from_dict({"posterior": {"d": np.zeros((1, 4))}})
    for models, says in (
        ({"a": result(), "b": posterior}, r"hmetad\.loo\(fit\)"),
        ({"a": result()}, "two names or more"),
        ([result(), result()], "two names or more"),
        ({"a": result(), "b": result(trials=399)}, "one count table"),
    ):
        with pytest.raises(InputError, match=says):
            compare_models(models)


def evidence_of(people, models, sd, seed=1, ahead=0.0):
    """Log evidence that differs by `sd`; the first model is ahead."""
    values = np.random.default_rng(seed).normal(0, sd, (people, models))
    values[:, 0] += ahead
    return pd.DataFrame(values, [f"p{i}" for i in range(people)], [f"m{k}" for k in range(models)])


def by_enumeration(log_evidence, prior):
    """Log evidence, mean frequencies and attributions, by every assignment of people to models."""
    people, models = log_evidence.shape
    assigned = np.array(list(product(range(models), repeat=people)))
    numbers = (assigned[:, :, None] == np.arange(models)).sum(axis=1)
    total = models * prior
    log_weight = log_evidence[np.arange(people), assigned].sum(axis=1)
    log_weight += (gammaln(prior + numbers) - gammaln(prior)).sum(axis=1)
    log_weight += gammaln(total) - gammaln(total + people)
    evidence = logsumexp(log_weight)
    weight = np.exp(log_weight - evidence)
    share = [[weight[assigned[:, n] == k].sum() for k in range(models)] for n in range(people)]
    return evidence, weight @ (prior + numbers) / (total + people), np.array(share)


def by_quadrature(log_evidence):
    """Log evidence of two models, and the probability that the first is the more frequent.

    Under a uniform prior the posterior is a polynomial, which is integrated without error.
    """
    x, width = np.polynomial.legendre.leggauss(len(log_evidence) // 2 + 2)
    halves = []
    for low in (0.0, 0.5):
        r = low + (x + 1) / 4
        log_p = np.logaddexp(log_evidence[:, :1] + np.log(r), log_evidence[:, 1:] + np.log1p(-r))
        halves.append(logsumexp(log_p.sum(axis=0) + np.log(width / 4)))
    evidence = np.logaddexp(*halves)
    return evidence, np.exp(halves[1] - evidence)


def exactly_protected(log_evidence):
    """Protected exceedance probability of the first of two models."""
    evidence, is_first = by_quadrature(log_evidence)
    risk = expit(log_evidence_of_equal(log_evidence) - evidence)
    return (1 - risk) * is_first + risk / 2


def by_plain_iteration(log_evidence, prior, start, steps=20_000):
    """Concentration by the two equations in turn, until they change nothing."""
    alpha = np.array(start, dtype=float)
    for _ in range(steps):
        before = alpha
        alpha = prior + softmax(log_evidence + digamma(before), axis=1).sum(axis=0)
        if np.allclose(alpha, before, rtol=1e-14, atol=0):
            break
    return alpha


@pytest.mark.parametrize("alpha", [(3.0, 1.5), (0.5, 0.5), (11.8, 2.2), (1000, 1010), (0.5, 900)])
def test_the_exceedance_of_two_models_is_that_of_the_beta_distribution(alpha):
    expected = [beta.sf(0.5, *alpha), beta.cdf(0.5, *alpha)]
    np.testing.assert_allclose(exceedance(np.array(alpha, dtype=float)), expected, atol=1e-12)


@pytest.mark.parametrize(
    "alpha", [(1, 2, 3, 4), (0.5, 0.5, 0.6), (50, 60, 55, 3, 1), (1.2, 300, 310)]
)
def test_the_exceedance_of_more_models_is_that_of_dirichlet_draws(alpha):
    n = 400_000
    draws = np.random.default_rng(1).dirichlet(alpha, n)
    share = np.bincount(draws.argmax(axis=1), minlength=len(alpha)) / n
    found = exceedance(np.array(alpha, dtype=float))
    # Five Monte Carlo standard errors, of 14 shares.
    assert (abs(found - share) <= 5 * np.sqrt(found * (1 - found) / n) + 1e-12).all()
    assert found.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("people", "models"), [(8, 2), (6, 3)])
@pytest.mark.parametrize(
    ("prior", "sd", "off", "share_off"),
    [
        (1.0, 0.0, 1e-9, 1e-9),
        (1.0, 1.0, 0.1, 0.15),
        (1.0, 3.0, 0.04, 0.1),
        (1.0, 10.0, 0.01, 0.08),
        (1.0, 30.0, 0.003, 0.03),
        (3.0, 1.0, 0.02, 0.05),
        (3.0, 3.0, 0.01, 0.04),
        (0.5, 1.0, 0.3, 0.4),
        (0.5, 3.0, 0.1, 0.15),
    ],
)
def test_frequencies_are_near_those_of_all_assignments(people, models, prior, sd, off, share_off):
    """Tolerances are what the approximation costs: less, the stronger evidence and prior are."""
    for seed in range(5):
        evidence = evidence_of(people, models, sd, seed)
        _, frequency, share = by_enumeration(evidence.to_numpy(), prior)
        found = model_frequencies(evidence, prior=prior)
        np.testing.assert_allclose(found["frequency"], frequency, atol=off)
        np.testing.assert_allclose(found["attribution"], share, atol=share_off)


def test_with_decisive_evidence_nothing_is_approximate():
    follows = np.array([0, 0, 0, 1, 2, 0])
    evidence = pd.DataFrame(1000.0 * (follows[:, None] == np.arange(3)), columns=list("abc"))
    found = model_frequencies(evidence)
    np.testing.assert_allclose(found["alpha"], [5, 2, 2], atol=1e-12)
    exact, frequency, share = by_enumeration(evidence.to_numpy(), 1.0)
    np.testing.assert_allclose(found["frequency"], frequency, atol=1e-12)
    np.testing.assert_allclose(found["attribution"], share, atol=1e-12)
    equal = 6000 - 6 * np.log(3)
    assert found["omnibus_risk"].item() == pytest.approx(expit(equal - exact), abs=1e-9)
    low, high = beta.interval(0.95, 5, 4)
    assert found["frequency_lower"][0].item() == pytest.approx(low)
    assert found["frequency_upper"][0].item() == pytest.approx(high)


@pytest.mark.parametrize("people", [5, 20, 60])
@pytest.mark.parametrize("sd", [0.0, 0.5, 2.0, 5.0])
def test_the_protected_probability_is_near_the_exact_one_and_the_risk_never_too_small(people, sd):
    for seed in range(10):
        evidence = evidence_of(people, 2, sd, seed, ahead=sd / 2)
        exact = by_quadrature(evidence.to_numpy())[0]
        found = model_frequencies(evidence)
        risk = expit(log_evidence_of_equal(evidence.to_numpy()) - exact)
        assert found["omnibus_risk"] >= risk - 1e-12
        protected = exactly_protected(evidence.to_numpy())
        # What the approximation costs.
        assert found["protected_exceedance"][0].item() == pytest.approx(protected, abs=0.12)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("strength", "least", "most"), [(1, 0.61, 0.75), (2, 0.79, 0.89), (4, 0.92, 0.98)]
)
def test_intervals_hold_the_truth_where_evidence_is_strong_and_too_seldom_elsewhere(
    strength, least, most
):
    """Log evidence differs by strength²/2 on average, in favour of the model that is true.

    Limits are three standard errors of a share of 400 groups around what the docstring says.
    """
    rng, held, groups = np.random.default_rng(1), 0, 400
    for _ in range(groups):
        truth = rng.random()
        sign = np.where(rng.random(20) < truth, 1, -1)
        difference = rng.normal(sign * strength**2 / 2, strength)
        evidence = pd.DataFrame({"a": difference, "b": np.zeros(20)})
        found = model_frequencies(evidence)
        held += bool(found["frequency_lower"][0] < truth < found["frequency_upper"][0])
        protected = exactly_protected(evidence.to_numpy())
        assert found["protected_exceedance"][0].item() == pytest.approx(protected, abs=0.05)
    assert least < held / groups < most


@pytest.mark.parametrize(
    ("people", "models", "sd", "prior"),
    [(2, 2, 1, 1), (5000, 3, 0.01, 1), (5000, 2, 1e-6, 0.5), (100, 20, 2, 1), (50, 3, 1, 1e6)],
)
def test_slow_cases_come_to_rest_too(people, models, sd, prior):
    evidence = evidence_of(people, models, sd, ahead=sd).to_numpy()
    alpha, converged = posterior_concentration(evidence, prior)
    assert converged
    assert alpha.sum() == pytest.approx(models * prior + people)
    again = by_plain_iteration(evidence, prior, alpha, 1)
    np.testing.assert_allclose(alpha, again, rtol=1e-9)


def test_an_iteration_that_does_not_come_to_rest_says_so(monkeypatch):
    evidence = evidence_of(20, 3, 1.0, ahead=1)
    assert model_frequencies(evidence)["converged"].item() is True
    monkeypatch.setattr("hmetad.compare.model_comparison.MOST_STEPS", 1)
    assert model_frequencies(evidence)["converged"].item() is False


def test_a_number_added_to_a_person_and_the_order_of_models_and_people_change_nothing():
    evidence = evidence_of(9, 4, 2.0)
    found = model_frequencies(evidence)
    added = evidence.add(np.linspace(-4000, 9000, 9), axis=0)
    xr.testing.assert_allclose(found, model_frequencies(added), atol=1e-9)
    turned = model_frequencies(evidence.iloc[::-1, [2, 0, 3, 1]])
    labels = {"model": found["model"], "person": found["person"]}
    xr.testing.assert_allclose(found, turned.sel(labels), atol=1e-9)


def test_an_array_is_read_as_the_table_of_the_same_numbers():
    evidence = evidence_of(5, 3, 2.0)
    array = xr.DataArray(
        evidence.to_numpy().T, {"model": evidence.columns, "subject": evidence.index}
    )
    notice = Notice("few-errors", "warning", "3 errors.", ("p1",))
    found = model_frequencies(with_notices(array, [notice]))
    xr.testing.assert_equal(found, model_frequencies(evidence))
    assert found["attribution"].dims == ("person", "model")
    assert [one.code for one in notices(found)] == ["few-errors"]


GOOD = evidence_of(4, 3, 1.0)


@pytest.mark.parametrize(
    ("evidence", "options", "said"),
    [
        (GOOD.to_numpy(), {}, "evidence: .*DataFrame"),
        (GOOD[["m0"]], {}, "evidence: .*.*Expected two or more, one column per model.*, got 1"),
        (GOOD.iloc[:1], {}, "evidence: .*Of one person, compare.*two or more, one row per person"),
        (GOOD.assign(m1=[0, np.nan, 0, 0]), {}, "evidence: .*nan for 'p1' and 'm1'"),
        (GOOD.assign(m2=pd.array([1, 2, None, 4], "Int64")), {}, "evidence: .*nan for 'p2'"),
        (GOOD.assign(subject=list("abcd")), {}, r"evidence: .*belong to the index.*'subject'"),
        (GOOD.astype(object), {}, "evidence: .*object in 'm0'"),
        (GOOD.set_axis(["1", "b", 1], axis=1), {}, "evidence: .*'1' twice"),
        (GOOD.set_axis([*"xyzx"]), {}, "evidence: .*Expected one row per person, got 'x' twice"),
        (GOOD.set_index("m0", append=True), {}, "evidence: .*2 levels of names"),
        (xr.DataArray(GOOD, dims=("subject", "card")).drop_vars(["subject", "card"]), {},
         r"evidence: .*evidence\.rename"),
        (xr.DataArray(np.zeros((2, 2, 2)), dims=("a", "b", "model")), {}, "evidence: .*two dims"),
        (GOOD, {"prior": 0.4}, "prior: .*Expected 0.5 to 1000000.*, got 0.4"),
        (GOOD, {"prior": 1e7}, "prior: .*got 10000000.0"),
        (GOOD, {"prior": [1, 1]}, "prior: "),
    ],
)  # fmt: skip
def test_evidence_that_is_none_and_options_out_of_range_are_refused(evidence, options, said):
    with pytest.raises(InputError, match=f"^{said}"):
        model_frequencies(evidence, **options)
