"""DMC against printed optima, an optimiser of SciPy, and its constraint against the model."""

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import least_squares
from scipy.special import ndtr

from hmetad.base.notice import notices
from hmetad.counts.vectors import from_nr
from hmetad.likelihood.ratings import type2_criteria
from hmetad.mle.dmc import fit_dmc, limiting_loss
from hmetad.simulate.simulate import simulate_counts

A = from_nr([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])
BACKWARD = from_nr([20, 60, 20, 30], [30, 20, 60, 20])


def codes(fitted):
    return {notice.code for notice in notices(fitted)}


def proportions(counts):
    return counts / counts.sum(axis=-1, keepdims=True)


def predicted(d, c, criteria):
    """Proportions from plain areas; `criteria` (response, K − 1) are places on the axis."""
    rows = np.empty((2, 2, criteria.shape[-1] + 1))
    for stimulus, mean in enumerate((-d / 2, d / 2)):
        for response, side in enumerate((-1, 1)):
            edges = np.concatenate([[c], criteria[response], [side * np.inf]])
            areas = abs(np.diff(ndtr(side * (mean - edges))))
            rows[stimulus, response] = areas / areas.sum()
    return rows


def scipys_optimum(counts, c, upper=12.0, lower=0.0):
    """Least loss and d that SciPy finds, over d within bounds and log gaps, from several starts."""
    observed = proportions(counts)
    size = 2 * (counts.shape[-1] - 1)

    def residuals(theta):
        criteria = type2_criteria(np.full(1, c), np.exp(theta[1:]).reshape(2, -1))
        return (predicted(theta[0], c, criteria) - observed).ravel()

    bounds = ([lower, *[-25.0] * size], [upper, *[2.5] * size])
    runs = []
    for d in (0.1, 1.0, 2.5, 5.0):
        start = np.array([np.clip(d, lower + 1e-9, upper - 1e-9), *[-0.9] * size])
        exact = dict.fromkeys(("ftol", "xtol", "gtol"), 1e-15)
        runs.append(least_squares(residuals, start, bounds=bounds, max_nfev=400, **exact))
    best = min(runs, key=lambda run: run.cost)
    return 2 * best.cost, best.x[0]


def random_tables(kind, ratings, number, seed):
    """Counts of simulated observers, or of no observer at all; d′ is above 0 in each."""
    rng = np.random.default_rng(seed)
    if kind == "observers":
        d, c = rng.normal(1.4, 0.3, number), rng.normal(0, 0.4, number)
        m = np.exp(rng.normal(-0.2, 0.4, number))
        drawn = simulate_counts(d, c, m, trials=120, ratings=ratings, seed=rng)
        return drawn + 1 / (2 * ratings)
    rows = rng.dirichlet(np.ones(ratings), size=(number, 2, 2))
    trials = rng.uniform(10, 60, size=(number, 2, 2, 1)) + 60 * np.eye(2)[:, :, None]
    dims = ("cell", "stimulus", "response", "rating")
    coords = {"cell": [str(i) for i in range(number)], "response": ["S1", "S2"]}
    return xr.DataArray(rows * trials, coords, dims)


@pytest.mark.parametrize(
    ("correction", "loss", "d", "m"),
    [
        ("none", 0.00567552, 1.664162, 1.077555),
        ("cell", 0.00550658, 1.646267, 1.072491),
        (1 / 8, 0.00550658, 1.646267, 1.072491),
    ],
)
def test_printed_optima_are_found(correction, loss, d, m):
    fitted = fit_dmc(A, correction=correction)
    assert fitted["loss"].item() == pytest.approx(loss, abs=0.6e-8)
    assert fitted["meta_d"].item() == pytest.approx(d, abs=0.6e-6)
    assert fitted["m_ratio"].item() == pytest.approx(m, abs=0.6e-6)
    assert fitted["converged"].item()


@pytest.mark.integration
@pytest.mark.parametrize("ratings", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["observers", "noise"])
def test_scipy_finds_nothing_better(kind, ratings):
    counts = random_tables(kind, ratings, 12, seed=ratings)
    fitted = fit_dmc(counts)
    assert fitted["converged"].all()
    same = 0
    for i, table in enumerate(counts.values):
        cell = fitted.isel(cell=i)
        loss, d = scipys_optimum(table, cell["c"].item())
        assert cell["loss"] <= loss + 1e-10
        if abs(cell["loss"] - loss) < 1e-10:
            same += 1
            # SciPy stops where the loss no longer changes in double precision: at 1e-8 in d, and
            # at some hundred times that where the loss is flat.
            assert cell["meta_d"].item() == pytest.approx(d, abs=5e-6)
    # From four starts SciPy misses an optimum now and then.
    assert same >= 11


def test_the_loss_is_that_of_the_estimates():
    counts = random_tables("observers", 4, 50, seed=8)
    fitted = fit_dmc(counts)
    for i, table in enumerate(counts.values):
        cell = fitted.isel(cell=i)
        there = predicted(cell["meta_d"].item(), cell["c"].item(), cell["criteria"].values)
        assert cell["loss"].item() == pytest.approx(
            ((there - proportions(table)) ** 2).sum(), abs=1e-9
        )


