"""Maximum-likelihood meta-d′ against stored fits, published numbers and an optimiser of SciPy."""

import numpy as np
import pandas as pd
import pytest
from real_data import hellmann2023_counts
from scipy.optimize import minimize

import hmetad
from hmetad.base.notice import notices
from hmetad.counts.counting import count_trials
from hmetad.counts.vectors import from_nr
from hmetad.likelihood.families.meta_d import log_conditional_probabilities
from hmetad.measures.sdt import sdt
from hmetad.mle.meta_d import fit_mle
from hmetad.simulate.simulate import simulate_counts

A = from_nr([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])
B = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
SPARSE = from_nr([60, 0, 20, 9, 3, 2, 0, 0], [2, 0, 3, 10, 30, 25, 0, 0])


def codes(fitted):
    return {notice.code for notice in notices(fitted)}


@pytest.mark.parametrize(
    ("counts", "options", "expected"),
    [
        (A, {"correction": "cell"}, {"dprime": 1.534994, "meta_d": 1.633760, "m_ratio": 1.064343}),
        (A, {"correction": "cell"}, {"loglik": -526.331850}),
        (A, {}, {"dprime": 1.544386, "meta_d": 1.653849, "m_ratio": 1.070878}),
        (B, {}, {"dprime": 1.504057, "meta_d": 1.460669, "m_ratio": 0.971153}),
        (B, {"meta_criterion": "absolute"}, {"meta_d": 1.466200, "m_ratio": 0.974831}),
        (B, {"s": 0.8}, {"meta_d": 1.543030, "m_ratio": 0.900008}),
        (B, {"s": 1.2}, {"meta_d": 1.369681, "m_ratio": 1.004323}),
    ],
)
def test_printed_optima_are_found(counts, options, expected):
    fitted = fit_mle(counts, **options)
    for name, value in expected.items():
        assert fitted[name].item() == pytest.approx(value, abs=1.1e-6), name
    assert fitted["converged"].item()


def test_the_exact_optimum_of_metasdts_example():
    counts = from_nr([32, 23, 14, 9], [6, 13, 26, 33])
    fitted = fit_mle(counts, correction="cell")
    assert fitted["dprime"].item() == pytest.approx(1.216177735, abs=1e-9)
    assert fitted["meta_d"].item() == pytest.approx(0.869805881, abs=2e-9)
    assert fitted["m_ratio"].item() == pytest.approx(0.715196353, abs=2e-9)
    raw = fit_mle(counts)
    assert raw["meta_d"].item() == pytest.approx(0.885859380, abs=2e-9)
    assert raw["m_ratio"].item() == pytest.approx(0.717870799, abs=2e-9)


@pytest.mark.parametrize(
    ("experiment", "ratings", "confidence", "share"),
    [(1, 5, "confidence5", 0.985), (2, 6, "confidence", 0.999)],
)
def test_stored_fits_of_rouault_are_reached_or_surpassed(
    shared, experiment, ratings, confidence, share
):
    folder = shared / "data" / "rouault2018"
    trials = pd.read_csv(folder / f"trials_exp{experiment}.csv.gz")
    names = {"stimulus": "target_left", "response": "response_left", "confidence": confidence}
    counts = count_trials(trials, by="subject", ratings=ratings, **names)
    stored = pd.read_csv(folder / f"stored_mle_fits_exp{experiment}.csv").set_index("subject")
    stored = stored.loc[counts["subject"].values]
    fitted = fit_mle(counts, correction=0.002)
    assert fitted["converged"].all()
    np.testing.assert_allclose(fitted["dprime"], stored["da"], atol=5e-5)
    difference = abs(fitted["meta_d"].values - stored["meta_da"].values)
    assert (difference < 0.005).mean() >= share
    theirs = stored_log_likelihood(counts, stored)
    assert np.median(abs(theirs - stored["logL"])) < 2e-3
    assert (fitted["loglik"].values >= theirs - 1e-6).all()


# d′, c, meta-d′, M, as printed by statConfR's README for the first six participants.
STATCONFR = [
    [1.441199, -0.2597310, 1.423263, 0.9875551],
    [1.253587, -0.1175263, 2.074045, 1.6544885],
    [2.253395, -1.0013475, 1.508996, 0.6696544],
    [1.515356, 0.1231483, 3.192407, 2.1067045],
    [1.314925, -0.1047285, 2.740354, 2.0840380],
    [1.260150, -0.1400093, 1.872001, 1.4855389],
]


def test_six_participants_of_statconfr_are_met(shared):
    counts = hellmann2023_counts(shared / "data").isel(cell=slice(6))
    fitted = fit_mle(counts, correction="cell")
    names = ["dprime", "c", "meta_d", "m_ratio"]
    ours = np.stack([fitted[name].values for name in names], axis=1)
    np.testing.assert_allclose(ours[:, :2], np.array(STATCONFR)[:, :2], atol=1e-6)
    # Theirs stops at a relative change of 1e-8 or so of ℓ.
    np.testing.assert_allclose(ours, STATCONFR, atol=1e-3)


