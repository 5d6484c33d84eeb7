"""Observers crossed with items: what is integrated out, the density of it, and what fits say."""

from dataclasses import replace

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.metrics import roc_auc_score

import hmetad
from hmetad.bayes.chains import Request, announce, sample_together
from hmetad.bayes.crossed import Whitening, fitted_to_slopes
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.items import area_under, auroc2_by_items, drawn_at, right_outcomes
from hmetad.bayes.program import build_program, with_loadings
from hmetad.counts.tables import type2_counts
from hmetad.likelihood.crossed import Effects
from hmetad.likelihood.registry import load_likelihood
from hmetad.specs.crossing import crossing_of
from hmetad.specs.loading import load_model
from hmetad.specs.spec import with_changes

OBSERVERS, ITEMS, RATINGS, OPTIONS = 3, 40, 4, 4
QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
FORMULA = {
    "m": "1 + (1 | subject)",
    "dprime": "1 + (1 | subject) + (1 | item)",
    "log_gap": "1 + (1 | subject)",
    "log_spread": "0",
}
BOTH = FORMULA | {"log_spread": "(1 | item)"}


def answers(observers=OBSERVERS, items=ITEMS, seed=1, log_loadings=0.0, repeats=1):
    """Answers of observers to items that differ in how hard they are, and in confidence.

    Observers follow difficulty, and confidence in the opposite order, by these log loadings.
    """
    rng = np.random.default_rng(seed)
    observer, item, _ = np.indices((observers, items, repeats))
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
    assert crossing_of(counts * 100, model(FORMULA)) is None
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
    value, gradient = program.log_density(x)
    assert program.density_of_items.value(x) == pytest.approx(value, abs=1e-9)
    step = 1e-5
    for i, own in enumerate(gradient):
        up, down = (program.log_density(x + s * np.eye(len(x))[i])[0] for s in (step, -step))
        assert own == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_what_is_sampled_is_announced_where_progress_is_shown(counts, capsys):
    program = build_program(counts, model(BOTH))
    options = {"draws": 1000, "tune": 200, "chains": 4, "cores": 2, "random_seed": 1}
    for quiet in (True, False):
        announce(program, Request(options | {"quiet": quiet}).plan)
    said = "Sampling 3 cells over 40 items: 120 answers, 120 kB of memory. "
    assert capsys.readouterr().err.startswith(said)


class NormalDensity:
    """Log density of a normal distribution that is nobody's posterior, with a hole."""

    def __init__(self, mean, covariance):
        self.mean, self.precision = mean, np.linalg.inv(covariance)

    def at_moved(self, u):
        slope = -self.precision @ (u - self.mean)
        return slope @ (u - self.mean) / 2, np.full(len(u), np.nan) if u[0] > 2 else slope, None


def test_a_whitening_by_slopes_is_exact_of_a_normal_density():
    rng = np.random.default_rng(0)
    mean, root = np.array([0.3, -1.0, 0.5]), rng.normal(size=(3, 3)) / 4 + np.eye(3)
    points = rng.standard_normal((20, 3))
    rough = Whitening(np.zeros(3), np.eye(3), np.empty(0))
    found = fitted_to_slopes(lambda: NormalDensity(mean, root @ root.T), rough, points)
    np.testing.assert_allclose(found.centre, mean, atol=1e-12)
    np.testing.assert_allclose(found.factor @ found.factor.T, root @ root.T, atol=1e-12)


@pytest.mark.integration
def test_weighted_draws_are_those_of_chains():
    counts = table(items=200)
    weighted = hmetad.fit(counts, CARD, **QUIET)
    assert weighted.attrs["method"] == "importance"
    chains = hmetad.fit(counts, CARD, method="nuts", draws=250, **QUIET)
    names = [name for name, own in weighted["posterior"].items() if "cell" not in own.dims]
    assert {"m_subject", "dprime_1|item_sigma", "1|item_corr"} <= {*names}
    worth = float(weighted["sample_stats"]["effective_draws"].min())
    assert worth > 400
    for name in names:
        own, theirs = (fit["posterior"][name] for fit in (weighted, chains))
        sd = theirs.std(["chain", "draw"])
        error = sd * np.sqrt(1 / worth + 1 / az.ess(theirs))
        assert (abs(own.mean(["chain", "draw"]) - theirs.mean(["chain", "draw"])) < 4 * error).all()
        np.testing.assert_allclose(own.std(["chain", "draw"]), sd, rtol=0.2)


