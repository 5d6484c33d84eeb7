"""Maximum likelihood of choices among options, of right and wrong ones and of all."""

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import minimize
from scipy.stats import norm

from hmetad import (
    fit,
    fit_mle,
    load_model,
    measure,
    resample,
    simulate_counts,
)
from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.mle.scoring import CellLikelihood, penalised_modes

# Ratings of right and of wrong answers, the same for both stimuli.
RIGHT, WRONG = [120, 90, 60, 40], [40, 25, 10, 4]
SAME = ("dprime", "dprime_se", "m_ratio", "m_ratio_se", "meta_d", "meta_d_se", "log_m", "log_m_se")


def symmetric():
    """Count table of two stimuli that is the same for both."""
    return from_nr([*RIGHT[::-1], *WRONG], [*WRONG[::-1], *RIGHT])


def right_and_wrong(options, right=RIGHT, wrong=WRONG):
    """Type-2 table with a number of options."""
    coords = {"cell": ["all"], "correct": ["wrong", "right"], "rating": range(1, len(right) + 1)}
    counts = xr.DataArray([[wrong, right]], coords, ("cell", "correct", "rating"), name="counts")
    return counts.assign_coords(options=("cell", [options]))


def test_two_options_are_the_model_of_two_alternatives():
    today = fit_mle(symmetric())
    two = fit_mle(right_and_wrong(2, 2 * np.array(RIGHT), 2 * np.array(WRONG)))
    for name in SAME:
        assert two[name].item() == pytest.approx(today[name].item(), abs=1e-6), name
    np.testing.assert_allclose(two["criteria"][0], today["criteria"][0, 1], atol=1e-6)
    full = fit_mle(symmetric(), load_model("alternatives_biased", scale="m"))
    for name in SAME:
        assert full[name].item() == pytest.approx(today[name].item(), abs=1e-6), name


def margin_areas(d, m, edges):
    """P(wrong, margin between edges) and P(right, ...), by sums over a fine grid of evidence."""
    x = np.linspace(-9, 12, 8001)
    y = np.append(edges, 40.0)[:, None]
    own = [
        (m - 1) * norm.pdf(x) * norm.cdf(x - y - d) * norm.cdf(x - y) ** (m - 2),
        norm.pdf(x - d) * norm.cdf(x - y) ** (m - 1),
    ]
    return -np.diff([one.sum(axis=1) * (x[1] - x[0]) for one in own], axis=1)


def test_the_maximum_is_that_of_the_formulas():
    counts = np.array([WRONG, RIGHT])

    def loss(theta):
        d, meta, *log_gaps = theta
        choices = margin_areas(d, 4, np.zeros(1))[:, 0]
        edges = np.concatenate([[0.0], np.cumsum(np.exp(log_gaps))])
        areas = margin_areas(meta, 4, edges)
        shares = areas / areas.sum(axis=1, keepdims=True)
        return -(counts.sum(axis=1) @ np.log(choices) + (counts * np.log(shares)).sum())

    found = minimize(loss, [1.5, 1.0, -0.5, -0.5, -0.5], method="BFGS", options={"gtol": 1e-6})
    fitted = fit_mle(right_and_wrong(4))
    assert fitted["loglik"].item() == pytest.approx(-found.fun, abs=1e-6)
    assert fitted["option_d"].item() == pytest.approx(found.x[0], abs=1e-4)
    assert fitted["dprime"].item() == pytest.approx(np.sqrt(2) * found.x[0], abs=1e-4)
    assert fitted["m_ratio"].item() == pytest.approx(found.x[1] / found.x[0], abs=1e-4)
    edges = np.cumsum(np.exp(found.x[2:]))
    np.testing.assert_allclose(fitted["criteria"][0], edges / np.sqrt(2), atol=1e-4)


@pytest.mark.parametrize(
    "design",
    [
        {"likelihood": "alternatives", "options": [3, 4, 10]},
        {"likelihood": "biased-alternatives", "options": 3, "bias": [0.3, -0.2]},
    ],
    ids=["right and wrong", "all options"],
)
def test_the_truth_is_found_in_many_trials(design):
    m = np.array([0.5, 1.0, 1.3])
    counts = simulate_counts([1.0, 1.6, 2.4], m_ratio=m, trials=400_000, seed=1, **design)
    fitted = fit_mle(counts)
    assert fitted["converged"].all()
    for name, truth in (("m_ratio", m), ("dprime", [1.0, 1.6, 2.4])):
        assert (abs(fitted[name] - truth) < 4 * fitted[f"{name}_se"]).all(), name
        assert (fitted[f"{name}_se"] < 0.02).all()
    if "bias" in design:
        # Contrasts of Helmert, in the order of the labels.
        truth = np.array([0.3, -0.3, 0.0]) / np.sqrt(2) + np.array([-0.2, -0.2, 0.4]) / np.sqrt(6)
        assert (abs(fitted["biases"] - truth) < 4 * fitted["biases_se"]).all()


