"""Pass rates corrected by labels: golden numbers, identities, designs of labels, referees."""

import numpy as np
import pandas as pd
import pytest
from judged_trials import nq301, outputs, partly_labelled

import hmetad
from hmetad import InputError, contrast, count_judged, decide, pass_rate, rank
from hmetad.measures import judge
from hmetad.measures.pass_rates import mixture_rates

COLUMNS = {"by": (), "label": "human", "verdict": "bem"}
MANY = {"n": 20_000, "seed": 1}
# Of the mean of 20,000 draws with an SD of .024.
ERROR = 4 * 0.024 / np.sqrt(20_000)


def subset(shared, **options):
    """298 of 1490 answers labelled at random, rows without their questions."""
    trials = partly_labelled(nq301(shared)).drop(columns="item")
    return count_judged(trials, **COLUMNS | options)


def codes(result):
    return [notice.code for notice in hmetad.notices(result)]


def test_draws_have_the_exact_moments_of_the_post_stratified_posterior(shared):
    draws = pass_rate(subset(shared), labels="random", **MANY)
    assert draws.dims == ("chain", "draw", "cell")
    assert draws.mean().item() == pytest.approx(0.550225, abs=ERROR)
    assert draws.std().item() == pytest.approx(0.024020, rel=0.02)
    # Post-stratified, regression and joint maximum likelihood are one number: .550747.
    assert draws.mean().item() == pytest.approx(0.550747, abs=0.001)


def test_it_is_ppi_plus_plus_where_a_verdict_is_all_there_is(shared):
    """PPI++ written out: λ .492124, estimate .550748, error .024126; ppi_py 0.2.3 has .550747."""
    trials = partly_labelled(nq301(shared))
    known = trials["human"].notna()
    z, v, u = trials["human"][known], trials["bem"][known], trials["bem"][~known]
    lam = np.cov(z, v)[0, 1] / ((1 + len(z) / len(u)) * trials["bem"].var())
    estimate = lam * u.mean() + (z - lam * v).mean()
    error = np.sqrt(lam**2 * u.var() / len(u) + (z - lam * v).var() / len(z))
    assert (lam, estimate, error) == pytest.approx((0.492124, 0.550748, 0.024126), abs=1e-6)
    draws = pass_rate(subset(shared), labels="random", **MANY)
    assert draws.mean().item() == pytest.approx(estimate, abs=0.001)
    assert draws.std().item() == pytest.approx(error, rel=0.02)


def test_questions_with_several_answers_widen_it(shared):
    trials = partly_labelled(nq301(shared))
    table = count_judged(trials, **COLUMNS | {"by": "item"})
    draws = pass_rate(table, labels="random", cluster="item", n=8000, seed=1)
    # By influence values: .024097 of rows, .027641 of questions.
    assert draws.std().item() == pytest.approx(0.027641, rel=0.04)
    assert draws.mean().item() == pytest.approx(0.550225, abs=0.002)
    alone = count_judged(trials.assign(item=range(len(trials))), **COLUMNS | {"by": "item"})
    by_row = pass_rate(alone, labels="random", cluster="item", n=8000, seed=1)
    assert by_row.std().item() == pytest.approx(0.024097, rel=0.04)


def test_labels_chosen_by_the_verdict_leave_it_unbiased(shared):
    """All fails and a tenth of the passes are labelled: labels alone say .31, Rogan–Gladen 2.1."""
    trials = nq301(shared).drop(columns="item")
    rng = np.random.default_rng(0)
    chosen = (trials["bem"] == 0) | (rng.random(len(trials)) < 0.1)
    p = np.where(trials["bem"] == 0, 1.0, 0.1)
    some = trials.assign(human=trials["human"].where(chosen), p=p)
    table = count_judged(some, **COLUMNS, label_probability="p")
    found = judge(table)
    assert found["base_rate"].item() == pytest.approx(0.3125, abs=0.02)
    assert abs(found["rogan_gladen"].item()) > 1
    for design in ("by_rating", "known"):
        draws = pass_rate(table, labels=design, n=4000, seed=1)
        assert draws.mean().item() == pytest.approx(0.547651, abs=3 * draws.std().item())
        assert draws.std().item() < 0.025
    assert "labels-by-verdict" in codes(pass_rate(table, labels="random", seed=1))
    assert "labels-by-verdict" not in codes(pass_rate(table, labels="by_rating", seed=1))


