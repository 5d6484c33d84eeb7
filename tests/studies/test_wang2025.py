"""The numbers of the paper add up but where it is said, and the simulations are what they claim."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm
from sklearn.metrics import brier_score_loss

from hmetad.base.errors import InputError
from hmetad.counts.vectors import from_nr
from hmetad.mle.meta_d import fit_mle
from hmetad.simulate.simulate import simulate_counts
from hmetad.studies import wang2025
from hmetad.studies.comparison import frame_of, is_reproduced
from hmetad.studies.run import reproduce


def rows_of(table):
    return frame_of("wang2025", table).to_dict("records")


@pytest.fixture(scope="module")
def study():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wang2025, "DRAWS", 200)
        return wang2025.analyse(seed=1)


# --- print ----------------------------------------------------------------------------------


@pytest.mark.integration
def test_what_differs_from_print_is_known_and_explained(check_differences):
    check_differences(39)


def test_printed_numbers_are_those_of_the_paper(shared):
    text = (shared / "papers" / "wang2025_dmc.txt").read_text()
    for table, start in (("table2", "0.3192 0.3276"), ("table3", "LLaMA2 Verb-Topk")):
        assert start in text
        for row in rows_of(table):
            line = " ".join(f"{x:.4f}" for x in [*row["values"], row["average"]])
            assert line in text, row["method"]
    for row in rows_of("table1"):
        names = ("AUROC", "ECE", "BS", "DMC")
        assert " ".join(f"{row[name]:.4f}" for name in names) in text


def test_only_the_entry_of_table_3_gives_the_printed_mean_and_variation():
    entries = next(r for r in rows_of("table2") if r["method"] == "Self Random")
    values = np.array(entries["values"])
    assert (values.mean() - entries["average"]).round(4) == -0.0007
    values[5] = 0.5994
    assert values.mean() == pytest.approx(entries["average"], abs=5e-5)
    assert values.std() / values.mean() == pytest.approx(0.0063, abs=5e-5)


@given(st.floats(0.01, 0.99), st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_values_that_vary_so_much_have_a_least_one_so_low(least, places):
    values = least + (1 - least) * np.array(places)
    cv = values.std() / values.mean()
    assert values.min() <= wang2025.lowest_possible(cv) + 1e-9


def test_the_bound_of_variation_is_attained_by_two_values():
    # A share p at .5 and the rest at 1; the largest CV is at p = 2/3.
    values = np.array([0.5, 0.5, 1.0])
    cv = values.std() / values.mean()
    assert cv == pytest.approx(0.3536, abs=5e-5)
    assert wang2025.lowest_possible(cv) == pytest.approx(0.5, abs=1e-12)


# --- tasks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", wang2025.SCENARIOS)
@pytest.mark.parametrize("task", [0, 3, 7])
def test_every_scenario_has_the_sensitivity_of_its_task(scenario, task):
    p = wang2025.cell_probabilities(scenario, task, 0.5)
    np.testing.assert_allclose(p.sum(axis=(1, 2)), 1, atol=1e-9)
    d = wang2025.DPRIMES[task]
    right = p.sum(axis=-1)
    z = norm.ppf(right[:, 1])
    if scenario == "mixed items":
        expected = norm.cdf(np.array(wang2025.EASE) * d / 2).mean()
        assert right[1, 1] == pytest.approx(expected, abs=1e-9)
    else:
        assert z[1] - z[0] == pytest.approx(d, abs=1e-7)


@pytest.mark.parametrize(("d", "ratio"), [(0.6, 0.3), (1.5, 0.7), (3.0, 0.9)])
def test_noisy_confidence_is_a_bivariate_normal(d, ratio):
    # Evidence, and evidence plus noise of such a size that the sum has sensitivity ratio·d.
    noise = 1 / ratio**2 - 1
    gap, ratings = wang2025.GAP, wang2025.RATINGS
    joint = multivariate_normal([0, 0], [[1, 1], [1, 1 + noise]])

    def share(mean, low, high):
        # P(x > 0, low < y < high), by the mirror image of both.
        at = np.array([[mean, mean - low], [mean, mean - high]])
        return float(np.subtract(*joint.cdf(at)))

    edges = np.r_[-40, gap * np.arange(1, ratings), 40]
    expected = [share(d / 2, *edge) for edge in pairwise(edges)]
    found = wang2025.noisy_probabilities(d, ratio)
    # SciPy's own integration is good to 1e-5 or so.
    np.testing.assert_allclose(found[1, 1], expected, atol=2e-5)
    np.testing.assert_array_equal(found[0, 0], found[1, 1])


def test_calibration_is_that_of_single_trials():
    counts = from_nr([30, 20, 10, 5, 4, 3, 2, 1], [2, 3, 4, 6, 9, 11, 17, 33])
    table = counts.to_numpy()[0]
    stated, correct = [], []
    for s in range(2):
        for r in range(2):
            for k in range(4):
                stated += [0.5625 + 0.125 * k] * table[s, r, k]
                correct += [s == r] * table[s, r, k]
    stated, correct = np.array(stated), np.array(correct)
    found = wang2025.calibration_of(counts)
    assert found["brier"].item() == pytest.approx(brier_score_loss(correct, stated), abs=1e-12)
    gaps = [abs(correct[stated == x].mean() - x) * (stated == x).mean() for x in np.unique(stated)]
    assert found["ece"].item() == pytest.approx(sum(gaps), abs=1e-12)


def test_dmc_is_flat_where_the_model_holds_and_m_ratio_where_there_is_no_bias_either(study):
    ratio = study.tasks["ratio"]
    for scenario in ("meta-d′ model", "differing bias"):
        # Counts of 1e10 are rounded to whole ones.
        error = abs(study.tasks["dmc"].sel(scenario=scenario) - ratio)
        assert float(error.max()) < 1e-5
    cv = wang2025.variation(study.tasks)
    assert float(cv["m_ratio"].sel(scenario="meta-d′ model").max()) < 1e-5
    assert float(cv["m_ratio"].sel(scenario="differing bias", ratio=0.3)) > 0.02


def test_decoupling_ends_where_random_ratings_meet_differing_criteria(study):
    cv = wang2025.variation(study.tasks).sel(ratio=0.3)
    last = cv.sel(scenario="random, differing criteria")
    assert last["dmc"] > 2 * last["auroc2"]
    assert (cv["dmc"] < cv["auroc2"]).sum() == len(wang2025.SCENARIOS) - 1


# --- sampling -------------------------------------------------------------------------------


def test_scatter_of_samples_is_what_standard_errors_say(study):
    row = next(r for r in rows_of("table2") if r["method"] == "Self Random")
    sizes = [2 * x["questions"] * (x["options"] - 1) for x in rows_of("sizes")]
    gaps = np.full((2, wang2025.SAMPLED_RATINGS - 1), 2 / wang2025.SAMPLED_RATINGS)
    counts = simulate_counts(
        np.full(8, wang2025.SAMPLED_DPRIME),
        m_ratio=row["average"],
        trials=np.array(sizes) * 100,
        gaps=gaps,
        seed=2,
    )
    # A hundred times the trials, for a standard error that is known well.
    se = 10 * fit_mle(counts, meta_criterion="absolute")["m_ratio_se"].to_numpy()
    expected = np.sqrt(np.mean(se**2) * 7 / 8) / row["average"]
    found = np.sqrt((study.scatter.sel(elicitation="Self Random") ** 2).mean().item())
    # Likelihood and least squares differ in efficiency; M in samples of 600 is not quite normal.
    assert found == pytest.approx(expected, rel=0.15)


def test_no_sample_varies_as_little_as_print(study):
    for row in rows_of("table1"):
        assert study.scatter.sel(elicitation=row["method"]).min().item() > 2 * row["DMC"]
    assert not study.scatter.isnull().any()


# --- report ---------------------------------------------------------------------------------


def test_the_report_says_what_decouples_and_what_print_lacks(shown):
    page = shown[1].markdown()
    assert "Does DMC decouple?" in page
    assert "for 5 of six methods" in page
    assert "18 to 22 times" in page
    assert page.count("0.5994") + page.count(".5994") == 3


def test_it_is_run_by_its_name_and_leaves_both_files(tmp_path, monkeypatch):
    # No printed value is compared with what is sampled.
    monkeypatch.setattr(wang2025, "DRAWS", 5)
    assert is_reproduced(reproduce("wang2025", tmp_path, seed=1))
    assert {path.name for path in tmp_path.iterdir()} == {"comparison.csv", "report.html"}
    for option in ("draws", "data"):
        with pytest.raises(InputError, match=f"{option}: Studies that take {option}: .*atlas2026"):
            reproduce("wang2025", tmp_path, **{option: 100})
