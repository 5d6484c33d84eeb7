"""Influence of people on a population, against fits without them."""

import numpy as np
import pytest

import hmetad
from hmetad import InputError
from hmetad.bayes import influence

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}


@pytest.fixture(scope="module")
def counts():
    m = [0.8, 0.9, 0.7, 1.0, 0.75, 0.85, 0.8, 0.35]
    people = {"subject": list("abcdefgh")}
    return hmetad.simulate_counts([1.5] * 8, m_ratio=m, coords=people, trials=800, seed=4)


@pytest.fixture(scope="module")
def fitted(counts):
    return hmetad.fit(counts, "group", draws=1000, chains=4, **QUIET)


@pytest.mark.parametrize("person", ["h", "d", "a"])
def test_it_is_the_fit_without_the_person(counts, fitted, person):
    found = influence(fitted).sel(subject=person)
    rest = counts.isel(cell=(counts["subject"] != person).values)
    again = hmetad.fit(rest, "group", draws=1000, chains=4, **QUIET)["posterior"]["log_m_Intercept"]
    # Of 1,000 weighted draws, and of some 2,000 effective ones of the other fit. Without h weights
    # are uneven (k of .5 to 1): in eight fits the error had an SD of .11.
    sd, most = float(again.std()), 0.33 if person == "h" else 0.2
    assert found["mean_without"].item() == pytest.approx(float(again.mean()), abs=most * sd)
    assert found["sd_without"].item() == pytest.approx(sd, rel=0.2)
    whole = fitted["posterior"]["log_m_Intercept"]
    shift = float((whole.mean() - again.mean()) / whole.std())
    assert found["shift"].item() == pytest.approx(shift, abs=most)


def test_who_differs_most_comes_first(fitted):
    found = influence(fitted)
    assert found["subject"].values[0] == "h"
    # Fits without h give -.58, with an error as above.
    assert found["shift"][0] < -0.25
    assert (np.diff(np.abs(found["shift"])) <= 0).all()
    assert found.attrs["var"] == "log_m_Intercept"


def test_other_values_of_the_population(fitted):
    found = influence(fitted, "log_m_1|subject_sigma")
    # The spread between people is mostly due to the one who differs.
    assert found["subject"].values[0] == "h"
    assert found["shift"][0] > 0.5


def test_draws_of_any_number_of_the_population(fitted):
    values = fitted["posterior"]["log_m_Intercept"]
    named, given = influence(fitted), influence(fitted, 2 * values)
    np.testing.assert_allclose(given["shift"], named["shift"])
    np.testing.assert_allclose(given["mean_without"], 2 * named["mean_without"])
    with pytest.raises(InputError, match="isel"):
        influence(fitted, fitted["posterior"]["log_m"])


def test_what_has_no_influence_is_refused(counts, fitted):
    with pytest.raises(InputError, match="one number of the population"):
        influence(fitted, "m_ratio")
    with pytest.raises(InputError, match="by"):
        influence(fitted, by="task")
    with pytest.raises(InputError, match="seed"):
        influence(fitted, seed=np.random.default_rng(1))
    alone = hmetad.fit(counts.isel(cell=slice(0, 2)), draws=50, chains=2, **QUIET)
    with pytest.raises(InputError):
        influence(alone)