def test_known_probabilities_of_one_size_are_random_labels(shared):
    trials = partly_labelled(nq301(shared)).drop(columns="item").assign(p=0.2)
    table = count_judged(trials, **COLUMNS, label_probability="p")
    one, other = (pass_rate(table, labels=x, **MANY) for x in ("random", "known"))
    assert one.mean().item() == pytest.approx(other.mean().item(), abs=2 * ERROR)
    assert one.std().item() == pytest.approx(other.std().item(), rel=0.03)


def test_ratings_narrow_it_and_a_useless_judge_leaves_the_interval_of_labels(shared):
    verdict = pass_rate(subset(shared), labels="random", **MANY).std().item()
    rated = subset(shared, score="bem_score")
    assert pass_rate(rated, labels="random", **MANY).std().item() < verdict
    trials = partly_labelled(nq301(shared)).drop(columns="item")
    coin = trials.assign(bem=np.random.default_rng(2).integers(0, 2, len(trials)))
    draws = pass_rate(count_judged(coin, **COLUMNS), labels="random", **MANY)
    assert draws.std().item() == pytest.approx(0.028832, rel=0.03)


def test_a_perfect_judge_leaves_the_error_of_its_outputs(shared):
    trials = nq301(shared).drop(columns="item")
    perfect = trials.assign(bem=trials["human"])
    table = count_judged(partly_labelled(perfect), **COLUMNS)
    draws = pass_rate(table, labels="random", **MANY)
    exact = np.sqrt(0.547651 * (1 - 0.547651) / 1490)
    # What 298 labels leave of doubt that it is perfect.
    assert exact < draws.std().item() < 1.1 * exact


def test_of_a_pool_that_is_all_labelled_nothing_is_left_to_learn(shared):
    table = count_judged(nq301(shared).drop(columns="item"), **COLUMNS)
    draws = pass_rate(table, labels="random", target="pool", seed=1)
    assert draws.std().item() == 0
    assert draws.mean().item() == pytest.approx(0.547651, abs=1e-6)


def test_the_population_adds_the_error_of_a_sample_of_outputs(shared):
    table = subset(shared)
    pool = pass_rate(table, labels="random", target="pool", **MANY).var().item()
    population = pass_rate(table, labels="random", **MANY).var().item()
    assert population == pytest.approx(pool + 0.5476 * 0.4524 / 1490, rel=0.04)


def test_swapping_good_and_bad_turns_the_rate(shared):
    one, other = (pass_rate(subset(shared, good=good), labels="random", **MANY) for good in (1, 0))
    assert one.mean().item() == pytest.approx(1 - other.mean().item(), abs=2 * ERROR)


def balanced(trials, number, rng):
    """Trials of which as many good as bad ones keep their label."""
    sides = [np.flatnonzero(trials["human"] == side) for side in (0, 1)]
    kept = np.concatenate([rng.choice(side, number, replace=False) for side in sides])
    return trials.assign(human=trials["human"].where(np.isin(np.arange(len(trials)), kept)))


def test_labels_balanced_by_class_need_what_can_be_carried_over(shared):
    trials = nq301(shared).drop(columns="item")
    rare = trials[(trials["human"] == 1) | (np.arange(len(trials)) % 5 == 0)].reset_index()
    table = count_judged(balanced(rare, 60, np.random.default_rng(3)), **COLUMNS)
    # The pool is what has no label; its truth is known here.
    known = table.sum(["response", "rating"]).values[0]
    truth = (rare["human"].sum() - known[1]) / (len(rare) - known.sum())
    wrong = pass_rate(table, labels="random", seed=1)
    right = pass_rate(table, labels="elsewhere", seed=1)
    assert abs(wrong.mean() - truth) > 4 * wrong.std()
    assert abs(right.mean() - truth) < 2 * right.std()
    assert judge(table)["rogan_gladen"].item() == pytest.approx(right.median().item(), abs=0.02)


def test_of_verdicts_alone_the_likeliest_rate_is_that_of_rogan_and_gladen():
    hits, false_alarms, q = np.array([0.9, 0.7]), np.array([0.2, 0.4]), np.array([0.55, 0.5])
    curves = np.stack([1 - false_alarms, false_alarms, 1 - hits, hits], axis=1).reshape(2, 2, 2)
    found = mixture_rates(np.stack([1 - q, q], axis=1), curves)
    assert found == pytest.approx((q - false_alarms) / (hits - false_alarms), abs=1e-9)


