"""Observers crossed with items: what is integrated out, the density of it, and what fits say."""

import numpy as np
import pandas as pd
import pytest

import hmetad
from hmetad.bayes.program import build_program, with_loadings
from hmetad.specs.crossing import crossing_of
from hmetad.specs.loading import load_model
from hmetad.specs.spec import with_changes

OBSERVERS, ITEMS, RATINGS, OPTIONS = 3, 40, 4, 4
QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
FORMULA = {
    "m": "1 + (1 | subject)",
    "dprime": "1 + (1 | subject) + (1 | item)",
    "log_gap": "1 + (1 | subject)",
}
BOTH = FORMULA | {"log_spread": "(1 | item)"}


def answers(observers=OBSERVERS, items=ITEMS, seed=1, log_loadings=0.0):
    """Answers of observers to items that differ in how hard they are, and in confidence.

    Observers follow difficulty, and confidence in the opposite order, by these log loadings.
    """
    rng = np.random.default_rng(seed)
    item, observer = np.meshgrid(np.arange(items), np.arange(observers))
    loadings = np.exp(np.broadcast_to(log_loadings, observers))
    lead = 1.2 + loadings[observer] * rng.normal(0, 1, items)[item] + 0.4 * observer
    evidence = rng.normal(size=(*item.shape, OPTIONS))
    evidence[..., 0] += lead
    ordered = np.sort(evidence, axis=-1)
    moved = loadings[::-1][observer] * rng.normal(0, 0.7, items)[item]
    margin = (ordered[..., -1] - ordered[..., -2]) * np.exp(moved)
    rating = 1 + np.searchsorted([0.5, 1.0, 1.8], margin.ravel())
    return pd.DataFrame(
        {
            "subject": [f"m{x}" for x in observer.ravel()],
            "item": [f"q{x:02d}" for x in item.ravel()],
            "correct": (evidence.argmax(-1) == 0).ravel().astype(int),
            "confidence": rating,
        }
    )


def table(**sizes):
    trials = answers(**sizes)
    return hmetad.count_correct(trials, by=["subject", "item"], ratings=RATINGS, options=OPTIONS)


def model(formula):
    return with_changes(load_model("alternatives_crossed"), scale="m", formula=formula)


@pytest.fixture(scope="module")
def counts():
    return table()


def test_items_are_integrated_out_and_observers_are_not(counts):
    crossing = crossing_of(counts, model(BOTH))
    assert (crossing.factor, crossing.parameters) == ("item", ("dprime", "log_spread"))
    assert crossing.counts["subject"].values.tolist() == ["m0", "m1", "m2"]
    np.testing.assert_array_equal(
        crossing.counts.values, [counts[counts["subject"] == f"m{j}"].sum("cell") for j in range(3)]
    )
    assert crossing.answers.numbers.sum() == OBSERVERS * ITEMS


@pytest.mark.parametrize(
    "formula",
    [
        FORMULA | {"m": "1 + (1 | subject) + (1 | item)"},
        FORMULA | {"dprime": "1 + (1 | subject)"},
        {"m": "1", "dprime": "1 + (1 | item)", "log_gap": "1", "log_spread": "0"},
    ],
    ids=["an effect on M", "no effect of items", "one observer"],
)
def test_what_has_other_effects_or_one_observer_is_sampled(counts, formula):
    assert crossing_of(counts, model(formula)) is None


def test_one_effect_of_items_with_many_answers_is_sampled(counts):
    assert crossing_of(counts * 100, model(FORMULA | {"log_spread": "0"})) is None
    assert crossing_of(counts * 100, model(BOTH)) is not None


@pytest.mark.parametrize(
    "spread", ["(1 | subject)", "item + (1 | item)", "(1 | item) + (1 | subject)"]
)
def test_a_spread_of_anything_but_items_is_refused(counts, spread):
    with pytest.raises(hmetad.InputError, match="log_spread"):
        build_program(counts, model(FORMULA | {"log_spread": spread}))


