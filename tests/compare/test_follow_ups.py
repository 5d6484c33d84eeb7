"""What is asked of contrasts and decisions follows from them, whichever way they were taken."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import hmetad
from hmetad import InputError, contrast, decide, decide_normal
from hmetad.compare import relation_table, repeat_decisions

UNEVEN_ROPE = (-0.02, 0.05)
RELATIONS = ("less than", "greater than", "different from")


def decided(mean, sd=0.005, draws=1000, rope=UNEVEN_ROPE, **options):
    """Decisions on the difference of level a from level b, with a ROPE that is not symmetric."""
    rng = np.random.default_rng(1)
    values = xr.DataArray(
        rng.normal([mean, 0], [sd, 1e-6], (4, draws, 2)),
        dims=("chain", "draw", "cell"),
        coords={"cell": ["a", "b"], "model": ("cell", ["a", "b"])},
        name="auroc2",
    )
    return hmetad.decide(hmetad.contrast(values, over="model", **options), rope=rope)


def shown(decisions, level, relation, other):
    (answer,) = relation_table(decisions, level, relation, other)["shown"]
    return answer


# Mean of a − b, and what is shown of a against b: less, greater, different; then not each.
CASES = [
    (-0.08, (True, False, True), (False, True, False)),
    (-0.02, (False, False, False), (False, True, False)),
    (0.01, (False, False, False), (True, True, True)),
    (0.05, (False, False, False), (True, False, False)),
    (0.2, (False, True, True), (True, False, False)),
]
TURNED = {"less than": "greater than", "greater than": "less than"}


@pytest.mark.parametrize(("mean", "plain", "negated"), CASES)
@pytest.mark.parametrize("against", ["a", "b"])
def test_a_relation_is_shown_whichever_way_the_contrast_was_taken(mean, plain, negated, against):
    rope = UNEVEN_ROPE if against == "b" else (-UNEVEN_ROPE[1], -UNEVEN_ROPE[0])
    decisions = decided(mean, rope=rope, against=against)
    for relation, is_so, is_not in zip(RELATIONS, plain, negated, strict=True):
        assert shown(decisions, "a", relation, "b") is is_so
        assert shown(decisions, "a", f"not {relation}", "b") is is_not
        turned = TURNED.get(relation, relation)
        assert shown(decisions, "b", turned, "a") is is_so
        assert shown(decisions, "b", f"not {turned}", "a") is is_not


def test_the_interval_is_that_of_the_first_minus_the_second():
    decisions = decided(0.2)
    row = decisions.table().iloc[0]
    (turned,) = relation_table(decisions, "b", "less than", "a").to_dict("records")
    assert turned["label"] == "b − a"
    assert (turned["rope_lower"], turned["rope_upper"]) == (-UNEVEN_ROPE[1], -UNEVEN_ROPE[0])
    found = [turned[name] for name in ("mean", "lower", "upper")]
    assert found == pytest.approx([-row["mean"], -row["upper"], -row["lower"]])


def test_an_end_near_the_rope_leaves_its_own_answer_open_alone():
    """The lower end is a hundredth of its Monte Carlo error from that of the UNEVEN_ROPE."""
    lower = decided(0.0, sd=0.1).table()["lower"].item()
    decisions = decided(0.0, sd=0.1, rope=(lower + 1e-5, 1.0))
    assert shown(decisions, "a", "not less than", "b") is None
    assert shown(decisions, "a", "not greater than", "b") is True


def test_what_is_withheld_shows_nothing():
    decisions = decided(0.2, draws=3)
    assert relation_table(decisions, "a", "greater than", "b")["shown"].tolist() == [None]
    assert relation_table(decisions, "a", "not less than", "b")["shown"].tolist() == [None]


def test_what_is_no_contrast_of_these_levels_is_refused():
    with pytest.raises(hmetad.InputError, match="level: got 'c'"):
        relation_table(decided(0.2), "c", "less than", "b")
    alone = hmetad.decide_normal([0.4], [0.05], rope=UNEVEN_ROPE)
    with pytest.raises(hmetad.InputError, match="no contrasts"):
        relation_table(alone, "a", "less than", "b")
    with pytest.raises(hmetad.InputError, match="relation"):
        relation_table(decided(0.2), "a", "worse than", "b")


def test_estimates_have_relations_as_draws_have():
    labels = {"left": ("pair", ["a"]), "right": ("pair", ["b"]), "pair": ["a − b"]}
    apart, error = (xr.DataArray([x], labels, ["pair"], "auroc2") for x in (0.2, 0.01))
    made = hmetad.decide_normal(apart, error, rope=UNEVEN_ROPE)
    assert shown(made, "a", "greater than", "b") is True
    assert shown(made, "b", "not less than", "a") is False


def draws_of_models(values, **attrs):
    cells = [f"model {i}" for i in range(values.shape[-1])]
    return xr.DataArray(
        values,
        dims=("chain", "draw", "cell"),
        coords={"cell": cells, "model": ("cell", cells)},
        name="log_m",
        attrs=attrs,
    )


def superior(values, **options):
    draws = hmetad.contrast(draws_of_models(values), over="model", kind="superiority", **options)
    return draws, hmetad.compare.superiority_table(draws)


def test_the_probability_is_the_share_of_draws_and_its_error_is_arviz_s():
    values = np.random.default_rng(1).normal([0.3, 0.0, 0.1], 0.5, (4, 500, 3)).cumsum(axis=1)
    values /= np.sqrt(np.arange(1, 501))[:, None]
    draws, table = superior(values)
    expected = [(values[..., a] > values[..., b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]
    assert table["p_superior"].to_numpy() == pytest.approx(expected)
    errors = az.mcse(draws.astype(float).rename("p").to_dataset(), method="mean")["p"]
    assert table["mcse"].to_numpy() == pytest.approx(errors.to_numpy(), rel=0.01)


def test_a_row_says_what_was_compared_and_what_was_held_equal():
    values = np.random.default_rng(1).normal(size=(4, 100, 4))
    coords = {"model": ("cell", list("aabb")), "task": ("cell", list("xyxy"))}
    draws = draws_of_models(values).assign_coords(coords)
    contrast = hmetad.contrast(draws, over="model", within="task", kind="superiority")
    said = hmetad.compare.superiority_table(contrast)[["label", "left", "right", "task"]]
    assert said.to_numpy().tolist() == [["a − b | x", "a", "b", "x"], ["a − b | y", "a", "b", "y"]]


def test_certainty_has_no_error_and_what_is_undefined_has_no_probability():
    values = np.random.default_rng(1).normal([9.0, 0.0, 0.1], 0.5, (4, 100, 3))
    values[0, :21, 2] = np.nan
    table = superior(values)[1].set_index("label")
    assert table.loc["model 0 − model 1", "p_superior"] == 1
    assert np.isnan(table.loc["model 0 − model 1", "mcse"])
    assert np.isnan(table.loc["model 0 − model 2", "p_superior"])


def test_draws_of_a_difference_are_refused():
    values = np.random.default_rng(1).normal(size=(4, 100, 2))
    with pytest.raises(hmetad.InputError, match="draws of superiority"):
        hmetad.compare.superiority_table(hmetad.contrast(draws_of_models(values), over="model"))


@pytest.mark.parametrize("name", ["p_superior", "mcse"])
def test_a_column_held_equal_is_not_called_like_the_probability(name):
    values = np.random.default_rng(1).normal(size=(4, 100, 2))
    draws = draws_of_models(values).assign_coords({name: ("cell", ["x", "x"])})
    found = hmetad.contrast(draws, over="model", within=name, kind="superiority")
    with pytest.raises(hmetad.InputError, match=f"by: got '{name}'"):
        hmetad.compare.superiority_table(found)


ROPE = (-0.1, 0.1)


def draws_of(seed, name="log_m", levels=("a", "b", "c"), tasks=(1, 2)):
    """Cells of a design levels × tasks, with means that differ."""
    rng = np.random.default_rng(seed)
    cells = [(level, task) for level in levels for task in tasks]
    means = 1 + rng.normal(size=len(cells))
    return xr.DataArray(
        np.abs(rng.normal(means, 0.1, (2, 400, len(cells)))),
        dims=("chain", "draw", "cell"),
        coords={
            "cell": [f"{a} | {b}" for a, b in cells],
            "model": ("cell", [a for a, _ in cells]),
            "task": ("cell", [b for _, b in cells]),
        },
        name=name,
    )


MATRIX = pd.DataFrame({"a": [1, 1 / 3], "b": [-0.5, 1 / 3], "c": [-0.5, -2 / 3]}, index=["p", "q"])


@pytest.mark.parametrize(
    "request_",
    [
        {"over": "model", "within": "task"},
        {"over": "model", "within": "task", "against": "b"},
        {"over": "model", "within": ["task"], "against": "a"},
        {"over": "task", "within": "model"},
        {"over": "task", "within": "model", "against": 2},
        {"over": "model", "within": "task", "kind": "log_ratio"},
        {"over": "model", "within": "task", "matrix": MATRIX},
        {"over": "model", "within": "task", "independent": True},
    ],
    ids=str,
)
def test_a_repeated_contrast_is_that_of_the_same_call(request_):
    name = "m_ratio" if request_.get("kind") else "log_m"
    first, other = draws_of(1, name), draws_of(2, name)
    rule = {"rope": ROPE, "null": 0.05, "ci_prob": 0.9, "ci_kind": "hdi", "comparisons": 3}
    made = decide(contrast(first, **request_), **rule)
    again = repeat_decisions(made, {"other": other})["other"]
    expected = decide(contrast(other, **request_), **rule)
    pd.testing.assert_frame_equal(again.table(), expected.table())
    assert not again.table()["mean"].equals(made.table()["mean"])
    for field in ("quantity", "rope", "null", "ci_prob", "ci_kind", "comparisons"):
        assert getattr(again, field) == getattr(made, field)


@pytest.mark.parametrize(
    "levels", [("1", "02", "1e3"), ("2020-01", "2021-01", "2022-01"), (1, 2, 4), (1.5, 2.5, 3.5)]
)
def test_levels_that_look_like_something_else_are_found_again_in_a_matrix(levels):
    draws = draws_of(1, levels=levels, tasks=(1,))
    matrix = pd.DataFrame(MATRIX.to_numpy(), index=["1", "2021-01"], columns=levels)
    made = decide(contrast(draws, over="model", matrix=matrix), rope=ROPE)
    again = repeat_decisions(made, {"same": draws})["same"]
    pd.testing.assert_frame_equal(again.table(), made.table())


def test_the_same_draws_give_the_same_decisions():
    draws = draws_of(1)
    made = decide(contrast(draws, over="model", within="task"), rope=ROPE)
    again = repeat_decisions(made, {"same": draws})["same"]
    pd.testing.assert_frame_equal(again.table(), made.table())


def test_pairs_that_were_chosen_stay_chosen():
    first, other = draws_of(1), draws_of(2)
    chosen = contrast(first, over="model", within="task").isel(pair=[1, 4])
    made = decide(chosen, rope=ROPE)
    again = repeat_decisions(made, {"other": other})["other"]
    expected = decide(contrast(other, over="model", within="task").isel(pair=[1, 4]), rope=ROPE)
    pd.testing.assert_frame_equal(again.table(), expected.table())


def test_fits_and_posteriors_are_found_by_the_quantity():
    first, other = draws_of(1), draws_of(2)
    made = decide(contrast(first, over="model", within="task"), rope=ROPE)
    dataset = other.to_dataset().assign(dprime=other + 1)
    tree = xr.DataTree.from_dict({"posterior": dataset})
    again = repeat_decisions(made, {"array": other, "dataset": dataset, "fit": tree})
    tables = [one.table() for one in again.values()]
    pd.testing.assert_frame_equal(tables[0], tables[1])
    pd.testing.assert_frame_equal(tables[0], tables[2])


def test_separate_fits_are_compared_as_separate_again():
    first, other = (
        {level: draws_of(seed, levels=(level,), tasks=(1,)) for level in "ab"} for seed in (1, 2)
    )
    request_ = {"var": "log_m", "over": "model", "independent": True}
    made = decide(contrast(first, **request_), rope=ROPE)
    again = repeat_decisions(made, {"other": other})["other"]
    expected = decide(contrast(other, **request_), rope=ROPE)
    pd.testing.assert_frame_equal(again.table(), expected.table())


def test_quantities_of_cells_and_single_numbers_are_judged_again():
    first, other = draws_of(1), draws_of(2)
    made = decide(first.isel(cell=[0, 3]), rope=ROPE)
    again = repeat_decisions(made, {"other": other})["other"]
    pd.testing.assert_frame_equal(again.table(), decide(other.isel(cell=[0, 3]), rope=ROPE).table())
    number = first.isel(cell=0, drop=True).rename("mu_log_m")
    made = decide(number, rope=ROPE)
    again = repeat_decisions(made, {"other": (number + 1).to_dataset(name="mu_log_m")})["other"]
    assert again.results["mean"].item() == pytest.approx(made.results["mean"].item() + 1)


def test_what_cannot_be_repeated_is_refused():
    made = decide(contrast(draws_of(1), over="model", within="task"), rope=ROPE)
    fewer = draws_of(2, levels=("a", "b"))
    with pytest.raises(InputError, match="fits: got 'fewer' without 'a − c"):
        repeat_decisions(made, {"fewer": fewer})
    normal = decide_normal([0.1], [0.2], rope=ROPE)
    with pytest.raises(InputError, match="decide_normal"):
        repeat_decisions(normal, {"other": fewer})