def test_curves_of_other_models_are_carried_over_with_how_much_they_differ(shared):
    """String match on five models: H and F of four applied to the fifth."""
    trials = pd.read_csv(shared / "data" / "xstest" / "xstest.csv")
    full = "1_full_compliance"
    trials = trials.assign(human=trials["final_label"] == full, v=trials["strmatch_label"] == full)
    trials = trials[["model", "item", "human", "v"]]
    is_covered, widths = [], []
    for model in trials["model"].unique():
        is_own = trials["model"] == model
        seen = trials.assign(human=trials["human"].astype(object).where(~is_own))
        table = count_judged(seen, by=["model", "item"], label="human", verdict="v")
        draws = pass_rate(table, labels="elsewhere", cluster="item", n=1000, seed=1)
        told = {one.code: one for one in hmetad.notices(draws)}["carried-over"]
        assert told.cells == (model,)
        assert "4 other cells" in told.message
        low, high = draws.sel(cell=model).quantile([0.025, 0.975]).values
        is_covered.append(low <= trials["human"][is_own].mean() <= high)
        widths.append(high - low)
    # The judge passes .79 of the bad outputs of one model, and .06 to .32 of the others'.
    assert sum(is_covered) == 4
    assert min(widths) > 0.05


def test_two_systems_by_one_judge_are_compared_by_item(shared):
    trials = pd.read_csv(shared / "data" / "frank" / "frank.csv")
    trials = trials[trials["model"].isin(["bart", "bert_sum"]) & (trials["dataset"] == "cnndm")]
    trials = trials.assign(v=trials["BertScore P Art"] > 0.92)
    labelled = np.random.default_rng(1).random(len(trials)) < 0.5
    trials = trials.assign(human=trials["human"].where(labelled))[["item", "model", "human", "v"]]
    table = count_judged(trials, by=["model", "item"], label="human", verdict="v")
    draws = pass_rate(table, labels="random", cluster="item", seed=1)
    pair = contrast(draws, over="model", against="bert_sum")
    sides = draws.var(["chain", "draw"]).sum().item()
    # Summaries of one article are alike: the difference varies less than the rates.
    assert pair.var().item() < sides
    decided = decide(pair, rope=(-0.02, 0.02))
    assert decided.table()["verdict"].isin(["different", "negligible", "inconclusive"]).all()
    assert rank(draws, over="model")["p_best"].sum().item() == pytest.approx(1)


def test_the_same_seed_gives_the_same_draws(shared):
    table = subset(shared)
    one, other = (pass_rate(table, labels="random", seed=7) for _ in range(2))
    assert one.identical(other)


BAD = {
    "design": ({}, {"labels": "chosen"}, "by_rating"),
    "no labels of a cell": ({"domain": list("aaaaaabb")}, {"labels": "random"}, "'b'"),
    "no labels of a rating": (
        {"human": [1, 1, 0, 0, 0, 1, None, None], "verdict": [1, 1, 1, 1, 1, 1, 1, 0]},
        {"labels": "by_rating"},
        "rating",
    ),
    "useless": ({"verdict": [0, 0, 0, 1, 1, 1, 1, 0]}, {"labels": "elsewhere"}, "false-alarm"),
    "repeated": ({"item": [1, 1, 2, 2, 3, 3, 4, 4]}, {"labels": "random"}, "cluster"),
    "no probabilities": ({}, {"labels": "known"}, "label_probability"),
    "no pool": ({"human": [1, 1, 1, 0, 0, 0, 1, 0]}, {"labels": "elsewhere"}, "without a label"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line(name):
    columns, options, text = BAD[name]
    by = "domain" if "domain" in columns else ()
    table = count_judged(outputs(**columns), by=by, label="human", verdict="verdict")
    with pytest.raises(InputError) as caught:
        pass_rate(table, **options)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_cells_of_items_need_to_be_summed():
    table = count_judged(outputs(item=range(8)), by="item", label="human", verdict="verdict")
    with pytest.raises(InputError, match="cluster"):
        pass_rate(table, labels="random")