@pytest.mark.parametrize("has_loadings", [False, True])
@pytest.mark.parametrize("formula", [FORMULA, BOTH], ids=["one effect", "two effects"])
def test_gradient_is_that_of_the_density(counts, formula, has_loadings):
    program = build_program(counts, model(formula))
    program = with_loadings(program) if has_loadings else program
    x = program.first_point + 0.1 * np.sin(np.arange(program.layout.size))
    _, gradient = program.log_density(x)
    step = 1e-5
    for i, own in enumerate(gradient):
        up, down = (program.log_density(x + s * np.eye(len(x))[i])[0] for s in (step, -step))
        assert own == pytest.approx((up - down) / (2 * step), abs=1e-6)


@pytest.mark.integration
def test_a_fit_has_a_row_for_each_observer_and_is_read_back(counts, tmp_path):
    drawn = hmetad.fit(counts, model(BOTH), draws=100, tune=100, chains=2, **QUIET)
    posterior = drawn["posterior"]
    assert posterior["m_ratio"]["subject"].values.tolist() == ["m0", "m1", "m2"]
    names = {"dprime_1|item_sigma", "log_spread_1|item_sigma", "1|item_corr"}
    assert names <= {*posterior.data_vars}
    again = hmetad.load_fit(hmetad.save_fit(drawn, tmp_path / "fit.nc"))
    own = hmetad.loo(drawn)
    assert own.n_data_points == ITEMS
    assert hmetad.loo(again, by="item").elpd == pytest.approx(own.elpd, abs=1e-3)


UNEQUAL = np.array([-0.9, 0.0, 0.9])


@pytest.fixture(scope="module")
def unequal():
    return table(items=200, log_loadings=UNEQUAL)


def elpd_of(found):
    return {name: found.attrs[name] for name in found.attrs if name.startswith("elpd_")}


def test_loadings_are_chosen_where_observers_follow_items_to_different_degrees(unequal):
    found = hmetad.fit_mle(unequal, "alternatives_crossed")
    elpd = elpd_of(found)
    assert elpd["elpd_difference"] > 2 * elpd["elpd_difference_se"]
    [notice] = [x for x in hmetad.notices(found) if x.code == "loadings"]
    assert notice.severity == "info"
    # A model without them says what it loses, and has the numbers of equal loadings.
    off = hmetad.fit_mle(unequal, load_model("alternatives_crossed", loadings=False))
    assert elpd_of(off) == pytest.approx(elpd)
    [notice] = [x for x in hmetad.notices(off) if x.code == "loadings"]
    assert notice.severity == "warning"
    assert off["loglik"].item() < found["loglik"].item() - 10


def test_loadings_are_not_chosen_where_observers_follow_items_equally():
    found = hmetad.fit_mle(table(items=100), "alternatives_crossed")
    elpd = elpd_of(found)
    assert elpd["elpd_difference"] < 2 * elpd["elpd_difference_se"]
    assert "loadings" not in [x.code for x in hmetad.notices(found)]
    off = hmetad.fit_mle(table(items=100), load_model("alternatives_crossed", loadings=False))
    np.testing.assert_array_equal(found["m_ratio"], off["m_ratio"])
    assert "loadings" in [x.code for x in hmetad.notices(off)]


def test_two_observers_have_no_loadings():
    found = hmetad.fit_mle(table(observers=2, items=30), "alternatives_crossed")
    assert elpd_of(found) == {}


@pytest.mark.integration
def test_a_fit_finds_loadings_and_its_elpd_is_that_of_the_choice(unequal, tmp_path):
    drawn = hmetad.fit(unequal, "alternatives_crossed", draws=300, chains=2, **QUIET)
    for name, truth in (("dprime", UNEQUAL), ("log_spread", UNEQUAL[::-1])):
        logs = drawn["posterior"][f"log_loading_{name}|item"]
        np.testing.assert_allclose(logs.sum("cell"), 0, atol=1e-6)
        sd = logs.std(["chain", "draw"]).values
        assert (abs(logs.mean(["chain", "draw"]).values - truth) < 3 * sd).all()
        assert (sd < 0.4).all()
    own = hmetad.loo(drawn)
    assert own.elpd == pytest.approx(drawn.attrs["elpd_loadings"], abs=3)
    again = hmetad.load_fit(hmetad.save_fit(drawn, tmp_path / "fit.nc"))
    assert hmetad.loo(again).elpd == pytest.approx(own.elpd, abs=1e-3)