def test_confidence_that_runs_backward_has_a_negative_m():
    fitted = fit_mle(right_and_wrong(4, RIGHT, WRONG[::-1]))
    assert fitted["m_ratio"].item() < 0
    assert np.isnan(fitted["log_m"].item())
    assert "negative-meta-d" in {one.code for one in notices(fitted)}


def test_tables_with_any_dims_are_fitted():
    table = right_and_wrong(4)
    single = fit_mle(table.isel(cell=0))
    assert single["m_ratio"].dims == ()
    drawn = xr.concat([table, 2 * table], "draw").transpose("cell", "draw", ...)
    fitted = fit_mle(drawn)
    assert fitted["m_ratio"].dims == ("cell", "draw")
    np.testing.assert_allclose(fitted["m_ratio"][0], single["m_ratio"], atol=1e-6)
    np.testing.assert_allclose(fitted["loglik"][0, 1], 2 * single["loglik"], rtol=1e-9)


def test_trials_are_drawn_again_for_the_errors_of_m():
    counts = simulate_counts(
        1.8, m_ratio=0.8, trials=2000, seed=1, likelihood="alternatives", options=4
    )
    draws = resample(counts, lambda table: fit_mle(table)[["m_ratio"]], n=200, seed=1)
    fitted = fit_mle(counts)
    # A standard deviation of 200 draws has an error of 5 %.
    assert draws["m_ratio"].std().item() == pytest.approx(fitted["m_ratio_se"].item(), rel=0.2)


def test_a_model_card_is_maximised_too():
    counts = simulate_counts(
        [1.5, 2.0], trials=2000, seed=1, likelihood="alternatives", options=4,
        coords={"task": ["a", "b"]},
    )  # fmt: skip
    fitted = fit_mle(counts, load_model("alternatives", formula={"log_gap": "1"}))
    assert fitted.sizes["unit"] == 1
    assert fitted["parameters"].item() == 7
    np.testing.assert_allclose(*fitted["criteria"], atol=1e-12)


def test_right_and_wrong_of_a_full_table_have_about_the_same_m():
    design = {"likelihood": "biased-alternatives", "options": 4, "bias": [0.0, 0.0, 0.0]}
    full = simulate_counts(1.8, m_ratio=0.8, trials=40_000, seed=1, **design)
    both = fit_mle(full), fit_mle(type2_counts(full))
    errors = both[0]["m_ratio_se"].item(), both[1]["m_ratio_se"].item()
    # Biases that are not there cost next to nothing.
    assert errors[0] == pytest.approx(errors[1], rel=0.05)
    assert both[0]["m_ratio"].item() == pytest.approx(both[1]["m_ratio"].item(), abs=errors[0] / 4)


@pytest.mark.parametrize("likelihood", ["alternatives", "biased-alternatives"])
def test_compiled_scores_are_those_of_the_readable_probabilities(likelihood, monkeypatch):
    design = {"options": 4} if likelihood == "alternatives" else {"bias": [0.2, 0.1, 0.0]}
    counts = simulate_counts([1.0, 2.0], trials=300, seed=1, likelihood=likelihood, **design)
    record = load_model("alternatives" if "options" in design else "alternatives_biased").record
    given = {"options": np.array([4.0, 4.0])} if "options" in design else {}
    problem = CellLikelihood(record, counts.to_numpy().astype(float), given)
    rng = np.random.default_rng(1)
    size = sum(int(np.prod(shape, dtype=int)) for shape in problem.shapes.values())
    at = rng.normal(0, 0.4, (2, size))
    compiled = problem.evaluate(at)
    monkeypatch.setattr(CellLikelihood, "is_compiled", False)
    readable = problem.evaluate(at)
    for one, other, tolerance in zip(compiled, readable, (1e-12, 1e-7, 1e-7), strict=True):
        # Readable slopes are central differences.
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=1e-6)
    modes = penalised_modes(counts.to_numpy().astype(float), record, given)
    assert modes.is_converged.all()


@pytest.mark.parametrize("likelihood", ["alternatives", "biased-alternatives"])
def test_scores_are_the_same_if_cells_come_in_small_parts(likelihood, monkeypatch):
    counts = simulate_counts(
        [1.5, 2.0], trials=300, seed=1, likelihood=likelihood, options=3,
        **({} if likelihood == "alternatives" else {"bias": [0.2, 0.1]}),
    )  # fmt: skip
    together = fit_mle(counts)
    monkeypatch.setattr("hmetad.mle.scoring.SLOPES_AT_ONCE", 100)
    xr.testing.assert_allclose(fit_mle(counts), together, rtol=1e-12)


