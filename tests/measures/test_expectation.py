"""What signal detection expects of type-2 measures: against simulation, and by hand."""

import numpy as np
import pytest
import xarray as xr
from scipy.special import ndtr, ndtri
from sklearn.metrics import roc_auc_score

import hmetad
from hmetad import InputError, from_nr, simulate_counts
from hmetad.measures import relative_to_sdt
from hmetad.measures.expectation import expected_by_sdt

# A table far from signal detection: S1 with rating 4..1, then S2 with 1..4.
ODD = ([300, 150, 150, 100, 90, 60, 90, 60], [60, 80, 70, 90, 110, 140, 120, 330])


def simulated_by_hand(nr_s1, nr_s2, trials=10_000_000):
    """Ratings and correctness of an observer with d′ and criteria of the table, drawn at random."""
    rates = [np.cumsum(np.array(nr)[::-1])[:-1] / np.sum(nr) for nr in (nr_s1, nr_s2)]
    z_f, z_h = map(ndtri, rates)
    criteria = np.sort(-(z_h + z_f) / 2)
    K = len(nr_s1) // 2
    d = (z_h - z_f)[K - 1]
    rng = np.random.default_rng(1)
    share = sum(nr_s2) / (sum(nr_s1) + sum(nr_s2))
    stimulus = rng.random(trials) < share
    x = rng.standard_normal(trials) + np.where(stimulus, d / 2, -d / 2)
    place = np.searchsorted(criteria, x)
    is_right = (place >= K) == stimulus
    rating = np.where(place >= K, place - K + 1, K - place)
    return is_right, rating


def test_expectations_are_those_of_a_simulated_observer():
    is_right, rating = simulated_by_hand(*ODD)
    found = relative_to_sdt(from_nr(*ODD)).sel(cell="all")
    table = np.array([np.bincount(rating[is_right == side], minlength=5)[1:] for side in (0, 1)])
    below = table[0].cumsum() - table[0]
    above = table[0].sum() - table[0].cumsum()
    concordant, discordant = (table[1] * below).sum(), (table[1] * above).sum()
    means = [rating[is_right == side].mean() for side in (0, 1)]
    by_hand = {
        "auroc2": roc_auc_score(is_right[:1_000_000], rating[:1_000_000]),
        "gamma_pairs": (concordant - discordant) / (concordant + discordant),
        "phi": np.corrcoef(is_right, rating)[0, 1],
        "confidence_difference": means[1] - means[0],
    }
    for name, value in by_hand.items():
        # Four standard errors of ten million trials, of one million for the area.
        tolerance = 0.003 if name == "auroc2" else 0.002
        assert found[f"{name}_expected"].item() == pytest.approx(value, abs=tolerance)


@pytest.mark.parametrize(("d", "c", "K"), [(0.5, 0.0, 2), (0.5, 0.7, 9), (2.0, 0.7, 4)])
def test_an_observer_without_loss_is_as_expected(d, c, K):
    counts = simulate_counts(d, c, trials=20_000_000, gaps=np.full((2, K - 1), 1.5 / K), seed=1)
    found = relative_to_sdt(counts).sel(cell="all")
    for name in ("auroc2", "gamma_pairs", "phi", "confidence_difference"):
        assert found[f"{name}_ratio"].item() == pytest.approx(1, abs=0.01)
        assert found[f"{name}_excess"].item() == pytest.approx(0, abs=0.002)


def test_two_ratings_by_hand():
    # d′ = 2, c = 0; the higher rating of S2 has rates Φ(0.5) and Φ(-1.5): it begins at 0.5.
    n = 100_000
    p = ndtr([1.0, 0.5, -1.0, -1.5])
    right = np.array([p[0] - p[1], p[1]]) * n
    wrong = np.array([p[2] - p[3], p[3]]) * n
    s1 = np.concatenate([right[::-1], wrong]).round().astype(int)
    s2 = np.concatenate([wrong[::-1], right]).round().astype(int)
    found = relative_to_sdt(from_nr(s1, s2)).sel(cell="all")
    high_right, high_wrong = right[1] / right.sum(), wrong[1] / wrong.sum()
    difference = high_right - high_wrong
    assert found["confidence_difference_expected"].item() == pytest.approx(difference, abs=1e-4)
    assert found["auroc2_expected"].item() == pytest.approx(0.5 + difference / 2, abs=1e-4)


def test_empty_ratings_and_rates_of_0_need_no_correction():
    # Rating 3 is used by nobody, rating 4 of S2 never for S1.
    counts = from_nr([20, 0, 30, 20, 15, 10, 0, 0], [0, 0, 10, 15, 20, 25, 0, 30])
    found = hmetad.measures.relative_to_sdt(counts)
    assert np.isfinite(found.to_array()).all()
    sides = hmetad.sdt(counts)
    table = expected_by_sdt(counts, sides["dprime"], sides["c"])
    np.testing.assert_allclose(
        table.sum(["response", "rating"]), counts.sum(["response", "rating"])
    )
    np.testing.assert_allclose(table.sum("rating"), counts.sum("rating"))
    # That rating of a response, of both stimuli, comes as often as it was observed.
    of_s2 = table.sel(response="S2", rating=4).sum("stimulus")
    np.testing.assert_allclose(of_s2, [30], rtol=1e-6)
    assert (table >= 0).all()


def test_without_dprime_there_is_no_expectation():
    counts = from_nr([[10, 10, 0, 0], [10, 5, 5, 2]], [[5, 5, 5, 5], [2, 5, 5, 10]])
    found = relative_to_sdt(counts)
    assert found["phi_expected"].isnull().values.tolist() == [True, False]
    assert "undefined-dprime" in {one.code for one in hmetad.notices(found)}
    corrected = relative_to_sdt(counts, correction="loglinear")
    assert np.isfinite(corrected["phi_expected"]).all()


def test_further_dims_and_another_order_change_nothing():
    counts = simulate_counts([1.0, 2.0], m_ratio=0.7, trials=500, seed=2)
    twice = xr.concat([counts, counts + 1], "draw").transpose("rating", "cell", "draw", ...)
    found = relative_to_sdt(twice)
    alone = relative_to_sdt(counts)
    for name in alone:
        np.testing.assert_allclose(found[name].isel(draw=0), alone[name])


def test_measure_has_all_seventeen():
    counts = simulate_counts([1.0, 1.5], m_ratio=0.8, trials=2000, seed=3)
    found = hmetad.measure(counts, meta_d=True, expected=True, meta_noise=True)
    names = ["auroc2", "gamma_pairs", "phi", "confidence_difference"]
    all_of_them = [f"{name}{end}" for name in names for end in ("", "_ratio", "_excess")]
    all_of_them += ["meta_d", "m_ratio", "meta_d_excess", "meta_noise", "meta_uncertainty"]
    assert len(all_of_them) == 17
    assert np.isfinite(found[all_of_them].to_array()).all()
    assert all(found[name].attrs["long_name"] for name in all_of_them)
    np.testing.assert_allclose(found["meta_d_excess"], found["meta_d"] - found["dprime"])


def test_a_type2_table_has_no_criteria():
    with pytest.raises(InputError, match="stimulus"):
        relative_to_sdt(xr.DataArray([[17, 3], [5, 25]], dims=["correct", "rating"]))