@pytest.mark.parametrize("bounded", [False, True])
def test_confidence_that_runs_backward_has_meta_d_0_and_the_loss_of_that_limit(bounded):
    fitted = fit_dmc(BACKWARD, bounded=bounded)
    assert fitted["meta_d"].item() == fitted["m_ratio"].item() == 0
    observed = proportions(BACKWARD.values[0])
    halves = [observed[r, r] - observed[1 - r, r] for r in range(2)]
    assert fitted["loss"].item() == pytest.approx(np.sum(np.square(halves)) / 2, abs=1e-14)
    there = predicted(0.0, fitted["c"].item(), fitted["criteria"].values[0])
    np.testing.assert_allclose(there[0], observed.mean(axis=0), atol=1e-12)
    assert "meta-d-zero" in codes(fitted)
    assert fitted["converged"].item()


def test_a_bound_that_is_reached_gives_m_1_and_the_best_criteria_there():
    fitted = fit_dmc(A, bounded=True)
    assert fitted["m_ratio"].item() == 1
    d, c = fitted["dprime"].item(), fitted["c"].item()
    loss, _ = scipys_optimum(A.values[0], c, upper=d + 1e-9, lower=d - 1e-9)
    assert fitted["loss"].item() == pytest.approx(loss, abs=1e-10)
    assert fitted["loss"] > fit_dmc(A)["loss"]
    assert "m-at-bound" in codes(fitted)
    assert fitted.attrs["bounded"] == 1


def test_bounded_ratios_lie_between_0_and_1():
    counts = random_tables("noise", 4, 200, seed=9)
    fitted = fit_dmc(counts, bounded=True)
    assert ((fitted["m_ratio"] >= 0) & (fitted["m_ratio"] <= 1)).all()
    free = fit_dmc(counts)
    inside = free["m_ratio"] < 1
    np.testing.assert_allclose(fitted["loss"][inside], free["loss"][inside], atol=1e-10)
    assert (fitted["loss"] >= free["loss"] - 1e-12).all()


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_rating_that_nobody_used_changes_no_other_number(place):
    wider = xr.DataArray(
        np.insert(A.values, place, 0, axis=-1), A.drop_vars("rating").coords, A.dims
    )
    fitted, plain = fit_dmc(wider), fit_dmc(A)
    for name in ("meta_d", "loss"):
        assert fitted[name].item() == pytest.approx(plain[name].item(), abs=1e-12)
    criteria, before = fitted["criteria"].values[0], plain["criteria"].values[0]
    side = np.array([[-1.0], [1.0]])
    neighbours = np.concatenate([np.full((2, 1), plain["c"].item()), before, side * np.inf], axis=1)
    np.testing.assert_allclose(criteria, np.insert(before, min(place, 3), neighbours[:, place], 1))


def test_right_and_wrong_responses_that_share_one_rating_at_most_have_no_finite_meta_d():
    counts = from_nr([40, 20, 9, 0, 7, 3, 0, 0], [0, 0, 4, 6, 0, 8, 20, 40])
    fitted = fit_dmc(counts)
    assert fitted["meta_d"].isnull().item()
    assert not fitted["converged"].item()
    assert "meta-d-unbounded" in codes(fitted)
    held = fit_dmc(counts, bounded=True)
    assert held["m_ratio"].item() == 1
    assert np.isfinite(fit_dmc(counts, correction="cell")["m_ratio"].item())


def test_the_loss_of_infinite_meta_d_is_the_least_of_all_ways_to_cut_its_curve():
    """Beyond an edge lie all right responses and a share of the wrong, or the other way round."""
    cuts = np.linspace(0, 1, 101)
    curve = np.concatenate(
        [np.stack([np.ones(101), 1 - cuts]), np.stack([1 - cuts, np.zeros(101)])], axis=1
    )
    first, second = np.triu_indices(curve.shape[1])
    beyond = np.stack([curve[:, first], curve[:, second]])
    shares = -np.diff(beyond, axis=0, prepend=1.0, append=0.0)
    for table in random_tables("noise", 3, 20, seed=3).values:
        observed = proportions(table)
        brute = 0.0
        for r in range(2):
            pair = np.stack([observed[r, r], observed[1 - r, r]], axis=1)
            brute += ((shares - pair[..., None]) ** 2).sum(axis=(0, 1)).min()
        ours = limiting_loss(observed[None])[0]
        assert ours <= brute + 1e-12
        # A cut is missed by .005 at most, which adds 2·.005² in each of four proportions, twice.
        assert ours == pytest.approx(brute, abs=4e-4)


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        (from_nr([40, 30, 0, 0], [0, 0, 30, 40]), "undefined-dprime"),
        (from_nr([0, 0, 30, 40], [40, 30, 0, 0]), "undefined-dprime"),
        (from_nr([40, 30, 0, 0], [30, 40, 0, 0]), "undefined-dprime"),
        (from_nr([0, 0, 0, 0], [0, 0, 0, 0]), "undefined-dprime"),
        (from_nr([0, 70, 30, 0], [0, 30, 70, 0]), "meta-d-undetermined"),
    ],
)
def test_where_there_is_no_answer_a_notice_says_so(counts, code):
    fitted = fit_dmc(counts)
    for name in ("meta_d", "m_ratio", "loss"):
        assert fitted[name].isnull().item()
    assert not fitted["converged"].item()
    assert code in codes(fitted)