@pytest.mark.integration
def test_chains_are_run_where_weights_are_bad(counts, monkeypatch):
    monkeypatch.setattr(
        "hmetad.bayes.importance.smooth_weights", lambda ratios: (np.log(ratios * 0 + 1), 0.9)
    )
    settings = {"draws": 50, "tune": 50, "chains": 2, **QUIET}
    drawn = hmetad.fit(counts, model(BOTH), **settings)
    assert drawn.attrs["method"] == "nuts"
    assert "step_size" in drawn["sample_stats"]
    drawn = hmetad.fit(counts, model(BOTH), method="importance", **settings)
    assert drawn.attrs["method"] == "importance"
    assert "pareto-k" in {one.code for one in hmetad.notices(drawn)}


@pytest.fixture(scope="module")
def drawn(counts):
    return hmetad.fit(counts, model(BOTH), draws=100, tune=100, chains=2, **QUIET)


@pytest.mark.integration
def test_nodes_are_more_where_they_are_too_few(monkeypatch):
    counts = table(repeats=20)
    expected = hmetad.fit_mle(counts, "alternatives_crossed").loglik.item()
    monkeypatch.setattr("hmetad.specs.crossing.NODES", ((np.inf, (11, 11)),))
    few = build_program(counts, hmetad.load_model("alternatives_crossed"))
    enough = few.with_enough_nodes()
    assert few.crossing.fineness < enough.crossing.fineness
    finer = replace(enough, crossing=enough.crossing.finer)
    place = enough.whitening.centre
    values = [one.density_of_items.at_moved(place)[0] for one in (few, enough, finer)]
    assert abs(values[1] - values[2]) <= 0.5 < abs(values[0] - values[2])
    found = hmetad.fit_mle(counts, "alternatives_crossed").loglik.item()
    assert found == pytest.approx(expected, abs=0.5)


# 200 draws are few for Pareto's k.
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.integration
def test_a_fit_has_a_row_for_each_observer_and_is_read_back(drawn, tmp_path):
    posterior = drawn["posterior"]
    assert posterior["m_ratio"]["subject"].values.tolist() == ["m0", "m1", "m2"]
    names = {"dprime_1|item_sigma", "log_spread_1|item_sigma", "1|item_corr"}
    assert names <= {*posterior.data_vars}
    again = hmetad.load_fit(hmetad.save_fit(drawn, tmp_path / "fit.nc"))
    own = hmetad.loo(drawn)
    assert own.n_data_points == ITEMS
    assert hmetad.loo(again, by="item").elpd == pytest.approx(own.elpd, abs=1e-3)


@pytest.mark.integration
def test_a_fit_without_the_answers_of_items_is_refused(drawn, tmp_path):
    with pytest.raises(hmetad.InputError, match="crossed_answers"):
        hmetad.save_fit(drawn.filter(lambda one: one.name != "crossed_answers"), tmp_path / "x.nc")


@pytest.mark.integration
def test_the_same_items_are_fitted_again_under_other_choices(drawn):
    choice = "ratings taken together in pairs"
    assert choice in hmetad.bayes.other_choices(drawn)
    again = hmetad.sensitivity(drawn, [choice], **QUIET | {"draws": 20, "tune": 50})[choice]
    assert again["crossed_answers"]["number"].sum() == OBSERVERS * ITEMS
    assert again["observed_data"]["counts"].sizes["rating"] == RATINGS // 2


@pytest.mark.integration
def test_pymc_has_no_model_of_effects_that_are_integrated_out(counts):
    with pytest.raises(hmetad.InputError, match="log_spread, which PyMC's model does not have"):
        hmetad.build_model(counts, model(BOTH))


