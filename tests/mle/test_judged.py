"""What tells a judge, and what follows from it: golden numbers, identities, referees."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from judged_trials import nq301, outputs, partly_labelled
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import cohen_kappa_score, roc_auc_score

import hmetad
from hmetad import InputError, count_judged, resample
from hmetad.counts.ratings import bin_confidence
from hmetad.measures import judge, operating_point

COLUMNS = {"by": (), "label": "human", "verdict": "bem"}


def judged_nq(shared, **options):
    trials = nq301(shared).drop(columns="item")
    return count_judged(trials, **COLUMNS | options)


def value(found, name):
    return found[name].item()


def test_the_judge_of_nq301(shared):
    found = judge(judged_nq(shared))
    expected = {"hit_rate": 0.734069, "false_alarm_rate": 0.106825, "dprime": 1.868757}
    expected |= {"c": 0.309213, "dprime_se": 0.079988, "base_rate": 0.547651}
    expected |= {"rogan_gladen": 0.547651, "r2_verdict": 0.393746, "r2_ratings": 0.393746}
    for name, number in expected.items():
        assert value(found, name) == pytest.approx(number, abs=1e-6), name
    trials = nq301(shared)
    squared = np.corrcoef(trials["human"], trials["bem"])[0, 1] ** 2
    assert value(found, "r2_verdict") == pytest.approx(squared, rel=1e-12)
    kappa = cohen_kappa_score(trials["human"], trials["bem"])
    assert value(found, "kappa") == pytest.approx(kappa, rel=1e-12)
    assert np.isnan(found["a_z"])


def test_the_variance_of_verdicts_is_within_classes_and_between_them(shared):
    found = judge(judged_nq(shared))
    names = ("verdict_rate", "base_rate", "hit_rate", "false_alarm_rate")
    q, p, H, F = (value(found, name) for name in names)
    parts = p * H * (1 - H) + (1 - p) * F * (1 - F) + (H - F) ** 2 * p * (1 - p)
    assert q * (1 - q) == pytest.approx(0.247533, abs=1e-6)
    assert parts == pytest.approx(q * (1 - q), rel=1e-12)


def test_resampled_judges_carry_no_error_about_m(shared):
    table = judged_nq(shared, score="bem_score")
    of_judge = resample(table, lambda one: judge(one)[["dprime"]], n=20, seed=1)
    of_m = resample(table, lambda one: hmetad.fit_mle(one)[["m_ratio"]], n=2, seed=1)
    carried = [[one.code for one in hmetad.notices(x)] for x in (table, of_m, of_judge)]
    assert ["verdict-is-score-cut" in codes for codes in carried] == [True, True, False]


def test_the_area_of_the_ratings_is_that_of_scikit_learn(shared):
    trials = nq301(shared)
    found = judge(judged_nq(shared, score="bem_score"))
    v = trials["bem"]
    surer = bin_confidence(trials["bem_score"].where(v == 1, -trials["bem_score"]), 4, within=v)
    rating = np.where(v == 1, surer, 1 - surer)
    area = roc_auc_score(trials["human"], rating)
    assert value(found, "auroc") == pytest.approx(area, rel=1e-12)
    # Eight ratings keep all but .003 of the area of the score itself.
    exact = roc_auc_score(trials["human"], trials["bem_score"])
    assert value(found, "auroc") == pytest.approx(exact, abs=0.003)
    curve = hmetad.uvsdt(judged_nq(shared, score="bem_score"))
    for name in ("s", "d_a", "a_z"):
        assert value(found, name) == pytest.approx(value(curve, name), rel=1e-12)


def test_errors_are_those_of_resampled_outputs(shared):
    table = judged_nq(shared, score="bem_score")
    found, draws = judge(table), resample(table, judge, n=300, seed=1)
    for name in ("dprime", "auroc", "s", "a_z", "r2_ratings", "r2_gain", "kappa"):
        # The spread of 300 replicates is known within 4 %.
        assert value(found, f"{name}_se") == pytest.approx(draws[name].std().item(), rel=0.13), name


def test_a_judge_that_fails_all_outputs_explains_nothing_and_has_no_gain():
    rng = np.random.default_rng(1)
    trials = pd.DataFrame({"human": [1] * 16 + [0] * 233, "score": rng.uniform(size=249)})
    columns = {"label": "human", "verdict": None, "score": "score", "threshold": 2}
    found = judge(count_judged(trials, by=(), **columns))
    assert value(found, "r2_verdict") == 0
    assert value(found, "r2_ratings") > 0
    assert np.isnan(value(found, "r2_gain"))


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [([1, 1, 1, 0], "undefined-dprime"), ([0, 1, 0, 1, 1, 0], "dprime-sign")],
)
def test_notices_on_dprime_are_about_outputs_and_name_options_of_judges(verdicts, code):
    half = len(verdicts) // 2
    trials = pd.DataFrame({"human": [1] * half + [0] * half, "verdict": verdicts})
    found = judge(count_judged(trials, by=(), label="human", verdict="verdict"))
    (said,) = [one for one in hmetad.notices(found) if one.code == code]
    assert "outputs" in said.message
    for option in ("--response-labels", "hmetad fit"):
        assert option not in said.shell_step


@pytest.mark.parametrize("cluster", [None, "item"])
def test_few_labels_of_a_class_are_noticed_with_clusters_too(cluster):
    trials = pd.DataFrame({"human": [1] * 30 + [0] * 10 + [None] * 40, "verdict": [1, 0] * 40})
    columns = {"by": [] if cluster is None else ["item"], "label": "human", "verdict": "verdict"}
    judged = count_judged(trials.assign(item=range(80)) if cluster else trials, **columns)
    rates = hmetad.pass_rate(judged, labels="random", cluster=cluster, n=50, seed=1)
    for result in (judge(judged, cluster=cluster), rates):
        (said,) = [one for one in hmetad.notices(result) if one.code == "few-labels"]
        assert said.cells == tuple(result["cell"].values)


def expected_table(d, base_rate, sd=1.0, thirds=3):
    """Counts of a judge with normal evidence, cut at 0 and into equal parts of each verdict."""
    good, bad = norm(d / 2, sd), norm(-d / 2, 1)

    def passed(x, share):
        return base_rate * good.cdf(x) + (1 - base_rate) * bad.cdf(x) - share

    fails = passed(0.0, 0)
    parts = np.arange(1, thirds) / thirds
    shares = [*(fails * parts), fails, *(fails + (1 - fails) * parts)]
    cuts = [-np.inf, *(brentq(passed, -12, 12, (share,)) for share in shares), np.inf]
    rates = [(1 - base_rate) * np.diff(bad.cdf(cuts)), base_rate * np.diff(good.cdf(cuts))]
    table = hmetad.from_nr(*(np.rint(1e12 * x).astype(int) for x in rates))
    return table.assign_coords(pool=(("cell", "response", "rating"), 0 * table.values[:, 0]))


@pytest.mark.parametrize(
    ("base_rate", "verdict", "ratings"), [(0.5, 0.466065, 0.537482), (0.9, 0.239104, 0.380747)]
)
def test_what_normal_evidence_explains(base_rate, verdict, ratings):
    found = judge(expected_table(2.0, base_rate))
    assert value(found, "r2_verdict") == pytest.approx(verdict, abs=1e-6)
    assert value(found, "r2_ratings") == pytest.approx(ratings, abs=1e-6)
    assert value(found, "s") == pytest.approx(1, abs=1e-6)


def test_area_and_d_a_of_unequal_variances():
    found = judge(expected_table(1.5, 0.5, sd=1.3))
    assert value(found, "a_z") == pytest.approx(0.819790, abs=1e-6)
    assert value(found, "d_a") == pytest.approx(1.293392, abs=1e-6)
    assert value(found, "s") == pytest.approx(1 / 1.3, abs=1e-6)


def test_ratings_never_explain_less_than_the_verdict(shared):
    explained = [
        value(judge(judged_nq(shared, score="bem_score", ratings=K)), "r2_ratings")
        for K in (1, 2, 4, 8)
    ]
    assert explained == sorted(explained)
    assert explained[0] == pytest.approx(0.393746, abs=1e-6)
    found = judge(judged_nq(shared, score="bem_score"))
    gain = value(found, "r2_ratings") / value(found, "r2_verdict")
    assert value(found, "r2_gain") == pytest.approx(gain)


def test_a_monotone_change_of_the_score_changes_nothing(shared):
    trials = nq301(shared).drop(columns="item")
    squeezed = trials.assign(bem_score=np.log(trials["bem_score"]))
    one, other = (judge(count_judged(x, **COLUMNS, score="bem_score")) for x in (trials, squeezed))
    assert one.equals(other)


def test_errors_by_clusters_are_those_of_resampled_questions(shared):
    trials = nq301(shared)
    long = pd.concat([trials.assign(judge=name, v=trials[name]) for name in ("gpt4", "davinci003")])
    table = count_judged(long, by=["judge", "item"], label="human", verdict="v")
    found = judge(table, cluster="item")
    draws = resample(table, judge, cluster="item", n=400, seed=1)["dprime"]
    # The error of 400 replicates is known within 4 %.
    assert found["dprime_se"].values == pytest.approx(draws.std("draw").values, rel=0.15)
    pair = hmetad.contrast(draws, over="judge", against="davinci003")
    # By the jackknife over 301 questions: .084 ± .091.
    assert pair.mean().item() == pytest.approx(0.084355, abs=0.02)
    assert pair.std().item() == pytest.approx(0.091402, rel=0.12)


def test_twice_the_items_with_their_cluster_have_the_same_errors_by_cluster(shared):
    trials = nq301(shared)
    both = pd.concat([trials, trials.assign(answer=trials["answer"] + 1000)])
    one, two = (
        judge(count_judged(x, **COLUMNS | {"by": "item"}), cluster="item") for x in (trials, both)
    )
    assert value(one, "dprime_se") == pytest.approx(value(two, "dprime_se"), rel=1e-3)


def test_labels_from_a_noisy_annotator_understate_dprime():
    # H .9 and F .1 against labels that are right nine times in ten, half of them good.
    seen = {(1, 1): 820, (1, 0): 180, (0, 1): 180, (0, 0): 820}
    rows = [(z, v) for (z, v), n in seen.items() for _ in range(n)]
    found = judge(count_judged(pd.DataFrame(rows, columns=["human", "bem"]), **COLUMNS))
    assert value(found, "dprime") == pytest.approx(1.830730, abs=1e-6)
    assert norm.ppf(0.9) - norm.ppf(0.1) == pytest.approx(2.5631, abs=1e-4)


def test_rogan_gladen_takes_the_rate_of_the_pool(shared):
    trials = partly_labelled(nq301(shared)).drop(columns="item")
    found = judge(count_judged(trials, **COLUMNS))
    assert value(found, "rogan_gladen") == pytest.approx(0.551703, abs=1e-6)
    assert value(found, "base_rate") == pytest.approx(0.550336, abs=1e-6)
    assert value(found, "verdict_rate") == pytest.approx(trials["bem"].mean())
    # Golden numbers at the rates of all 1490: .028832 of labels, .042518 of Rogan–Gladen.
    assert value(found, "base_rate_se") == pytest.approx(0.028832, rel=0.02)
    assert value(found, "rogan_gladen_se") == pytest.approx(0.042518, rel=0.05)
    assert "rogan-gladen-worse" in [one.code for one in hmetad.notices(found)]


def estimates(d, s, base_rate):
    """What `judge` has of a judge with this curve whose verdict is a cut in the middle."""
    d_a = d * np.sqrt(2 / (1 + 1 / s**2))
    numbers = {"dprime": d, "s": s, "d_a": d_a, "base_rate": base_rate}
    numbers |= {"hit_rate": norm.cdf(d / 2), "false_alarm_rate": norm.cdf(-d / 2)}
    return xr.Dataset({name: ("cell", [x]) for name, x in numbers.items()}, {"cell": ["a"]})


def test_operating_point_of_equal_variances():
    found = operating_point(estimates(2.0, 1.0, 0.9), pass_bad=5, fail_good=1)
    assert value(found, "cut") == pytest.approx(-0.293893, abs=1e-6)
    assert value(found, "expected_cost") == pytest.approx(0.208096, abs=1e-6)
    assert value(found, "pass_above") == pytest.approx(5 / 6)
    assert np.isinf(found["other_cut"])
    # Without ratings there is no s: equal variances.
    verdicts = estimates(2.0, 1.0, 0.9).assign(s=("cell", [np.nan]), d_a=("cell", [np.nan]))
    assert operating_point(verdicts, pass_bad=5, fail_good=1).equals(found)


def test_operating_point_of_unequal_variances_has_two_crossings():
    found = operating_point(estimates(1.5, 1 / 1.3, 0.5), pass_bad=1, fail_good=1)
    # The golden crossings count from the mean of the bad ones.
    assert value(found, "cut") + 0.75 == pytest.approx(0.871078, abs=1e-6)
    assert value(found, "other_cut") + 0.75 == pytest.approx(-5.218904, abs=1e-6)
    assert not hmetad.notices(found)
    wide = operating_point(estimates(0.5, 1 / 2.5, 0.5), pass_bad=1, fail_good=1)
    assert [one.code for one in hmetad.notices(wide)] == ["second-crossing"]


def test_the_operating_point_is_the_cheapest_cut():
    found = operating_point(estimates(1.5, 1 / 1.3, 0.6), pass_bad=3, fail_good=1)
    cuts = np.linspace(-3, 3, 6001)
    cost = 0.6 * norm.cdf((cuts - 0.75) / 1.3) + 3 * 0.4 * norm.sf(cuts + 0.75)
    assert value(found, "cut") == pytest.approx(cuts[cost.argmin()], abs=1e-3)
    assert value(found, "expected_cost") == pytest.approx(cost.min(), abs=1e-6)


def test_a_cell_without_labels_has_the_rate_of_the_judge_alone():
    trials = pd.concat([outputs(model="a"), outputs(model="b", human=None)])
    table = count_judged(trials, by="model", label="human", verdict="verdict", score="score")
    found = judge(table).sel(cell="b")
    assert (value(found, "verdict_rate"), value(found, "pooled")) == (0.5, 8)
    assert value(found, "verdict_rate_se") == pytest.approx(np.sqrt(0.25 / 8), rel=1e-3)
    # A correction makes no rates of outputs without labels.
    corrected = judge(table, correction="loglinear").sel(cell="b")
    for name in ("dprime", "c", "a_z", "s", "auroc", "base_rate", "kappa"):
        assert np.isnan([value(found, name), value(corrected, name)]).all(), name


def test_a_correction_defines_dprime_of_a_judge_that_passes_all_good_outputs():
    trials = outputs(verdict=[1, 1, 1, 0, 0, 1, 1, 0])
    table = count_judged(trials, by=(), label="human", verdict="verdict")
    bare, corrected = (judge(table, correction=x) for x in ("none", "loglinear"))
    assert "undefined-dprime" in [one.code for one in hmetad.notices(bare)]
    # A warning on M has no place here.
    assert "ceiling" not in [one.code for one in hmetad.notices(bare)]
    expected = hmetad.sdt(table, correction="loglinear")
    assert value(corrected, "dprime") == value(expected, "dprime")
    assert value(corrected, "dprime_se") > 0
    for name in ("hit_rate", "false_alarm_rate", "rogan_gladen"):
        assert value(corrected, name) == value(bare, name)


def test_a_judge_at_chance_has_no_operating_point():
    found = operating_point(estimates(0.0, 1.0, 0.5), pass_bad=1, fail_good=1)
    assert np.isnan(found["cut"]).all()
    assert value(found, "current_cost") == pytest.approx(0.5)


def test_cells_of_items_and_repeated_items_need_a_cluster(shared):
    trials = nq301(shared)
    for by in ("item", ()):
        with pytest.raises(InputError, match="cluster='item'"):
            judge(count_judged(trials, **COLUMNS | {"by": by}))


def test_what_is_no_table_of_judged_outputs_is_refused():
    with pytest.raises(InputError, match="count_judged"):
        judge(hmetad.from_nr([1, 2], [3, 4]))


def test_ties_of_pairs_are_the_middle_rating_and_c_the_bias_for_a_position():
    """The label is whether the first of two is better: one of six errors is for the second."""
    trials = outputs(score=[1, 0, -1, -1, 0, 1, 1, 0])
    table = count_judged(trials, by=(), label="human", verdict=None, score="score", threshold=0)
    assert table.sel(cell="all", response="S2").sum("stimulus").values.tolist() == [2, 2]
    assert value(judge(table), "c") == pytest.approx(-norm.ppf(2 / 3))
