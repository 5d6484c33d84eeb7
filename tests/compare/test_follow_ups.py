"""What is asked of contrasts and decisions follows from them, whichever way they were taken."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from drawn_cells import drawn_cells

from hmetad import InputError, contrast, decide, decide_normal
from hmetad.compare import relation_table, repeat_decisions, superiority_table

UNEVEN_ROPE = (-0.02, 0.05)


def decided(mean, sd=0.005, draws=1000, rope=UNEVEN_ROPE, **options):
    """Decisions on the difference of level a from level b, with a ROPE that is not symmetric."""
    values = np.random.default_rng(1).normal([mean, 0], [sd, 1e-6], (4, draws, 2))
    found = contrast(drawn_cells(values, "auroc2", model="ab"), over="model", **options)
    return decide(found, rope=rope)


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
RELATIONS = {
    "less than": "greater than",
    "greater than": "less than",
    "different from": "different from",
}


@pytest.mark.parametrize(("mean", "plain", "negated"), CASES)
@pytest.mark.parametrize("against", ["a", "b"])
def test_a_relation_is_shown_whichever_way_the_contrast_was_taken(mean, plain, negated, against):
    rope = UNEVEN_ROPE if against == "b" else (-UNEVEN_ROPE[1], -UNEVEN_ROPE[0])
    decisions = decided(mean, rope=rope, against=against)
    for (relation, turned), is_so, is_not in zip(RELATIONS.items(), plain, negated, strict=True):
        assert shown(decisions, "a", relation, "b") is is_so
        assert shown(decisions, "a", f"not {relation}", "b") is is_not
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
    """The lower end is a hundredth of its Monte Carlo error from that of the ROPE."""
    lower = decided(0.0, sd=0.1).table()["lower"].item()
    decisions = decided(0.0, sd=0.1, rope=(lower + 1e-5, 1.0))
    assert shown(decisions, "a", "not less than", "b") is None
    assert shown(decisions, "a", "not greater than", "b") is True


def test_what_is_withheld_shows_nothing():
    decisions = decided(0.2, draws=3)
    assert shown(decisions, "a", "greater than", "b") is None
    assert shown(decisions, "a", "not less than", "b") is None


def test_what_is_no_contrast_of_these_levels_is_refused():
    alone = decide_normal([0.4], [0.05], rope=UNEVEN_ROPE)
    for decisions, level, relation, says in (
        (decided(0.2), "c", "less than", "level: .*got 'c'"),
        (alone, "a", "less than", "no contrasts"),
        (decided(0.2), "a", "worse than", "relation"),
    ):
        with pytest.raises(InputError, match=says):
            relation_table(decisions, level, relation, "b")


def test_estimates_have_relations_as_draws_have():
    labels = {"left": ("pair", ["a"]), "right": ("pair", ["b"]), "pair": ["a − b"]}
    apart, error = (xr.DataArray([x], labels, ["pair"], "auroc2") for x in (0.2, 0.01))
    made = decide_normal(apart, error, rope=UNEVEN_ROPE)
    assert shown(made, "a", "greater than", "b") is True
    assert shown(made, "b", "not less than", "a") is False


def superior(values, **columns):
    draws = contrast(drawn_cells(values, **columns), over="model", kind="superiority")
    return draws, superiority_table(draws)


def test_the_probability_is_the_share_of_draws_and_its_error_is_arviz_s():
    values = np.random.default_rng(1).normal([0.3, 0.0, 0.1], 0.5, (4, 500, 3)).cumsum(axis=1)
    values /= np.sqrt(np.arange(1, 501))[:, None]
    draws, table = superior(values)
    expected = [(values[..., a] > values[..., b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]
    assert table["p_superior"].to_numpy() == pytest.approx(expected)
    errors = az.mcse(draws.astype(float).rename("p").to_dataset(), method="mean")["p"]
    assert table["mcse"].to_numpy() == pytest.approx(errors.to_numpy(), rel=0.01)


def test_certainty_has_no_error_and_what_is_undefined_has_no_probability():
    values = np.random.default_rng(1).normal([9.0, 0.0, 0.1], 0.5, (4, 100, 3))
    values[0, :21, 2] = np.nan
    table = superior(values)[1].set_index("label")
    assert table.loc["m0 − m1", "p_superior"] == 1
    assert np.isnan(table.loc["m0 − m1", "mcse"])
    assert np.isnan(table.loc["m0 − m2", "p_superior"])


ROPE = (-0.1, 0.1)


def draws_of(seed, name="log_m", levels=("a", "b", "c"), tasks=(1, 2)):
    """Cells of a design levels × tasks, with means that differ."""
    rng = np.random.default_rng(seed)
    models, tasks = [a for a in levels for _ in tasks], [b for _ in levels for b in tasks]
    means = 1 + rng.normal(size=len(models))
    values = np.abs(rng.normal(means, 0.1, (2, 400, len(models))))
    return drawn_cells(values, name, model=models, task=tasks)


def is_repeated(first, other, call, **rule):
    """Whether what was decided on the first is decided on the other as the same call would."""
    made = decide(call(first), rope=ROPE, **rule)
    again = repeat_decisions(made, {"other": other})["other"]
    expected = decide(call(other), rope=ROPE, **rule)
    pd.testing.assert_frame_equal(again.table(), expected.table())
    for field in ("quantity", "rope", "null", "ci_prob", "ci_kind", "comparisons"):
        assert getattr(again, field) == getattr(made, field)
    return not again.table()["mean"].equals(made.table()["mean"])


MATRIX = pd.DataFrame({"a": [1, 1 / 3], "b": [-0.5, 1 / 3], "c": [-0.5, -2 / 3]}, index=["p", "q"])
BY_TASK = {"over": "model", "within": "task"}


@pytest.mark.parametrize(
    "asked",
    [
        BY_TASK,
        BY_TASK | {"against": "b"},
        BY_TASK | {"within": ["task"], "against": "a"},
        {"over": "task", "within": "model"},
        {"over": "task", "within": "model", "against": 2},
        BY_TASK | {"kind": "log_ratio"},
        BY_TASK | {"matrix": MATRIX},
        BY_TASK | {"independent": True},
    ],
    ids=str,
)
def test_a_repeated_contrast_is_that_of_the_same_call(asked):
    name = "m_ratio" if asked.get("kind") else "log_m"
    rule = {"null": 0.05, "ci_prob": 0.9, "ci_kind": "hdi", "comparisons": 3}
    first, other = draws_of(1, name), draws_of(2, name)
    assert is_repeated(first, other, lambda x: contrast(x, **asked), **rule)
    assert not is_repeated(first, first, lambda x: contrast(x, **asked), **rule)


def test_pairs_cells_and_separate_fits_stay_as_they_were_chosen():
    first, other = draws_of(1), draws_of(2)
    assert is_repeated(first, other, lambda x: contrast(x, **BY_TASK).isel(pair=[1, 4]))
    assert is_repeated(first, other, lambda x: x.isel(cell=[0, 3]))
    apart = [
        {k: draws_of(seed + (k == "b"), levels=(k,), tasks=(1,)) for k in "ab"} for seed in (1, 3)
    ]
    asked = {"var": "log_m", "over": "model", "independent": True}
    assert is_repeated(*apart, lambda x: contrast(x, **asked))
    number = first.isel(cell=0, drop=True).rename("mu_log_m")
    made = decide(number, rope=ROPE)
    again = repeat_decisions(made, {"other": (number + 1).to_dataset(name="mu_log_m")})["other"]
    assert again.results["mean"].item() == pytest.approx(made.results["mean"].item() + 1)


@pytest.mark.parametrize(
    "levels", [("1", "02", "1e3"), ("2020-01", "2021-01", "2022-01"), (1, 2, 4), (1.5, 2.5, 3.5)]
)
def test_levels_that_look_like_something_else_are_found_again_in_a_matrix(levels):
    draws = draws_of(1, levels=levels, tasks=(1,))
    matrix = pd.DataFrame(MATRIX.to_numpy(), index=["1", "2021-01"], columns=levels)
    is_repeated(draws, draws, lambda x: contrast(x, over="model", matrix=matrix))


def test_what_cannot_be_repeated_is_refused():
    fewer = {"fewer": draws_of(2, levels=("a", "b"))}
    made = decide(contrast(draws_of(1), **BY_TASK), rope=ROPE)
    with pytest.raises(InputError, match=r"fits: .*got 'fewer' without 'a − c"):
        repeat_decisions(made, fewer)
    with pytest.raises(InputError, match="decide_normal"):
        repeat_decisions(decide_normal([0.1], [0.2], rope=ROPE), fewer)