def posterior_of_item(fit, answers):
    """At every draw nodes of two effects, their weights given answers, and P of outcomes there.

    By the readable probabilities, at nodes of Gauss and Hermite.
    """
    places, weights = np.polynomial.hermite_e.hermegauss(80)
    z1, z2 = (x.ravel() for x in np.meshgrid(places, places, indexing="ij"))
    family = load_likelihood("alternatives", scale="m")
    for own, effects in zip(*drawn_at(Fitted.of(fit)), strict=True):
        (of_dprime, of_spread), rho = effects.sds, effects.correlation
        easy, spread = of_dprime * z1, of_spread * (rho * z1 + np.sqrt(1 - rho**2) * z2)
        log_p = []
        for options, dprime, m, *gaps in own:
            known = {"options": np.full(len(z1), options), "m_ratio": np.full(len(z1), m)}
            known |= {"dprime": dprime + easy, "log_gap": np.array(gaps) + spread[:, None]}
            log_p.append(family.outcomes(known))
        likelihood = np.exp(np.einsum("jqck,jck->q", log_p, answers))
        yield easy, spread, np.outer(weights, weights).ravel() * likelihood, np.exp(log_p)


@pytest.fixture(scope="module")
def at_two_draws(drawn):
    return drawn.assign(posterior=xr.DataTree(drawn["posterior"].to_dataset().isel(draw=[5])))


@pytest.mark.integration
def test_effects_of_items_are_those_of_quadrature_at_every_draw(at_two_draws, counts):
    found, moments = hmetad.bayes.item_effects(at_two_draws).sel(item="q07"), []
    answers = counts.isel(cell=counts["item"] == "q07").to_numpy()
    for easy, spread, weights, _ in posterior_of_item(at_two_draws, answers):
        moments.append([np.average([x, x**2], axis=1, weights=weights) for x in (easy, spread)])
    (easy, easy2), (spread, spread2) = np.mean(moments, axis=0)
    assert found["dprime"].item() == pytest.approx(easy, abs=1e-4)
    assert found["log_spread"].item() == pytest.approx(spread, abs=1e-4)
    assert found["dprime_sd"].item() == pytest.approx(np.sqrt(easy2 - easy**2), abs=1e-4)
    assert found["log_spread_sd"].item() == pytest.approx(np.sqrt(spread2 - spread**2), abs=1e-4)


@pytest.mark.integration
def test_cells_of_items_are_refused(drawn):
    with pytest.raises(hmetad.InputError, match=r"bayes\.item_effects has their effects"):
        hmetad.predict(drawn, {"subject": ["m0"], "item": ["q07"]}, group_terms=True)


@pytest.mark.integration
def test_measures_of_observers_are_those_over_items(drawn):
    """Not of the average item, which they get right more often."""
    found = hmetad.bayes.predict_measures(drawn, "share_right", group_terms=True)["share_right"]
    fitted = Fitted.of(drawn)
    at_average = np.exp(fitted.log_probabilities(fitted.posterior))
    at_average = at_average.sel(correct="right").sum("rating").mean(["chain", "draw"])
    assert (found.mean(["chain", "draw"]) < at_average - 0.01).all()
    counts = drawn["observed_data"]["counts"]
    observed = counts.sel(correct="right").sum("rating") / ITEMS
    # Two standard errors of 40 answers.
    np.testing.assert_allclose(found.mean(["chain", "draw"]), observed, atol=0.145)


@pytest.mark.integration
def test_what_items_foretell_does_not_depend_on_the_observers_own_answers(drawn):
    fitted = Fitted.of(drawn)
    found = auroc2_by_items(fitted)
    assert {*found} == {"dprime", "log_spread"}
    assert 0.5 < np.median(found["dprime"]) < 1
    # Whatever observer 0 rated, with the same right and wrong answers.
    answers = drawn["crossed_answers"].to_dataset()
    is_first, outcome = answers["cell_index"] == 0, answers["outcome_index"]
    turned = outcome // RATINGS * RATINGS + (outcome + 1) % RATINGS
    answers["outcome_index"] = outcome.where(~is_first, turned)
    observed = drawn["observed_data"].to_dataset()
    observed["counts"][0] = np.roll(observed["counts"][0], 1, axis=-1)
    groups = {"crossed_answers": xr.DataTree(answers), "observed_data": xr.DataTree(observed)}
    changed = auroc2_by_items(Fitted.of(drawn.assign(groups)))
    for name, areas in found.items():
        assert changed[name][0] == pytest.approx(areas[0])


