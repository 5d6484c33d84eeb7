"""Responses alone, without ratings: d′ and c of verdicts, by maximum likelihood and a posterior."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.integrate import trapezoid
from scipy.stats import norm

import hmetad
from hmetad.bayes.fitted import Fitted
from hmetad.counts.judged import count_judged

# Answers of NQ301 (Kamalloo et al., 2023): bad-fail, bad-pass; good-fail, good-pass.
BEM = ((602, 72), (217, 599))
GPT4 = ((560, 114), (117, 699))
# The same by human label (bad, good) and pattern of verdicts, from 000 to 111, of these judges.
JUDGES = ("bem", "gpt4", "davinci003")
PATTERNS = (
    (520, 32, 36, 14, 20, 13, 5, 34),
    (99, 17, 27, 74, 8, 13, 15, 563),
)
OPTIONS = {"progressbar": False, "quiet": True, "random_seed": 1}


def verdicts(*tables, **columns):
    """Count table without ratings, a cell for each 2 × 2 table."""
    names = [str(i) for i in range(len(tables))]
    coords = {"cell": names, "stimulus": ["S1", "S2"], "response": ["S1", "S2"], "rating": [1]}
    coords |= {name: ("cell", own) for name, own in columns.items()}
    values = np.array(tables)[..., None]
    return xr.DataArray(values, coords, ("cell", "stimulus", "response", "rating"), name="counts")


def judged_items(patterns=PATTERNS):
    """Count table of judges and items, one verdict each."""
    label, verdicts = np.divmod(np.repeat(np.arange(16), np.ravel(patterns)), 8)
    item, judge = (x.ravel() for x in np.indices((len(label), 3)))
    verdict = (verdicts[item] >> (2 - judge)) & 1
    values = np.zeros((len(item), 2, 2, 1), dtype=int)
    values[np.arange(len(item)), label[item], verdict, 0] = 1
    names = np.array(JUDGES)[judge]
    labels = [f"{one} | {i}" for one, i in zip(names, item, strict=True)]
    coords = {"cell": labels, "judge": ("cell", names), "item": ("cell", item.astype(str))}
    coords |= {"stimulus": ["S1", "S2"], "response": ["S1", "S2"], "rating": [1]}
    return xr.DataArray(values, coords, ("cell", "stimulus", "response", "rating"), name="counts")


@pytest.fixture(scope="module")
def items():
    return judged_items()


def of_judges(found, name):
    return found[name].sel(cell=[*JUDGES]).values


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


def test_judges_of_the_same_items_have_a_marginal_dprime_next_to_the_conditional(items):
    found = hmetad.fit_mle(items, "judge_crossed")
    np.testing.assert_allclose(of_judges(found, "dprime"), [4.10, 4.79, 4.58], atol=0.1)
    np.testing.assert_allclose(found["item_sd"][0], [1.66, 2.62], atol=0.1)
    # What is marginal is what tables that are pooled over items say.
    pooled = hmetad.sdt(items.groupby("judge").sum("cell").rename(judge="cell"))
    for name in ("dprime", "c"):
        marginal, plain = of_judges(found, f"{name}_marginal"), of_judges(pooled, name)
        np.testing.assert_allclose(marginal, plain, atol=0.02)
        se = of_judges(found, f"{name}_marginal_se")
        np.testing.assert_allclose(se, of_judges(pooled, f"{name}_se"), rtol=0.03)
    assert [one.code for one in hmetad.notices(found)] == ["conditional-dprime"]


def test_the_likelihood_of_items_is_that_of_how_often_each_pattern_occurs(items):
    found = hmetad.fit_mle(items, "judge_crossed")
    x = np.linspace(-8, 8, 4001)
    expected = 0.0
    for label, numbers in enumerate(PATTERNS):
        d, c = (of_judges(found, name)[:, None] for name in ("dprime", "c"))
        shift = (label - 0.5) * d - c + found["item_sd"].values[0, label] * x
        passed = norm.cdf(shift)
        for pattern, number in enumerate(numbers):
            bits = [(pattern >> place) & 1 for place in (2, 1, 0)]
            p = [own if bit else 1 - own for own, bit in zip(passed, bits, strict=True)]
            expected += number * np.log(trapezoid(norm.pdf(x) * np.prod(p, axis=0), x))
    assert found["loglik"].item() == pytest.approx(expected, abs=1e-5)


def test_four_times_the_items_halve_the_errors_of_a_table_of_judged_outputs(items):
    patterns = 4 * np.array(PATTERNS)
    verdicts = np.repeat(np.tile(np.arange(8), 2), patterns.ravel())
    trials = pd.DataFrame({"human": np.repeat([0, 1], patterns.sum(axis=1))}).reset_index()
    trials = trials.assign(**{name: (verdicts >> (2 - k)) & 1 for k, name in enumerate(JUDGES)})
    rows = trials.rename(columns={"index": "item"}).melt(["item", "human"], var_name="judge")
    counts = count_judged(rows, by=["judge", "item"], label="human", verdict="value")
    found, few = (hmetad.fit_mle(own, "judge_crossed") for own in (counts, items))
    for name in ("dprime", "dprime_marginal", "c_marginal"):
        se, half = of_judges(found, f"{name}_se"), of_judges(few, f"{name}_se") / 2
        np.testing.assert_allclose(se, half, rtol=1e-3)
        # A search ends within a thousandth of the errors.
        assert (abs(of_judges(found, name) - of_judges(few, name)) < 2e-3 * se).all()


def test_verdicts_that_are_missing_leave_out_their_judge_alone(items):
    rng = np.random.default_rng(2)
    kept = items.isel(cell=np.sort(rng.choice(items.sizes["cell"], 3500, replace=False)))
    some, every = (hmetad.fit_mle(own, "judge_crossed") for own in (kept, items))
    shift = of_judges(some, "dprime_marginal") - of_judges(every, "dprime_marginal")
    assert (abs(shift) < 3 * of_judges(some, "dprime_marginal_se")).all()
    assert (some["dprime_marginal_se"] > every["dprime_marginal_se"]).all()


def test_items_that_one_judge_saw_alone_are_refused(items):
    with pytest.raises(hmetad.InputError, match="Let several observers answer"):
        hmetad.fit(items[items["judge"] == "bem"], "judge_crossed")


@pytest.mark.integration
def test_a_difference_of_judges_on_the_same_items_is_paired_and_marginal(items, tmp_path):
    fit = hmetad.fit(items, "judge_crossed", **OPTIONS)
    fit = hmetad.load_fit(hmetad.save_fit(fit, tmp_path / "fit.nc"))
    drawn = fit["posterior"]["dprime_marginal"].sel(cell=[*JUDGES])
    np.testing.assert_allclose(drawn.mean(["chain", "draw"]), [1.843, 2.048, 1.966], atol=0.02)
    differences = hmetad.contrast(fit, var="dprime_marginal", over="judge")
    own = differences.isel(pair=differences["pair"].values.tolist().index("gpt4 − davinci003"))
    assert float(own.mean()) == pytest.approx(0.082, abs=0.01)
    # Independent data would have an error of .113.
    assert float(own.std()) == pytest.approx(0.073, abs=0.007)
    decided = hmetad.decide(differences, rope=(-0.1, 0.1))
    text = hmetad.report.fit_report(fit, decided).markdown()
    assert "Marginal d′ | Marginal c | Conditional d′ | Conditional c" in text
    assert "(marginal)" in text
    assert "(conditional;" in text
    sds = hmetad.report.population_table(fit).query("kind == 'sd'")
    assert sds["term"].tolist() == ["stimulus: S1", "stimulus: S2"]
    np.testing.assert_allclose(sds["mean"], [1.66, 2.62], atol=0.05)
    effects = hmetad.bayes.item_effects(fit)["item_shift"]
    assert float(effects.std()) == pytest.approx(0.8, abs=0.1)


@pytest.mark.integration
def test_a_new_domain_differs_as_domains_do_and_a_difference_of_judges_varies_with_it():
    card = hmetad.load_model("judge_group")
    fit = hmetad.fit(hmetad.simulate_counts(**card.example, seed=1), card, draws=500, **OPTIONS)
    judges, posterior = {"judge": ["a", "b"]}, fit["posterior"]
    mean = hmetad.predict(fit, judges)
    new = hmetad.predict(fit, judges, new="domain", seed=1)
    for name in ("dprime", "c"):
        own, shared = (
            posterior[f"{name}_1|{factor}_sigma"] for factor in ("domain:judge", "domain")
        )
        moved = new[name] - mean[name]
        # What a domain does to all judges is not in their difference.
        for scores in (moved / np.hypot(own, shared), moved.diff("cell") / (np.sqrt(2) * own)):
            np.testing.assert_allclose(scores.std(["chain", "draw"]), 1, atol=0.06)
            np.testing.assert_allclose(scores.mean(["chain", "draw"]), 0, atol=0.09)
    again = hmetad.predict(fit, judges, new="domain", seed=1)
    xr.testing.assert_identical(new, again)
    for column, message in (("judge", "has coefficients"), ("task", "There are: 'domain'")):
        with pytest.raises(hmetad.InputError, match=message):
            hmetad.predict(fit, judges, new=column)
    with pytest.raises(hmetad.InputError, match="no column domain"):
        hmetad.predict(fit, judges | {"domain": ["1", "1"]}, new="domain")


@pytest.mark.integration
def test_criteria_of_a_new_observer_are_drawn_too():
    table = hmetad.simulate_counts(**hmetad.load_model("sdt_group").example, ratings=3, seed=1)
    fit = hmetad.fit(table, "sdt_group", draws=500, **OPTIONS)
    mean, new = (hmetad.predict(fit, new=own)["criteria"] for own in ((), "subject"))
    assert new.dims == mean.dims
    assert (new.std(["chain", "draw"]) > mean.std(["chain", "draw"])).all()
