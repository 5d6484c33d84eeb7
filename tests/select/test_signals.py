"""Signals of the same answers are compared with the same items, by AUROC2 and by M."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import softmax
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from hmetad import contrast, notices
from hmetad.base.errors import InputError
from hmetad.logs import signals
from hmetad.select import compare_signals, signal_differences

NAMES = ["top_probability", "lead", "minus_entropy"]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(81)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def answers(items=300, d=1.5, options=4, seed=1, models=("a", "b")):
    """Questions of so many options, answered by the largest evidence, and its probabilities."""
    rng = np.random.default_rng(seed)
    right, frames = rng.integers(0, options, items), []
    for model in models:
        evidence = rng.normal(size=(items, options))
        evidence[np.arange(items), right] += d
        two = np.sort(evidence, axis=1)[:, -2:]
        own = {"model": model, "item": np.arange(items), "margin": two[:, 1] - two[:, 0]}
        own["option_probabilities"] = softmax(d * evidence, axis=1).tolist()
        frames.append(pd.DataFrame(own).assign(correct=evidence.argmax(axis=1) == right))
    return pd.concat(frames, ignore_index=True)


def exceeds(y, d, m):
    """Probabilities of a right and of a wrong answer with a margin above y."""
    right = WEIGHTS * norm.cdf(NODES + d - y) ** (m - 1)
    wrong = (m - 1) * WEIGHTS * norm.cdf(NODES - y - d) * norm.cdf(NODES - y) ** (m - 2)
    return np.array([wrong.sum(), right.sum()])


def m_by_scipy(counts, m):
    """M of a table (wrong or right, rating), by quadrature and a general optimiser."""
    accuracy = counts[1].sum() / counts.sum()
    d = brentq(lambda d: exceeds(0, d, m)[1] - accuracy, -3, 9)

    def loss(free):
        cuts = np.cumsum(np.exp(free[1:]))
        above = np.array([exceeds(y, free[0] * d, m) for y in (0, *cuts)] + [np.zeros(2)])
        shares = (above[:-1] - above[1:]).T / above[0][:, None]
        return -(counts * np.log(shares)).sum()

    tried = minimize(
        loss,
        [0.9, *np.log([0.5] * (counts.shape[1] - 1))],
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 20_000, "maxfev": 20_000},
    )
    assert tried.success
    return tried.x[0]


def test_auroc2_is_that_of_scikit_learn_and_m_that_of_scipy():
    trials = signals(answers())
    found, _ = compare_signals(trials, by="model", n=2, seed=1)
    assert found.sizes["cell"] == 6
    for model, own in trials.groupby("model"):
        for name in NAMES:
            cell = found.sel(cell=f"{model} | {name}", summary="estimate")
            assert cell["auroc2"] == pytest.approx(roc_auc_score(own["correct"], own[name]))
            rating = pd.qcut(own[name].rank(method="first"), 4, labels=False)
            table = np.zeros((2, 4))
            np.add.at(table, (own["correct"].astype(int), rating), 1)
            assert cell["m_ratio"] == pytest.approx(m_by_scipy(table, 4), abs=2e-4)
            assert cell["accuracy"] == own["correct"].mean()


@pytest.mark.integration
def test_signals_are_what_simulations_of_the_model_say():
    """M of four options where confidence follows the margin, the posterior, or its entropy."""
    trials = signals(answers(items=150_000, d=1.5, models=("a",), seed=5))
    found, _ = compare_signals(trials, signals=["margin", *NAMES], n=2, seed=1)
    expected = {"margin": 1.00, "top_probability": 1.025, "lead": 1.016, "minus_entropy": 0.99}
    for name, value in expected.items():
        cell = found.sel(cell=name, summary="estimate")
        # Three standard errors of 150,000 trials; those of the expected are a third of them.
        assert cell["m_ratio"] == pytest.approx(value, abs=0.03)
    # The order of the best two signals and of the worst is that of the simulations.
    m = found["m_ratio"].sel(summary="estimate")
    assert m.sel(cell="top_probability") > m.sel(cell="lead") > m.sel(cell="minus_entropy")


def test_a_signal_in_other_units_has_the_same_draws():
    trials = signals(answers(items=120)).assign(other=lambda x: 10 + x["lead"] ** 3)
    found, draws = compare_signals(trials, signals=["lead", "other"], by="model", n=40, seed=2)
    by_signal = draws[["auroc2", "m_ratio"]].to_dataframe().groupby("signal", observed=True)
    first, second = (
        part.to_numpy(dtype=float, na_value=np.nan) for _, part in by_signal[["auroc2", "m_ratio"]]
    )
    assert first == pytest.approx(second, abs=1e-6)
    differences = signal_differences(found, draws)
    assert differences["model"].tolist() == ["a", "b"]
    assert differences["auroc2"].tolist() == [0, 0]
    assert differences["auroc2_lower"].tolist() == differences["auroc2_upper"].tolist() == [0, 0]


def delong(correct, first, second):
    """Standard error of the difference of two areas of the same trials (DeLong et al. 1988)."""
    placed = []
    for one in (np.asarray(first), np.asarray(second)):
        above = one[correct][:, None] - one[~correct]
        share = (above > 0) + (above == 0) / 2
        placed.append((share.mean(axis=1), share.mean(axis=0)))
    right, wrong = (placed[0][k] - placed[1][k] for k in (0, 1))
    return np.sqrt(right.var(ddof=1) / len(right) + wrong.var(ddof=1) / len(wrong))


def test_differences_have_the_error_of_paired_areas():
    trials = signals(answers(items=800, models=("a",)))
    found, draws = compare_signals(trials, options=None, n=2000, seed=3)
    assert "m_ratio" not in found
    row = signal_differences(found, draws, ci_prob=0.9).iloc[1]
    assert (row["left"], row["right"]) == ("top_probability", "minus_entropy")
    correct = trials["correct"].to_numpy()
    error = delong(correct, trials["top_probability"], trials["minus_entropy"])
    # 2,000 draws: 1.6 % for a standard deviation, 3 % for a width of 90 %.
    width = (row["auroc2_upper"] - row["auroc2_lower"]) / (2 * norm.ppf(0.95))
    assert width == pytest.approx(error, rel=0.1)
    apart = np.hypot(*(draws["auroc2"].sel(cell=x).std() for x in (row["left"], row["right"])))
    assert width < 0.5 * apart


def test_models_that_answered_the_same_items_are_paired_too():
    trials = signals(answers(items=200, models=("a",)))
    both = pd.concat([trials, trials.assign(model="b")], ignore_index=True)
    _, draws = compare_signals(both, by="model", options=None, n=50, seed=1)
    between = contrast(draws, var="auroc2", over="model", within="signal")
    assert (between == 0).all()
    assert draws.attrs["cluster"] == "item"


def test_answers_without_a_signal_are_left_out_for_all():
    trials = signals(answers(items=200, models=("a",)))
    trials.loc[:19, "lead"] = np.nan
    found, _ = compare_signals(trials, options=None, n=5, seed=1)
    assert found["trials"].values.tolist() == [180] * 3
    said = {one.code: one.message for one in notices(found)}
    assert said["rows-dropped"].startswith("20 of 200 rows have no signals")
    assert "not-probabilities" not in said
    own = trials.iloc[20:]
    area = found["auroc2"].sel(cell="top_probability", summary="estimate")
    assert area == pytest.approx(roc_auc_score(own["correct"], own["top_probability"]))


def test_numbers_of_options_tell_cells_apart_where_others_do_not():
    mixed = [answers(items=200, options=m, models=("a",), seed=m) for m in (3, 5)]
    trials = signals(pd.concat([x.assign(set=f"s{k}") for k, x in enumerate(mixed)]))
    one, _ = compare_signals(trials, by="model", n=2, seed=1)
    assert one["options"].values.tolist() == [3] * 3 + [5] * 3
    two, _ = compare_signals(trials, by=["model", "set"], n=2, seed=1)
    assert "options" not in two.coords
    three, _ = compare_signals(trials, by="options", n=2, seed=1)
    none, _ = compare_signals(trials, n=2, seed=1)
    for other in (two, three, none):
        assert one["m_ratio"].values[:, 0] == pytest.approx(other["m_ratio"].values[:, 0])
    assert none["options"].values.tolist() == three["options"].values.tolist() == [3] * 3 + [5] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signals": ["lead"]}, r"signals: .* two or more different columns.*got "),
        ({"signals": ["lead", "lead"]}, "two or more different"),
        ({"signals": ["lead", "margins"]}, r"signals: .*Did you mean 'margin'.*got 'margins'"),
        ({"options": "m"}, "options: .*got 'm'"),
        ({"correct": "hit"}, "correct: .*got 'hit'"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        compare_signals(signals(answers(items=20)), n=2, **options)