def test_right_outcomes_are_those_of_type_2_tables(counts):
    for one in (counts, hmetad.simulate_counts([1.0, 2.0], seed=1)):
        right = type2_counts(one).sel(correct="right").sum("rating")
        np.testing.assert_array_equal(one.values.reshape(len(one), -1) @ right_outcomes(one), right)


@pytest.mark.parametrize("seed", range(3))
def test_areas_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    score, right, wrong = rng.integers(0, 6, 40), rng.integers(0, 3, 40), rng.integers(0, 2, 40)
    truth, repeated = np.repeat([1, 0], 40), np.tile(score, 2)
    expected = roc_auc_score(truth, repeated, sample_weight=np.concatenate([right, wrong]))
    assert area_under(score, right, wrong) == pytest.approx(expected)
    assert np.isnan(area_under(score, right, 0 * wrong))


CARD = "alternatives_crossed"
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


def test_estimates_of_items_have_the_likelihood_of_their_fit_and_none_near_has_more(unequal):
    found, spec = hmetad.fit_mle(unequal, "alternatives_crossed"), load_model(CARD)
    names = ["dprime_1|item_sigma", "log_spread_1|item_sigma", "1|item_corr"]
    best = np.array([found[name].item() for name in names])
    logs = np.stack([found[f"log_loading_{name}|item"] for name in ("dprime", "log_spread")], 1)
    np.testing.assert_allclose(logs.sum(axis=0), 0, atol=1e-12)
    gaps = np.log(np.diff(found["criteria"], prepend=0))
    rows = np.column_stack([found["options"], found["dprime"], found["m_ratio"], gaps])
    crossing = crossing_of(unequal, spec)
    likelihood = crossing.likelihood({"options": found["options"].values})

    def value(at, loadings):
        return likelihood.value(rows, Effects(tuple(at[:2]), at[2], loadings)).sum()

    highest = value(best, logs)
    assert highest == pytest.approx(found["loglik"].item(), abs=1e-6)
    for step in 0.05 * np.array([*np.eye(3), *-np.eye(3)]):
        assert value(best + step, logs) < highest
    assert value(best, np.zeros_like(logs)) < highest - 5


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
    # Three observers say who follows more, not by how much: the prior draws them to each other.
    for name, sign in (("dprime", 1), ("log_spread", -1)):
        logs = drawn["posterior"][f"log_loading_{name}|item"]
        np.testing.assert_allclose(logs.sum("cell"), 0, atol=1e-6)
        assert (sign * (logs[..., -1] - logs[..., 0]) > 0).mean() > 0.9
    likely = hmetad.fit_mle(unequal, CARD)
    for name in [name for name in likely if "|item" in name and not name.endswith("_se")]:
        draws, se = drawn["posterior"][name], likely[f"{name}_se"]
        assert (abs(draws.mean(["chain", "draw"]) - likely[name]) < 0.6 * se).all()
        np.testing.assert_allclose(draws.std(["chain", "draw"]), se, rtol=0.3)
    own = hmetad.loo(drawn)
    assert own.elpd == pytest.approx(drawn.attrs["elpd_loadings"], abs=3)
    again = hmetad.load_fit(hmetad.save_fit(drawn, tmp_path / "fit.nc"))
    assert hmetad.loo(again).elpd == pytest.approx(own.elpd, abs=1e-3)


@pytest.mark.integration
def test_integrated_effects_on_dprime_are_those_that_are_sampled(counts):
    """Posterior means of the old way and of the new one, within four Monte Carlo errors."""
    spec = model({"m": "0 + subject", "dprime": "0 + subject + (1 | item)", "log_spread": "0"})
    spec = with_changes(spec, formula={"log_gap": "0 + subject"})
    request = Request(
        {"draws": 500, "tune": 300, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}
    )
    found = []
    for integrates in (True, False):
        program = build_program(counts, spec, integrates=integrates)
        posterior = sample_together(program, request)["posterior"]
        names = ["m_subject", "dprime_subject", "log_gap_subject", "dprime_1|item_sigma"]
        found.append(az.summary(posterior.to_dataset()[names], round_to="none"))
    new, old = found
    assert (new["ess_bulk"] > 200).all()
    error = np.hypot(new["mcse_mean"], old["mcse_mean"])
    assert (abs(new["mean"] - old["mean"]) < 4 * error).all()
    assert (abs(new["sd"] / old["sd"] - 1) < 0.25).all()
