"""The 36 simulations are those of the paper, and what it prints of them comes out."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from hmetad.studies import higham2018
from hmetad.studies.comparison import is_reproduced
from hmetad.studies.run import reproduce


@pytest.fixture(scope="module")
def study():
    return higham2018.analyse(participants=20_000, seed=1)


@pytest.mark.integration
def test_means_of_the_trapezoid_are_the_area_of_the_population(study):
    worst = 0.0
    for sd_name, sd in higham2018.SDS.items():
        for name, d in higham2018.RESOLUTIONS.items():
            for scale in higham2018.SCALES:
                for bias in higham2018.BIASES:
                    low = 0 if bias == "conservative" else -2
                    high = d if bias == "liberal" else d + 2 * sd
                    criteria = np.linspace(high, low, scale - 1)
                    hits = np.r_[0, norm.sf(criteria, d, sd), 1]
                    area = trapezoid(hits, np.r_[0, norm.sf(criteria), 1])
                    place = {"sd": sd_name, "resolution": name, "scale": scale, "bias": bias}
                    found = study.models.sel(place | {"estimator": "trapezoid"})
                    se = np.sqrt(found["covariance"].sel(other="trapezoid").item())
                    worst = max(worst, abs(found["mean"].item() - (2 * area - 1)) / se)
    # The largest of 36 normal deviates is below 4.5 but once in 4000.
    assert worst < 4.5


def test_printed_wins_and_spreads_come_out(comparison):
    by_quantity = comparison.set_index(["row", "quantity"])
    wins = comparison[comparison["quantity"].isin(["wins of 9", "wins of 36"])]
    assert len(wins) == 5
    assert wins["agrees"].all()
    # Of nine models, some are a matter of chance, but not most.
    assert (wins["tolerance"] <= 3).all()
    worked = comparison[comparison["table"] == "worked example"]
    assert len(worked) == 8
    assert worked["agrees"].all()
    advantage = by_quantity.loc[("low resolution", "advantage in SD of trapezoid, 100 items")]
    assert advantage["ours"] == pytest.approx(0.023, abs=0.001)


def test_what_differs_is_the_smaller_experiment_and_is_explained(comparison):
    differing = comparison[~comparison["agrees"] & (comparison["table"] == "Variability")]
    few_low = "advantage in SD of trapezoid, 20 items"
    assert set(differing["quantity"]) <= {few_low, "advantage in SD of pairs, 20 items"}
    assert few_low in set(differing["quantity"])
    assert (differing["note"] != "").all()


def test_the_same_seed_gives_the_same_study(study):
    again = higham2018.analyse(participants=400, seed=3)
    assert again.models.equals(higham2018.analyse(participants=400, seed=3).models)
    assert not again.models["mean"].equals(study.models["mean"])


def test_the_report_shows_every_group_and_what_differs(shown):
    page = shown[1].markdown()
    assert page.count("Mean estimates less the true gamma") == 4
    assert "perhaps .050 was meant" in page
    assert "| Times nearer | Times in repeats |" in page


@pytest.mark.slow
def test_the_whole_study_is_reproduced(tmp_path):
    comparison = reproduce("higham2018", tmp_path)
    assert is_reproduced(comparison)
    assert comparison["agrees"].sum() == 23
    assert (tmp_path / "report.html").stat().st_size > 50_000