def test_a_single_response_is_not_said_to_go_against_the_stimuli():
    shown = np.zeros((1, 3, 3, 2), dtype=np.int64)
    shown[0, :, 0] = [[20, 30], [25, 25], [24, 26]]
    labels = [*"ABC"]
    counts = xr.DataArray(
        shown,
        {"cell": ["x"], "stimulus": labels, "response": labels},
        ("cell", "stimulus", "response", "rating"),
    )
    fitted = fit_mle(counts)
    assert np.isnan(fitted["dprime"].item())
    said = [str(one) for one in notices(fitted) if one.code == "dprime-sign"]
    assert len(said) == 1
    assert "is not clearly above 0" in said[0]


@pytest.mark.parametrize("kind", ["right and wrong", "options"])
def test_what_answers_that_are_all_right_do_not_tell_is_missing_with_the_reason(kind):
    table = right_and_wrong(4, RIGHT, [0, 0, 0, 0])
    if kind == "options":
        full = np.zeros((1, 3, 3, 4), dtype=np.int64)
        full[0, range(3), range(3)] = RIGHT
        table = xr.DataArray(full, {"cell": ["all"]}, ("cell", "stimulus", "response", "rating"))
    fitted = fit_mle(table.assign_coords(rating=range(1, 5)))
    for name in ("dprime", "dprime_se", "option_d", "meta_d", "m_ratio", "log_m"):
        assert np.isnan(fitted[name]).all(), name
    assert not fitted["converged"].item()
    codes = [one.code for one in notices(fitted)]
    assert "undefined-dprime" in codes
    assert "at-edge" not in codes


def test_errors_below_all_right_answers_leave_meta_d_open_and_d_not():
    fitted = fit_mle(right_and_wrong(4, [0, 0, 50, 50], [30, 10, 0, 0]))
    # 100 of 140 are right: SciPy has the d of this share.
    areas = [margin_areas(d, 4, np.zeros(1))[1, 0] for d in (1.54, 1.56)]
    assert areas[0] < 100 / 140 < areas[1]
    assert 1.54 < fitted["option_d"].item() < 1.56
    assert np.isnan([fitted["meta_d"].item(), fitted["m_ratio"].item()]).all()
    assert "meta-d-unbounded" in {one.code for one in notices(fitted)}


def test_a_scale_that_is_reversed_and_choices_at_chance_are_said_of_the_whole_table():
    design = {"trials": 500, "seed": 1, "options": 4, "likelihood": "alternatives"}
    backward = simulate_counts([1.5] * 4, m_ratio=-0.8, **design)
    assert "reversed-scale" in {one.code for one in notices(fit_mle(backward))}
    assert "reversed-scale" in {one.code for one in notices(measure(backward))}
    chance = {one.code for one in notices(fit_mle(simulate_counts([0.0] * 4, **design)))}
    assert "at-chance" in chance
    forward = {one.code for one in notices(fit_mle(simulate_counts([1.5] * 4, **design)))}
    assert not forward & {"reversed-scale", "at-chance"}


def test_a_table_of_options_is_told_which_card_takes_it():
    counts = simulate_counts(1.5, trials=200, seed=1, likelihood="biased-alternatives", options=3)
    with pytest.raises(InputError, match=r"count_correct.*alternatives_biased"):
        fit_mle(counts, "alternatives")


def test_what_does_not_tell_m_of_options_is_refused():
    table = right_and_wrong(4)
    with pytest.raises(InputError, match=r"measure\(\) needs no ratings"):
        fit_mle(table.isel(rating=[0]))
    with pytest.raises(InputError, match="trials in every cell"):
        fit_mle(table * 0)
    with pytest.raises(InputError, match=r"give options= where it is known: count_correct"):
        fit_mle(table.drop_vars("options"))


def test_weighted_counts_are_those_of_more_trials():
    """Of units that are drawn whole, with weights or by how often each was drawn."""
    table = right_and_wrong(4)
    once, weighted = fit_mle(table), fit_mle(2.25 * table)
    for name in ("m_ratio", "dprime"):
        np.testing.assert_allclose(weighted[name], once[name], rtol=1e-6)
        np.testing.assert_allclose(weighted[f"{name}_se"], once[f"{name}_se"] / 1.5, rtol=1e-4)
    with pytest.raises(InputError, match="whole numbers"):
        fit(2.25 * table)
