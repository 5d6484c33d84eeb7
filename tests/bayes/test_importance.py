"""Draws by importance sampling are those of the posterior, and bad weights are found."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from hmetad import (
    InputError,
    ModelSpec,
    fit,
    from_nr,
    load_fit,
    load_model,
    notices,
    save_fit,
    simulate_counts,
)
from hmetad.base.monte_carlo import effective_draws
from hmetad.bayes import importance
from hmetad.bayes.density import evaluate_parts
from hmetad.bayes.importance import CellDensity, profile_cells
from hmetad.bayes.program import build_program

QUIET = {"progressbar": False, "quiet": True}
# d′ = 0, M near 0 and above 1, ratings that nobody used, and trials from few to many.
TRUTHS = (
    [0.0, 0.4, 1.0, 1.5, 2.5, 3.0],
    [1.0, 0.1, 1.4, 0.02, 0.8, 0.6],
    [0.3, 0, -0.4, 0, 0.6, 0],
)
TRIALS = (30, 60, 150, 400, 1000, 2000)


@pytest.fixture(scope="module")
def counts():
    tables = [
        simulate_counts(d, m_ratio=m, c=c, trials=n, ratings=4, seed=i).assign_coords(
            cell=[f"c{i}"]
        )
        for i, (d, m, c, n) in enumerate(zip(*TRUTHS, TRIALS, strict=True))
    ]
    return xr.concat(tables, "cell")


@pytest.mark.parametrize("name", ["individual", "hmetad_single", "dmc"])
def test_the_density_without_a_gradient_is_the_same(counts, name):
    program = build_program(counts, load_model(name))
    x = np.random.default_rng(1).normal(0, 0.5, program.arrays.size)
    values, none = np.zeros(len(program.counts)), np.empty(0)
    shared = evaluate_parts(x, program.packed, values, none)
    assert shared + values.sum() == pytest.approx(program.log_density(x)[0], rel=1e-12)
    # A cell's part is that of the cell by itself.
    alone = build_program(counts, load_model(name)).of_cells(np.array([2]))
    own = np.flatnonzero(program.arrays.owners == 2)
    value, _ = alone.log_density(x[own])
    assert values[2] + shared / len(values) == pytest.approx(value, rel=1e-9)


def test_nodes_are_modes_of_the_other_parameters(counts):
    program = build_program(counts, load_model("individual"))
    density = CellDensity(program)
    profiles = profile_cells(density, program.first_point[density.places])
    for j in range(0, profiles.main.shape[1], 5):
        points = np.concatenate([profiles.main[:, j, None], profiles.centre[:, j]], axis=1)
        _, slope = density.gradient(points[:, None])
        # In standard deviations of the parameters.
        decrement = np.einsum("nij,ni->nj", profiles.axes[:, j], slope[:, 0, 1:])
        assert abs(decrement).max() < 0.3
    # On both sides it goes on until little is left.
    fall = profiles.log_mass.max(axis=1, keepdims=True) - profiles.log_mass[:, [0, -1]]
    assert (fall > 8).all()


def test_a_cell_stays_where_its_tail_ends_while_others_go_on():
    other = simulate_counts(0, m_ratio=0.8, trials=1000, ratings=4, seed=3)
    hard = other.copy().assign_coords(cell=["hard"])
    hard[0] = [[[12, 14, 7, 2], [13, 5, 4, 3]], [[10, 21, 3, 4], [9, 7, 5, 1]]]
    program = build_program(xr.concat([hard, other], "cell"), load_model("individual"))
    density = CellDensity(program)
    profiles = profile_cells(density, program.first_point[density.places])
    assert (np.diff(profiles.log_mass[0])[np.diff(profiles.main[0]) == 0] == 0).all()


def draws_of(tree, name):
    return tree["posterior"][name].transpose("cell", ..., "chain", "draw").values


@pytest.mark.integration
@pytest.mark.parametrize(
    "model",
    [
        "individual",
        "hmetad_single",
        "dmc",
        "sdt",
        ModelSpec("own", likelihood="meta-d", scale="m"),
        ModelSpec("own", likelihood="meta-d", meta_criterion="absolute", scale="meta_d"),
        ModelSpec("own", likelihood="unequal-variance"),
    ],
    ids=lambda model: (
        model if isinstance(model, str) else f"{model.likelihood}-{model.choices['scale']}"
    ),
)
def test_chains_have_the_same_posterior(counts, model):
    ours = fit(counts, model, draws=4000, random_seed=1, **QUIET)
    theirs = fit(
        counts, model, draws=10_000, tune=1000, method="nuts", target_accept=0.95, random_seed=2,
        **QUIET,
    )  # fmt: skip
    assert (ours.attrs["method"], theirs.attrs["method"]) == ("importance", "nuts")
    assert not ours["sample_stats"]["by_chains"].any()
    kept = {"dprime", "c", "m_ratio", "meta_d", "criteria"} & {*ours["posterior"]}
    assert {"dprime", "c", "criteria"} <= kept
    for name in sorted(kept):
        a, b = draws_of(ours, name), draws_of(theirs, name)
        a, b = (x.reshape(-1, *x.shape[-2:]) for x in (a, b))
        worth = effective_draws(b)
        flat_a, flat_b = a.reshape(len(a), -1), b.reshape(len(b), -1)
        sd = flat_b.std(axis=1)
        error = 4 * np.sqrt(1 / worth + 1 / 4000)
        assert (abs(flat_a.mean(axis=1) - flat_b.mean(axis=1)) / sd < 0.03 + error).all()
        ends = (np.quantile(x, [0.025, 0.5, 0.975], axis=1) for x in (flat_a, flat_b))
        assert (abs(np.subtract(*ends)) / sd < 0.15 + error).all()


def test_draws_of_a_cell_rest_on_the_seed_and_its_place_alone(counts):
    whole = fit(counts, draws=200, chains=2, random_seed=3, **QUIET)
    again = fit(counts, draws=200, chains=2, random_seed=3, **QUIET)
    first = fit(counts.isel(cell=slice(2)), draws=200, chains=2, random_seed=3, **QUIET)
    other = fit(counts, draws=200, chains=2, random_seed=4, **QUIET)
    a = draws_of(whole, "log_m")
    np.testing.assert_array_equal(a, draws_of(again, "log_m"))
    np.testing.assert_allclose(a[:2], draws_of(first, "log_m"), rtol=1e-9)
    assert not np.allclose(a, draws_of(other, "log_m"))
    assert set(whole["sample_stats"]) == {
        "diverging", "divergences", "pareto_k", "effective_draws", "by_chains",
    }  # fmt: skip


def test_a_cell_whose_weights_have_no_variance_is_sampled_by_chains():
    # No errors, and the highest rating mostly: one of three gaps is large, and any of them may be.
    table = from_nr([18, 4, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 5, 13])
    forced = fit(table, method="importance", random_seed=1, **QUIET)
    assert float(forced["sample_stats"]["pareto_k"][0]) > 0.5
    assert "pareto-k" in [notice.code for notice in notices(forced)]
    found = fit(table, random_seed=1, **QUIET)
    assert found["sample_stats"]["by_chains"].all()
    assert "pareto-k" not in [notice.code for notice in notices(found)]


@pytest.fixture
def spoilt(monkeypatch):
    """Weights of one cell of 60 trials are bad, however many points there are."""
    draw = importance.draw_part

    def spoil(program, *rest):
        values, pareto_k, effective = draw(program, *rest)
        pareto_k[program.counts.sum(["stimulus", "response", "rating"]).values == 60] = 0.8
        return values, pareto_k, effective

    monkeypatch.setattr(importance, "draw_part", spoil)


@pytest.mark.usefixtures("spoilt")
def test_cells_with_bad_weights_are_sampled_by_chains(counts):
    found = fit(counts, draws=2000, random_seed=1, **QUIET)
    assert found["sample_stats"]["by_chains"].values.tolist() == [False, True, *[False] * 4]
    assert found["sample_stats"]["divergences"].sizes == {"cell": 6}
    assert "pareto-k" not in [notice.code for notice in notices(found)]
    chains = fit(counts.isel(cell=[1]), draws=2000, method="nuts", random_seed=2, **QUIET)
    a, b = draws_of(found, "log_m")[1], draws_of(chains, "log_m")[0]
    assert abs(a.mean() - b.mean()) / b.std() < 0.12


def test_what_cannot_be_weighed_is_sampled_by_chains_or_refused(counts):
    short = {"draws": 20, "tune": 20, "chains": 2, "random_seed": 1, **QUIET}
    people = counts.assign_coords(subject=("cell", counts["cell"].values))
    assert fit(people, "group", **short).attrs["method"] == "nuts"
    assert fit(counts, target_accept=0.9, **short).attrs["method"] == "nuts"
    separate = ModelSpec("own", likelihood="response-conditional")
    assert fit(counts, separate, **short).attrs["method"] == "nuts"
    with pytest.raises(InputError, match="cells share nothing"):
        fit(people, "group", method="importance", **short)
    with pytest.raises(InputError, match="'auto', 'nuts' or 'importance'"):
        fit(counts, method="laplace", **short)


@pytest.mark.parametrize(
    "card", ["individual", ModelSpec("own", likelihood="response-conditional")]
)
def test_a_cell_at_chance_leaves_the_chains_of_the_others_alone(card, tmp_path):
    """Sampled together, one cell's divergences would withhold the verdicts on all."""
    coords = {"model": ["chance", "able", "abler"]}
    counts = simulate_counts(
        [0.0, 1.5, 2.0], m_ratio=[0.8, 0.8, 0.6], trials=1500, coords=coords, seed=3
    )
    found = fit(counts, card, method="nuts", random_seed=1, target_accept=0.8, **QUIET)
    troubled = {
        cell
        for one in notices(found)
        if one.code in {"divergences", "rhat", "ess"}
        for cell in one.cells or ("all",)
    }
    assert troubled == {"chance"}
    # The others are what they are without it.
    rest = fit(counts[1:], card, method="nuts", random_seed=2, **QUIET)
    for cell in ("able", "abler"):
        a, b = (tree["posterior"]["log_m"].sel(cell=cell) for tree in (found, rest))
        assert (abs(a.mean(["chain", "draw"]) - b.mean(["chain", "draw"])) / b.std() < 0.12).all()
    # Steps of a hard cell are its own.
    steps = found["sample_stats"]["step_size"].mean(["chain", "draw"])
    assert steps.sel(cell="chance") != steps.sel(cell="able")
    again = load_fit(save_fit(found, tmp_path / "fit.nc"))
    # Files keep seven digits of what every cell has.
    stats = found["sample_stats"].to_dataset()
    xr.testing.assert_allclose(again["sample_stats"].to_dataset(), stats, rtol=1e-6)


def test_a_table_without_labels_is_that_of_the_usual_ones():
    labelled = simulate_counts([1.5, 1.0], m_ratio=0.8, trials=300, seed=3)
    plain = labelled.drop_vars([str(name) for name in labelled.coords])
    one, other = (
        fit(x, draws=50, random_seed=1, progressbar=False, quiet=True) for x in (labelled, plain)
    )
    np.testing.assert_array_equal(one["posterior"]["log_m"], other["posterior"]["log_m"])
    assert other["observed_data"]["response"].values.tolist() == ["S1", "S2"]


SCRIPT = """
import hmetad
counts = hmetad.simulate_counts([1.5, 1.0], trials=200, seed=1)
fit = hmetad.fit(counts, progressbar=False, quiet=True, random_seed=1)
"""


@pytest.mark.integration
def test_a_script_with_a_fit_ends_without_a_word():
    """Modules that are kept to the very end keep DuckDB, which then complains of it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
