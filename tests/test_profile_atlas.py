"""33 models in six domains of four-choice questions: what applies to them, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import hmetad
from hmetad import InputError, count_correct, notices, resample_interval
from hmetad.information import meta_information
from hmetad.measures import auroc2, measure_trials


@pytest.fixture(scope="module")
def trials(shared):
    folder = shared / "data" / "cacioli2026_profile_atlas"
    raw = [pd.read_csv(path) for path in sorted((folder / "raw").glob("*.csv.gz"))]
    trials = pd.concat(raw, ignore_index=True)
    return trials.drop_duplicates(["model", "item_id", "domain"], ignore_index=True)


@pytest.fixture(scope="module")
def judged(trials):
    # Each percentage that was stated is a rating of its own.
    trials = trials.assign(rating=trials["confidence"].rank(method="dense").astype(int))
    names = {"by": ["model", "domain"], "correct": "is_correct", "confidence": "rating"}
    return count_correct(trials, **names, ratings=int(trials["rating"].max()))


@pytest.mark.parametrize(
    "function", [hmetad.fit_mle, hmetad.fit_dmc, hmetad.sdt, hmetad.uvsdt, hmetad.fit]
)
def test_what_needs_a_stimulus_refuses_and_says_what_applies(judged, function):
    with pytest.raises(InputError) as caught:
        function(judged)
    said = str(caught.value)
    assert "stimulus" in said
    assert "auroc2" in said


def test_the_published_areas_of_33_language_models_are_reproduced(trials, shared):
    folder = shared / "data" / "cacioli2026_profile_atlas"
    summary = pd.read_csv(folder / "atlas_summary_matrix.csv")
    names = {"model": trials["model"].map(published_names(trials, summary))}
    domains = {"applied_professional": "Applied", "factual_recall": "Factual"}
    domains |= {"humanities": "Human.", "social_moral": "Social", "natural_science": "Science"}
    names["domain"] = trials["domain"].map(domains | {"formal_reasoning": "Formal"})
    trials = trials.assign(**names, confidence=trials["confidence"] + 1)
    counts = count_correct(trials, by=["model", "domain"], correct="is_correct", ratings=101)
    published = pd.read_csv(folder / "atlas_bootstrap_cis.csv")
    published = published.set_index(published["model"] + " | " + published["domain"])
    assert counts.sizes["cell"] == len(published) == 198
    published = published.loc[counts["cell"].values]
    np.testing.assert_array_equal(counts.sum(["correct", "rating"]), published["n"])
    # Published with four decimals.
    np.testing.assert_allclose(auroc2(counts), published["auroc"], rtol=0, atol=5.001e-5)
    exact = measure_trials(trials, by=["model", "domain"], correct="is_correct")["auroc2"]
    np.testing.assert_allclose(exact, auroc2(counts), rtol=1e-13)
    whole = counts.groupby("model").sum()
    aggregate = summary.set_index("model").loc[whole["model"].values, "aggregate"]
    # Published in full.
    np.testing.assert_allclose(auroc2(whole), aggregate, rtol=1e-13)


def published_names(trials, summary):
    """Published name of each model: that with its trials and accuracy, and its family's name."""
    names = {}
    for model, rows in trials.groupby("model"):
        alike = summary[
            (summary["n"] == len(rows)) & np.isclose(summary["acc"], rows["is_correct"].mean())
        ]
        own = [name for name in alike["model"] if name.split()[0].split("-")[0].lower() in model]
        (names[model],) = own
    return names


def test_four_quantiles_of_all_models_together_distort_areas(trials, judged):
    """Ratings pooled over models lose what single models tell: one reason for exact measures."""
    named = {"by": ["model", "domain"], "correct": "is_correct"}
    rated = auroc2(count_correct(trials, **named, quantiles=4))
    off = abs(rated - auroc2(judged)).to_numpy()
    assert np.nanmax(off) > 0.05
    assert np.mean(off < 5e-5) < 0.1


def test_information_has_intervals_and_rmi_only_where_it_can_be(judged):
    some = judged.isel(cell=slice(0, 198, 20))
    found = resample_interval(some, meta_information, n=200, seed=1)
    interval = found["meta_i2r"]
    assert interval.notnull().all()
    assert (interval.sel(summary="lower") < interval.sel(summary="upper")).all()
    # A rating that is mostly wrong could be turned round only if there were two alternatives.
    said = {notice.code: notice.cells for notice in notices(meta_information(some))}
    missing = found["rmi"].sel(summary="estimate").isnull()
    assert set(some["cell"].to_numpy()[missing]) == set(said["rating-below-half"])
    assert 0 < int(missing.sum()) < some.sizes["cell"]
