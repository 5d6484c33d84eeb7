"""Bad chains are found, and verdicts hang on what they rest on: elsewhere trouble is only said."""

import numpy as np
import pytest
import xarray as xr
from scipy.signal import lfilter

from hmetad import ModelSpec, contrast, decide, notices, predict, rank
from hmetad.bayes.convergence import convergence_notices
from hmetad.bayes.finish import with_variable_notices
from hmetad.bayes.fitted import Fitted

CHAINS, DRAWS, PEOPLE = 4, 500, [*"abcd"]
ROPE = (-0.1, 0.1)


def table_of(cells, **columns):
    """Count table of these cells, for fits whose draws are made by hand."""
    outcomes = ["S1", "S2"], ["S1", "S2"], [1, 2]
    coords = dict(zip(("cell", "stimulus", "response", "rating"), (cells, *outcomes), strict=True))
    ones = np.ones((len(cells), 2, 2, 2), dtype=int)
    table = xr.DataArray(ones, coords, [*coords])
    return table.assign_coords({name: ("cell", own) for name, own in columns.items()})


def fake_fit(values, diverging=0):
    """A fit with given draws of d′ (chain, draw, cell)."""
    dims = ("chain", "draw", "cell")
    cells = [f"c{i}" for i in range(values.shape[-1])]
    posterior = xr.Dataset(
        {"dprime": (dims, values), "plugged": (dims, np.ones_like(values))},
        coords={"cell": cells, "chain": range(values.shape[0]), "draw": range(values.shape[1])},
    )
    flags = np.zeros(values.shape[:2], dtype=bool)
    flags.ravel()[:diverging] = True
    stats = xr.Dataset({"diverging": (dims[:2], flags)})
    observed = xr.Dataset({"counts": table_of(cells)})
    groups = {"posterior": posterior, "sample_stats": stats, "observed_data": observed}
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {"spec": ModelSpec("fake").to_json()}
    return tree


def chain_notices(tree):
    return convergence_notices(Fitted.of(tree))


def noticed(tree):
    """A fit that says what is wrong with it, of itself and of each variable."""
    return with_variable_notices(Fitted.of(tree).saying(chain_notices(tree)))


@pytest.fixture
def good():
    return np.random.default_rng(0).normal(size=(4, 1000, 2))


def test_chains_that_drift_together_are_found_in_their_cell(good):
    good[..., 1] = good[..., 1] * 0.1 + np.linspace(0, 3, 1000)
    found = {notice.code: notice for notice in chain_notices(fake_fit(good))}
    assert found["rhat"].cells == ("c1",)
    assert found["ess"].cells == ("c1",)
    assert "dprime" in found["rhat"].message
    # Constants that were plugged in are not judged.
    assert not any("plugged" in notice.message for notice in found.values())


@pytest.mark.parametrize(
    ("chains", "diverging", "code", "says"),
    [
        (4, 7, "divergences", "7 divergent transitions:"),
        (4, 1, "divergences", "1 divergent transition:"),
        (1, 0, "one-chain", ""),
    ],
)
def test_divergences_are_counted_and_one_chain_cannot_be_checked(
    good, chains, diverging, code, says
):
    assert chain_notices(fake_fit(good)) == []
    (notice,) = chain_notices(fake_fit(good[:chains], diverging))
    assert notice.code == code
    assert notice.message.startswith(says)


def test_draws_of_which_none_varies_have_no_rhat(good):
    (notice,) = chain_notices(fake_fit(np.zeros_like(good)))
    assert (notice.code, notice.severity) == ("rhat", "error")
    assert "dprime" in notice.message


def apart(shape):
    """Draws of chains that disagree."""
    rng = np.random.default_rng(3)
    return rng.normal(size=shape) + np.reshape(np.arange(CHAINS), (-1, *[1] * (len(shape) - 1)))


def slow(shape):
    """Draws of chains that agree and hold few effective draws: AR(1) with ρ = .97."""
    noise = np.random.default_rng(4).normal(size=(shape[0], shape[1] + 500, *shape[2:]))
    return lfilter([1], [1, -0.97], noise, axis=1)[:, 500:]


def group_fit(bad, how=apart, names=None):
    """A fit of four people in two tasks, in which one variable was sampled badly."""
    rng = np.random.default_rng(1)
    cells = [f"{who} | {task}" for who in PEOPLE for task in ("x", "y")]
    named = names or {}
    shapes = {
        "dprime_task": ("task_dim",),
        "dprime_task|subject_sigma": ("task__expr_dim",),
        "dprime_task|subject_corr": (),
        "c_task": ("task_dim",),
        "log_m_task": ("task_dim",),
        "log_m_task|subject_sigma": ("task__expr_dim",),
        "dprime": ("cell",),
        "c": ("cell",),
        "log_m": ("cell",),
    }
    sizes = {"task_dim": 2, "task__expr_dim": 2, "cell": len(cells)}
    values = {}
    for name, dims in shapes.items():
        shape = (CHAINS, DRAWS, *(sizes[dim] for dim in dims))
        drawn = rng.normal(3, 0.1, shape)
        is_bad = name == bad
        values[named.get(name, name)] = ("chain", "draw", *dims), how(shape) if is_bad else drawn
    values["m_ratio"] = (("chain", "draw", "cell"), np.exp(values["log_m"][1]))
    counts = table_of(cells, task=["x", "y"] * len(PEOPLE), subject=np.repeat(PEOPLE, 2))
    coords = {"task_dim": ["x", "y"], **counts["cell"].coords}
    posterior = xr.Dataset(values, {**coords, "chain": range(CHAINS), "draw": range(DRAWS)})
    stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((CHAINS, DRAWS), bool))})
    observed = xr.Dataset({"counts": counts})
    groups = {"posterior": posterior, "sample_stats": stats, "observed_data": observed}
    tree = xr.DataTree.from_dict(groups)
    formula = dict.fromkeys(("dprime", "c", "log_m"), "0 + task + (0 + task | subject)")
    tree.attrs = {"spec": ModelSpec("tasks", formula=formula, names=named).to_json()}
    return noticed(tree)


