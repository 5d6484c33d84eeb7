"""What is asked of contrasts and decisions follows from them, whichever way they were taken."""

import numpy as np
import pytest
import xarray as xr
from drawn_cells import drawn_cells

from hmetad import InputError, contrast, decide, decide_normal
from hmetad.compare import relation_table

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
