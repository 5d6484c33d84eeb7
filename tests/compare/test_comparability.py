"""What is compared over unlike trials, or differs in d′ or c, is told so."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from drawn_cells import drawn_cells
from scipy.sparse import csr_array
from scipy.stats import norm

import hmetad
from hmetad.base.notice import notices
from hmetad.base.results import results
from hmetad.bayes import fit_estimates, predict_estimates, predict_measures
from hmetad.bayes.estimates_data import read_estimates
from hmetad.compare.comparability import excludes_zero
from hmetad.compare.contrasts import contrast
from hmetad.measures import measure_trials, resample_trials

PAIR = csr_array([[1.0, -1.0]])


def fit_of(dprime):
    """Posterior of cells with these draws of d′, and others that do not differ."""
    noise = np.random.default_rng(1).normal(0, 0.1, (2, *dprime.shape))
    values = {"log_m": noise[0], "c": noise[1], "dprime": dprime}
    models = "abc"[: dprime.shape[-1]]
    return xr.Dataset({name: drawn_cells(x, name, model=models) for name, x in values.items()})


def codes(fit):
    return [notice.code for notice in notices(contrast(fit, var="log_m", over="model"))]


@pytest.mark.parametrize("number", [1000, 1001, 4001])
def test_of_many_draws_every_so_many_th_is_looked_at(number):
    """Differences in the draws that are left out do not show, those in the others do."""
    step = -(-number // 1000)
    draws = np.random.default_rng(1).normal(0, 0.01, (number, 2))
    for first in range(step):
        some = draws.copy()
        some[first::step, 0] += 1
        assert excludes_zero(some, PAIR, independent=False).tolist() == [first == 0]


def test_a_difference_is_that_of_all_chains_and_not_of_the_first():
    """25 chains of 160: two do not show it, a third of the first thousand draws."""
    dprime = np.random.default_rng(2).normal(1.5, 0.1, (25, 160, 2))
    assert codes(fit_of(dprime)) == []
    dprime[2:, :, 1] += 2
    assert codes(fit_of(dprime)) == ["type1-differs"]


def test_a_difference_is_clear_beyond_the_corrected_quantile_of_its_spread():
    """One contrast, sought in d′ and c: z of .05/4, of an SD that the covariance makes."""
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(500, 1))
    draws = shared + 0.1 * rng.normal(size=(500, 2))
    draws -= draws.mean(axis=0)
    spread = (draws[:, 0] - draws[:, 1]).std()
    for factor, expected in ((0.99, False), (1.01, True)):
        shift = [factor * norm.isf(0.05 / 4) * spread, 0]
        assert excludes_zero(draws + shift, PAIR, independent=False).tolist() == [expected]
    apart = np.sqrt(draws.var(axis=0).sum())
    for factor, expected in ((0.99, False), (1.01, True)):
        shift = [factor * norm.isf(0.05 / 4) * apart, 0]
        assert excludes_zero(draws + shift, PAIR, independent=True).tolist() == [expected]


def test_coefficients_are_of_no_cells_whose_d_could_differ():
    dprime = np.random.default_rng(2).normal([1.0, 3.0], 0.1, (4, 100, 2))
    fit = fit_of(dprime)
    assert codes(fit) == ["type1-differs"]
    named = {"cell": "log_m_task_dim"}
    effects = fit["log_m"].drop_vars("model").rename(named).assign_coords(log_m_task_dim=["x", "y"])
    both = fit.assign(log_m_task=effects)
    assert notices(contrast(both, var="log_m_task", over="task")) == []


def test_d_of_both_responses_is_compared_where_each_has_an_m():
    fits = {}
    for name, centre in (("young", 1.0), ("old", 3.0)):
        fit = fit_of(np.random.default_rng(2).normal(centre, 0.1, (4, 100, 2)))
        fits[name] = fit.assign(log_m=fit["log_m"].expand_dims(response=["S1", "S2"], axis=-1))
    asked = {"var": "log_m", "over": "fit", "within": ["model", "response"], "independent": True}
    found = {notice.code: notice.cells for notice in notices(contrast(fits, **asked))}
    pairs = contrast(fits, **asked)["pair"].values.tolist()
    assert len(pairs) == 4
    assert list(found["type1-differs"]) == pairs


def test_pairs_that_differ_are_named_and_no_others():
    # The first is known too badly to differ from the second.
    dprime = np.random.default_rng(2).normal([1.5, 1.0, 6.0], [1.0, 0.1, 0.1], (4, 100, 3))
    (notice,) = notices(contrast(fit_of(dprime), var="log_m", over="model"))
    assert notice.cells == ("a − c", "b − c")


BEST = {x.name: x.best for x in results() if x.best}
RAISED = {x.name for x in results() if x.raised_by_chance}
DEBIASED = {x.name: x.debiased for x in results() if x.debiased}
# Bias of 250 trials, in standard errors, above which it decides who is best.
CLEAR_BIAS = 0.3


def calibrated_and_not(seed, trials=(250, 5000), too_sure=0.04):
    """A model whose confidence is right, with few answers, and one that is too sure, with many."""
    rng, parts = np.random.default_rng(seed), []
    for model, n, shift in zip(("calibrated", "too sure"), trials, (0, too_sure), strict=True):
        confidence = rng.uniform(0.55, 0.98, n)
        rows = {"model": model, "confidence": confidence}
        parts.append(pd.DataFrame({**rows, "correct": rng.uniform(size=n) < confidence - shift}))
    return pd.concat(parts, ignore_index=True)


def drawn(seed, **options):
    return resample_trials(calibrated_and_not(seed, **options), by="model", n=400, seed=seed)


def codes_of(result):
    return [notice.code for notice in hmetad.notices(result)]


@pytest.mark.parametrize(("name", "instead"), [("ece", "ece_debiased"), ("reliability", "reli")])
def test_what_has_a_debiased_twin_is_not_ranked_by(name, instead):
    with pytest.raises(hmetad.InputError, match=f"Take {instead}"):
        hmetad.rank(drawn(1, trials=(300, 300)), var=name, over="model")


@pytest.mark.parametrize("name", ["ece", "ece_debiased", "reliability", "resolution"])
def test_no_verdict_compares_what_chance_raises_over_unlike_numbers(name):
    differences = hmetad.contrast(drawn(1), var=name, over="model")
    assert "raised-by-chance" in codes_of(differences)
    (row,) = hmetad.decide(differences, rope=(-0.005, 0.005)).table().to_dict("records")
    assert (row["verdict"], row["withheld"]) == ("unreliable", "raised-by-chance")


def in_two_sets(first, second, *more):
    """Draws of measures of both models in two sets, of so many trials each, and of more rows."""
    parts = [calibrated_and_not(k, trials=n).assign(set=k) for k, n in ((1, first), (2, second))]
    return resample_trials(pd.concat([*parts, *more]), by=["model", "set"], n=400, seed=1)


def test_the_numbers_that_count_are_those_of_what_is_compared():
    """Sets of unlike sizes are pooled; in each of them both models answered as much."""
    asked = {"var": "resolution", "over": "model"}
    draws = in_two_sets((200, 200), (2000, 2000))
    for options in ({"within": "set"}, {"pool": "set"}):
        assert (hmetad.contrast(draws, **asked, **options)["withheld"] == "").all()
        assert (hmetad.rank(draws, **asked, **options)["withheld"] == "").all()
    again = calibrated_and_not(1, trials=(200, 200)).query("model == 'too sure'").assign(set=1)
    draws = in_two_sets((200, 200), (2000, 2000), again)
    of_sets = hmetad.contrast(draws, **asked, within="set")
    assert of_sets["withheld"].values.tolist() == ["raised-by-chance", ""]
    assert hmetad.rank(draws, **asked, pool="set")["withheld"].values[0] == "raised-by-chance"
    # In each set one model answered ten times as much; over both sets they are alike.
    draws = in_two_sets((200, 2000), (2000, 200))
    assert hmetad.contrast(draws, **asked, pool="set")["withheld"].values.tolist() == [""]
    assert (hmetad.rank(draws, **asked, pool="set")["withheld"] == "").all()


def rated(*sets):
    """Counts of one observer in each set, by number of ratings: (set, 2 or 6) each."""
    tables = [
        hmetad.simulate_counts(
            1.5,
            m_ratio=0.8,
            trials=2000,
            gaps=1.2 / (K - 1),
            ratings=K,
            coords={"set": [name], "model": [f"K = {K}"]},
            seed=1,
        ).reindex(rating=np.arange(1, 7), fill_value=0)
        for name, numbers in sets
        for K in numbers
    ]
    return xr.concat(tables, "cell")


def test_auroc2_of_other_numbers_of_ratings_has_no_verdict():
    draws = hmetad.resample(rated(("x", (2, 6)), ("y", (2, 6))), hmetad.measure, n=200, seed=1)
    for options in ({"within": "set"}, {"pool": "set"}):
        found = hmetad.contrast(draws, var="auroc2", over="model", **options)
        assert set(found["withheld"].values) == {"unequal-ratings"}
        assert hmetad.decide(found, rope=(-0.02, 0.02)).table()["verdict"].eq("unreliable").all()
        ranks = hmetad.rank(draws, var="auroc2", over="model", **options)
        assert set(ranks["withheld"].values) == {"unequal-ratings"}
        said = next(x for x in notices(found) if x.severity == "error")
        assert "auroc2" in said.message
    # Sets have the same ratings, and d′ does not depend on them.
    same = hmetad.contrast(draws, var="auroc2", over="set", within="model")
    other = hmetad.contrast(draws, var="dprime", over="model", within="set")
    assert {*same["withheld"].values, *other["withheld"].values} == {""}


def test_auroc2_of_separate_tables_with_other_numbers_of_ratings_has_no_verdict():
    draws = {
        name: hmetad.resample(rated(("x", [K])), hmetad.measures.auroc2, n=200, seed=K)
        for name, K in (("two", 2), ("six", 6), ("again", 6))
    }
    found = hmetad.contrast(draws, var="auroc2", over="fit", independent=True)
    codes = dict(zip(found["pair"].values.tolist(), found["withheld"].values.tolist(), strict=True))
    assert codes["six − again"] == ""
    assert codes["two − six"] == codes["two − again"] == "unequal-ratings"


def test_a_model_of_estimates_names_those_with_fewer_ratings():
    counts = rated(("x", (2, 6)), ("y", [6]))
    draws = hmetad.resample(counts, hmetad.measures.auroc2, n=200, seed=1)
    two = str(counts["cell"].values[0])
    for own, cells in ((draws, [(two,)]), (draws.isel(cell=[1, 2]), [])):
        found = read_estimates(own, "auroc2", None, "identity", ["model"]).found
        assert [one.cells for one in found if one.code == "unequal-ratings"] == cells


@pytest.mark.integration
@pytest.mark.parametrize("is_model", [True, False])
def test_conditions_of_a_model_of_estimates_with_other_numbers_of_ratings_have_no_verdict(is_model):
    """And those that differ in none, since all have the same sets of two ratings, have one."""
    places = [(model, name) for model in "ABC" for name in "wxyz"]
    coords = {"model": [x for x, _ in places], "set": [x for _, x in places]}
    counts = hmetad.simulate_counts([1.5] * 12, m_ratio=0.8, trials=2000, coords=coords, seed=1)
    has_two = [model == "B" if is_model else name in "wx" for model, name in places]
    two = counts.values[has_two]
    counts.values[has_two] = np.stack([two[..., :2].sum(-1), two[..., 2:].sum(-1)] * 2, axis=-1)
    counts.values[has_two, ..., 2:] = 0
    draws = hmetad.resample(counts, hmetad.measures.auroc2, n=200, seed=1)
    drawn = fit_estimates(draws, "auroc2 ~ 0 + model + (1 | set)", draws=200, seed=1)
    pairs = contrast(predict_estimates(drawn), var="auroc2", over="model")
    codes = hmetad.decide(pairs, rope=(-0.02, 0.02)).table().set_index("label")["withheld"]
    unlike = codes.str.contains("unequal-ratings").to_dict()
    assert unlike == {"A − B": is_model, "A − C": False, "B − C": is_model}
    of_sets = contrast(drawn, var="auroc2", over="set", within="model")
    assert of_sets.sel(pair="w − y | A")["withheld"].item().count("unequal") == (not is_model)


def test_the_page_of_other_numbers_of_ratings_calls_none_the_best():
    counts = rated(("x", (2, 6)))
    draws = hmetad.resample(counts, hmetad.measure, n=200, seed=1)
    page = hmetad.report.measures_report(counts, hmetad.measure(counts), draws=draws, over="model")
    assert "unequal numbers of ratings" in page.markdown()


@pytest.mark.integration
def test_auroc2_that_fits_predict_has_no_verdict_across_numbers_of_ratings():
    quiet = {"progressbar": False, "quiet": True, "draws": 300, "chains": 2, "random_seed": 1}
    counts = rated(("x", (2, 6)))
    fit = hmetad.fit(counts, **quiet)
    fits = {
        "two": hmetad.fit(counts[[0], ..., :2], **quiet),
        "six": hmetad.fit(counts[[1]], **quiet),
    }
    formula = {"log_m": "1 + model + (1 | set)", "dprime": "1", "c": "1", "log_gap": "1 + model"}
    group = hmetad.fit(rated(*((s, (2, 6)) for s in "abcd")), "group", formula=formula, **quiet)
    of_cells = predict_measures(group, "auroc2", group_terms=True)
    drawn = {name: predict_measures(x, "auroc2") for name, x in fits.items()}
    found = [
        hmetad.contrast(of_cells, var="auroc2", over="model", within="set"),
        hmetad.contrast(predict_measures(group, "auroc2"), var="auroc2", over="model"),
        hmetad.contrast(predict_measures(fit, "auroc2"), var="auroc2", over="model"),
        hmetad.contrast(drawn, var="auroc2", over="fit", independent=True),
    ]
    for one in found:
        assert all("unequal-ratings" in codes for codes in one["withheld"].values)
    same = hmetad.contrast(fits, var="log_m", over="fit", independent=True)
    assert (same["withheld"] == "").all()


def test_the_worse_of_two_is_not_called_best_for_having_more_answers():
    for seed in range(2):
        draws = drawn(seed)
        for name in (x for x in draws if x in BEST and x not in DEBIASED):
            ranks = hmetad.rank(draws, var=name, over="model")
            assert ranks["verdict"].sel(cell="too sure").item() != "best", name


def biases(measured, truth):
    """Bias of each measure in standard errors, of cells that are samples."""
    found = {}
    for name in measured:
        values = measured[name].to_numpy()
        is_number = measured[name].dims == ("cell",) and values.dtype.kind == "f"
        if is_number and not str(name).startswith(("cov", "bin")):
            found[str(name)] = float(
                (np.nanmean(values) - np.nanmean(truth[name])) / np.nanstd(values)
            )
    return found


def of_counts(trials, samples):
    coords = {"sample": [str(k) for k in range(samples)]}
    options = {"trials": trials, "coords": coords, "seed": 1}
    counts = hmetad.simulate_counts([1.5] * samples, 0.0, [0.8] * samples, **options)
    return hmetad.measure(counts, errors=False)


def of_trials(trials, samples):
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.55, 0.98, trials * samples)
    rows = {"sample": np.repeat(np.arange(samples), trials), "confidence": confidence}
    frame = pd.DataFrame({**rows, "correct": rng.uniform(size=len(confidence)) < confidence})
    found = measure_trials(frame, by="sample")
    return found.drop_vars([x for x in found if str(x).startswith("auroc2_")])


@pytest.mark.parametrize("measured", [of_counts, of_trials])
def test_the_table_names_the_measures_whose_bias_depends_on_trials(measured):
    """300 samples of 250 trials against as good as endless ones."""
    found = biases(measured(250, 300), measured(50_000, 10))
    raised = {name for name, bias in found.items() if abs(bias) > CLEAR_BIAS}
    assert raised == {name for name in found if name in RAISED}