def test_all_right_says_nothing_of_meta_d_even_with_a_correction():
    fitted = fit_dmc(from_nr([40, 30, 0, 0], [0, 0, 30, 40]), correction="cell")
    assert fitted["dprime"] > 0
    assert fitted["meta_d"].isnull().item()
    assert codes(fitted) >= {"meta-d-undetermined", "empty-row"}


def test_a_response_that_was_never_given_leaves_the_fit_to_the_other():
    counts = from_nr([36, 24, 17, 20, 0, 0, 0, 0], [10, 14, 20, 29, 0, 0, 0, 0])
    fitted = fit_dmc(counts, correction="cell")
    assert np.isfinite(fitted["meta_d"].item())
    assert np.isfinite(fitted["criteria"].values[0, 0]).all()
    assert np.isnan(fitted["criteria"].values[0, 1]).all()
    assert codes(fitted) >= {"one-rating", "empty-row"}


def test_a_row_without_trials_drops_out_also_where_a_correction_would_fill_it():
    fitted = fit_dmc(
        from_nr([30, 20, 10, 5, 0, 0, 0, 0], [2, 5, 8, 9, 10, 15, 20, 30]), correction=0.1
    )
    observed = proportions(np.array([30, 20, 10, 5]) + 0.1)[::-1]
    assert fitted["meta_d"] > 0
    there = predicted(fitted["meta_d"].item(), fitted["c"].item(), fitted["criteria"].values[0])
    of_s2 = proportions(np.array([10, 15, 20, 30]) + 0.1)
    # The only row of response S2 is met exactly, whatever meta-d′ is.
    np.testing.assert_allclose(there[1, 1], of_s2, atol=1e-9)
    of_wrong = proportions(np.array([9, 8, 5, 2]) + 0.1)
    left = ((there[0, 0] - observed) ** 2).sum() + ((there[1, 0] - of_wrong) ** 2).sum()
    assert fitted["loss"].item() == pytest.approx(left, abs=1e-12)


def test_a_dprime_of_0_or_less_leaves_m_undefined():
    for counts in (
        from_nr([5, 5, 30, 20], [20, 30, 5, 5]),
        from_nr([40, 30, 30, 40], [40, 30, 30, 40]),
    ):
        fitted = fit_dmc(counts, bounded=True)
        assert fitted["dprime"] <= 0
        assert fitted["m_ratio"].isnull().item()
        assert fitted["meta_d"] >= 0
        assert "dprime-not-positive" in codes(fitted)


@pytest.mark.parametrize(
    ("counts", "is_infinite"),
    [
        (from_nr([2, 5, 5, 6, 10, 1, 0, 1], [1, 1, 3, 11, 5, 4, 5, 0]), True),
        (from_nr([5, 5, 5, 11, 4, 0, 0, 0], [1, 2, 3, 3, 4, 8, 1, 8]), False),
    ],
)
def test_a_rating_may_be_used_and_yet_never_be_predicted(counts, is_infinite):
    fitted = fit_dmc(counts)
    assert "rating-not-predicted" in codes(fitted)
    assert fitted["converged"].item()
    last, before = fitted["criteria"].values[0, 1, :0:-1]
    assert np.isinf(last) == is_infinite
    assert is_infinite or last - before < 1e-9
    loss, _ = scipys_optimum(counts.values[0].astype(float), fitted["c"].item())
    assert fitted["loss"] <= loss + 1e-10
    # Nothing is predicted for it that the loss would show.
    assert fitted["loss"].item() == pytest.approx(loss, abs=1e-7)


@pytest.mark.parametrize("ratings", [2, 3, 6, 11])
def test_the_truth_is_found_in_huge_tables(ratings):
    options = {"m_ratio": 0.7, "meta_criterion": "absolute", "trials": 20_000_000}
    counts = simulate_counts([1.5], 0.3, ratings=ratings, seed=4, **options)
    fitted = fit_dmc(counts)
    # The gap of .5 puts some 1e4 trials in the rarest rating: M is known to about .001.
    assert fitted["m_ratio"].item() == pytest.approx(0.7, abs=0.005)
    assert fitted["loss"] < 1e-6
    truth = type2_criteria(np.full(1, 0.3), np.full((2, min(ratings, 4) - 1), 0.5))
    np.testing.assert_allclose(fitted["criteria"][0, :, : min(ratings, 4) - 1], truth, atol=0.01)