def stored_log_likelihood(counts, stored):
    """ℓ at the stored parameters, by the readable formulas; their axis points the other way."""
    inner = range(1, counts.sizes["rating"])
    m, kappa = stored["meta_da"].to_numpy(), -stored["meta_ca"].to_numpy()
    reach_of_s1 = stored[[f"t2ca_rS2_{k}" for k in inner]].to_numpy() + kappa[:, None]
    reach_of_s2 = -stored[[f"t2ca_rS1_{k}" for k in reversed(inner)]].to_numpy() - kappa[:, None]
    reaches = np.stack([reach_of_s1, reach_of_s2], axis=1)
    # Stored to a few digits, criteria of a rating that nobody used may have changed places.
    gaps = np.maximum(np.diff(reaches, prepend=0), 1e-9)
    both = [np.stack([x, x], axis=1) for x in (m, kappa)]
    log_p = log_conditional_probabilities(*both, gaps)
    return ((counts.values + 0.002) * log_p).sum(axis=(1, 2, 3))


def scipys_optimum(counts, options, side=None):
    """Largest ℓ that SciPy finds from several starts, over meta-d′ and log gaps."""
    n = counts.values[0].astype(float)
    if side is not None:
        n[:, 1 - side] = 0
    type1 = sdt(counts)
    d, c = type1["dprime"].item(), type1["c"].item()

    def loss(theta):
        kappa = c if options.get("meta_criterion") == "absolute" else c * theta[0] / d
        gaps = np.exp(np.clip(theta[1:], -30, 5)).reshape(2, -1)
        log_p = log_conditional_probabilities(np.full(2, theta[0]), np.full(2, kappa), gaps)
        return -np.where(n > 0, n * log_p, 0.0).sum()

    size = 2 * (n.shape[-1] - 1)
    starts = [np.concatenate([[m], np.full(size, -1.0)]) for m in (-1, 0.3, 1, 3)]
    runs = [minimize(loss, x, method="L-BFGS-B", options={"maxiter": 2000}) for x in starts]
    best = min(runs, key=lambda run: run.fun)
    return -best.fun, best.x[0]


@pytest.mark.parametrize("counts", [A, B, SPARSE])
@pytest.mark.parametrize("options", [{}, {"meta_criterion": "absolute"}])
def test_scipy_finds_nothing_better(counts, options):
    fitted = fit_mle(counts, **options)
    value, m = scipys_optimum(counts, options)
    assert fitted["loglik"].item() >= value - 1e-8
    assert fitted["loglik"].item() == pytest.approx(value, abs=2e-4)
    assert fitted["meta_d"].item() == pytest.approx(m, abs=0.01)


def test_each_response_has_its_own_optimum():
    fitted = fit_mle(B, response_conditional=True)
    found = [scipys_optimum(B, {}, side) for side in (0, 1)]
    assert fitted["loglik"].item() == pytest.approx(sum(value for value, _ in found), abs=1e-6)
    np.testing.assert_allclose(fitted["meta_d"].values[0], [m for _, m in found], atol=1e-3)
    assert fitted["meta_d"].dims == ("cell", "response")
    assert fitted["m_ratio_se"].dims == ("cell", "response")


def test_criteria_of_ratings_that_nobody_used_lie_on_a_neighbour_or_at_infinity():
    fitted = fit_mle(SPARSE)
    of_s1, of_s2 = fitted["criteria"].values[0]
    # Response S1 never took rating 3; response S2 never took 3 or 4.
    assert of_s1[1] == of_s1[2]
    assert of_s1[0] > of_s1[1]
    assert of_s2[0] < of_s2[1] == np.inf
    assert of_s2[2] == np.inf
    assert fitted["converged"].item()


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        (from_nr([40, 30, 0, 0], [0, 0, 30, 40]), "undefined-dprime"),
        (from_nr([0, 0, 30, 40], [40, 30, 0, 0]), "undefined-dprime"),
        (from_nr([40, 30, 30, 40], [40, 30, 30, 40]), "undefined-dprime"),
        (from_nr([40, 30, 0, 0], [30, 40, 0, 0]), "undefined-dprime"),
        (from_nr([0, 70, 30, 0], [0, 30, 70, 0]), "meta-d-unbounded"),
        (from_nr([50, 1, 9, 1], [1, 9, 1, 50]), None),
    ],
)
def test_where_there_is_no_answer_a_notice_says_so(counts, code):
    fitted = fit_mle(counts)
    assert bool(fitted["m_ratio"].isnull().item()) == (code is not None)
    assert code is None or code in codes(fitted)


# All errors at the lowest rating, with four ratings and with two; and all above right responses.
SEPARATED = {
    "four ratings": from_nr([30, 25, 20, 10, 15, 0, 0, 0], [0, 0, 0, 15, 10, 20, 25, 30]),
    "two ratings": from_nr([50, 35, 15, 0], [0, 15, 35, 50]),
    "backward": from_nr([0, 85, 0, 15], [15, 0, 85, 0]),
    "much bias": from_nr([150, 35, 15, 0], [0, 65, 35, 50]),
}