def codes(judged):
    """Codes that withhold verdicts, of each row."""
    return judged.table()["withheld"].tolist()


def between_tasks(fit):
    """Verdict on the difference of the population's log M between tasks, by its coefficients."""
    return decide(contrast(fit, var="log_m_task", over="task"), rope=ROPE)


@pytest.mark.parametrize("how", [apart, slow])
@pytest.mark.parametrize("bad", ["dprime_task|subject_corr", "c_task", "dprime"])
def test_trouble_elsewhere_is_a_warning_that_names_it(bad, how):
    fit = group_fit(bad, how)
    # The fit itself says that it is an error.
    assert {one.severity for one in notices(fit)} == {"error"}
    judged = between_tasks(fit)
    assert codes(judged) == [""]
    said = notices(judged)
    assert {one.severity for one in said} == {"warning"}
    assert all(bad in one.message for one in said)
    predicted = decide(contrast(predict(fit), var="log_m", over="task"), rope=ROPE)
    assert codes(predicted) == [""]
    assert {one.severity for one in notices(predicted)} == {"warning"}


@pytest.mark.parametrize(("how", "code"), [(apart, "rhat"), (slow, "ess")])
def test_a_coefficient_rests_on_itself_and_on_the_deviations_of_its_parameter(how, code):
    for bad in ("log_m_task", "log_m_task|subject_sigma"):
        fit = group_fit(bad, how)
        assert code in codes(between_tasks(fit))[0]
        predicted = decide(contrast(predict(fit), var="m_ratio", over="task"), rope=ROPE)
        assert code in codes(predicted)[0]
        # d′ does not rest on what log M rests on.
        other = decide(contrast(fit, var="dprime_task", over="task"), rope=ROPE)
        assert codes(other) == [""]


@pytest.mark.parametrize("bad", ["log_m_task", "log_m_task|subject_sigma"])
def test_variables_that_a_card_renames_rest_on_the_same(bad):
    names = {"log_m_task": "mu_log_m", "log_m_task|subject_sigma": "sigma_log_m"}
    fit = group_fit(bad, names=names)
    judged = decide(contrast(fit, var="mu_log_m", over="task"), rope=ROPE)
    predicted = decide(contrast(predict(fit), var="m_ratio", over="task"), rope=ROPE)
    plain = group_fit(bad)
    assert codes(judged) == codes(between_tasks(plain)) == ["rhat, ess"]
    assert codes(predicted) == ["rhat, ess"]
    other = decide(contrast(fit, var="dprime_task", over="task"), rope=ROPE)
    assert codes(other) == [""]


def test_a_cell_rests_on_its_own_draws():
    fit = group_fit("")
    posterior = fit["posterior"].to_dataset()
    draws = posterior["c"].transpose("chain", "draw", "cell").values
    draws[..., 0] = apart(draws.shape[:2])
    fit = fit.assign(posterior=xr.DataTree(posterior.assign(c=posterior["c"].copy(data=draws))))
    fit = noticed(fit)
    of_m = decide(contrast(fit, var="log_m", over="subject", within="task"), rope=ROPE)
    assert set(codes(of_m)) == {""}
    of_c = decide(contrast(fit, var="c", over="subject", within="task"), rope=ROPE)
    assert [bool(code) for code in codes(of_c)] == [True] * 3 + [False] * 9
    ranks = rank(fit, var="c", over="subject", within="task")
    assert ranks["withheld"].sel(cell=ranks["task"] == "y").values.tolist() == [""] * 4
    assert set(ranks["withheld"].sel(cell=ranks["task"] == "x").values.tolist()) == {"rhat, ess"}


def test_the_mean_of_people_is_judged_where_their_population_is_not():
    fit = group_fit("log_m_task|subject_sigma")
    people = decide(contrast(fit, var="m_ratio", over="task", within="subject"), rope=ROPE)
    assert set(codes(people)) == {""}
    assert {one.severity for one in notices(people)} == {"warning"}


def test_divergences_withhold_everything_but_those_of_a_cell_that_shares_nothing():
    fit = group_fit("")
    stats = fit["sample_stats"].to_dataset()
    stats["diverging"][0, :3] = True
    assert codes(between_tasks(noticed(fit.assign(sample_stats=xr.DataTree(stats))))) == [
        "divergences"
    ]
    number = xr.zeros_like(fit["posterior"]["cell"], dtype=int)
    number[0] = 3
    own = noticed(fit.assign(sample_stats=xr.DataTree(stats.assign(divergences=number))))
    (said,) = notices(own)
    assert said.cells == ("a | x",)
    assert said.message.startswith("3 divergent")
    judged = decide(contrast(own, var="log_m", over="subject", within="task"), rope=ROPE)
    # Of task x, a against the three others; then the others, and task y.
    assert codes(judged) == ["divergences"] * 3 + [""] * 9