@pytest.mark.parametrize("counts", SEPARATED.values(), ids=SEPARATED)
@pytest.mark.parametrize(
    "options",
    [{}, {"meta_criterion": "absolute"}, {"s": 0.8}, {"s": "estimate"},
     {"response_conditional": True}],
    ids=str,
)  # fmt: skip
def test_a_maximum_at_infinity_is_no_estimate(counts, options):
    fitted = fit_mle(counts, **options)
    for name in ("meta_d", "m_ratio", "log_m", "meta_d_se", "m_ratio_se", "log_m_se", "loglik"):
        assert fitted[name].isnull().all(), name
    assert not fitted["converged"].any()
    assert "meta-d-unbounded" in codes(fitted)
    assert "undefined-dprime" not in codes(fitted)


def test_one_response_that_is_not_separated_keeps_m_finite_and_each_has_its_own():
    counts = from_nr([30, 25, 20, 10, 15, 0, 0, 0], [3, 2, 5, 15, 10, 20, 25, 30])
    fitted = fit_mle(counts)
    assert np.isfinite(fitted["m_ratio_se"].item())
    assert fitted["converged"].item()
    own = fit_mle(counts, response_conditional=True)
    assert own["m_ratio"].isnull().values.tolist() == [[False, True]]
    assert "meta-d-unbounded" in codes(own)


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_a_maximum_at_infinity_has_no_interval(method):
    counts = SEPARATED["four ratings"]
    found = hmetad.resample_interval(counts, fit_mle, n=100, method=method, seed=1)
    assert found["m_ratio"].isnull().all()
    assert "meta-d-unbounded" in codes(found)
    # Where one error keeps it finite, a third of the tables drawn do not have that error.
    one = from_nr([50, 35, 14, 1], [0, 15, 35, 50])
    drawn = hmetad.resample(one, fit_mle, n=400, seed=1)
    assert drawn["m_ratio"].isnull().mean().item() == pytest.approx(np.exp(-1), abs=0.1)
    assert "undefined-draws" in codes(drawn)


def test_no_errors_at_all_have_an_answer_with_a_correction():
    fitted = fit_mle(from_nr([40, 30, 0, 0], [0, 0, 30, 40]), correction="cell")
    assert np.isfinite(fitted["m_ratio"].item())
    assert fitted["converged"].item()


def test_confidence_that_runs_backward_has_a_negative_m():
    counts = from_nr([20, 60, 20, 30], [30, 20, 60, 20])
    fitted = fit_mle(counts)
    assert fitted["meta_d"].item() < 0
    assert fitted["log_m"].isnull().item()
    assert "negative-meta-d" in codes(fitted)


@pytest.mark.parametrize("rule", ["relative", "absolute"])
@pytest.mark.parametrize("s", [1.0, 0.7])
def test_standard_errors_are_the_spread_over_samples(rule, s):
    counts = simulate_counts(
        np.full(3000, 1.6), 0.4, 0.8, trials=1500, meta_criterion=rule, s=s, seed=1
    )
    fitted = fit_mle(counts, meta_criterion=rule, s=s)
    for name in ("dprime", "c", "meta_d", "m_ratio", "log_m"):
        spread = fitted[name].std().item()
        assert fitted[f"{name}_se"].median().item() == pytest.approx(spread, rel=0.05), name
    assert fitted["m_ratio"].mean().item() == pytest.approx(0.8, abs=0.01)


def test_standard_errors_of_each_response_are_the_spread_over_samples():
    truth = [[0.6, 1.0]] * 2000
    counts = simulate_counts(np.full(2000, 1.6), 0.2, truth, trials=2000, seed=2)
    fitted = fit_mle(counts, response_conditional=True)
    np.testing.assert_allclose(fitted["m_ratio"].mean("cell"), truth[0], atol=0.02)
    ratio = fitted["m_ratio_se"].median("cell") / fitted["m_ratio"].std("cell")
    np.testing.assert_allclose(ratio, 1, atol=0.06)


@pytest.mark.parametrize("ratings", [2, 3, 6, 11])
def test_any_number_of_ratings_is_fitted(ratings):
    counts = simulate_counts([1.5], m_ratio=0.7, trials=200_000, ratings=ratings, seed=4)
    fitted = fit_mle(counts)
    assert fitted["m_ratio"].item() == pytest.approx(0.7, abs=4 * fitted["m_ratio_se"].item())
    assert fitted["converged"].item()


def test_responses_against_the_stimuli_have_no_log_m_and_say_so():
    flipped = from_nr([2, 4, 12, 26, 37, 35, 32, 52], [45, 40, 38, 33, 22, 15, 5, 2])
    fitted = fit_mle(flipped)
    assert fitted["dprime"].item() < 0
    assert fitted["log_m"].isnull().item()
    assert "dprime-sign" in codes(fitted)
    assert "dprime-sign" in codes(sdt(flipped))
    assert "dprime-sign" not in codes(fit_mle(A))
