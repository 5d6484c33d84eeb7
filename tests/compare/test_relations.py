"""What intervals show of two levels, whichever way their contrast was taken."""

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad.compare import relation_table

ROPE = (-0.02, 0.05)
RELATIONS = ("less than", "greater than", "different from")


def decided(mean, sd=0.005, draws=1000, rope=ROPE, **options):
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
    rope = ROPE if against == "b" else (-ROPE[1], -ROPE[0])
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
    assert (turned["rope_lower"], turned["rope_upper"]) == (-ROPE[1], -ROPE[0])
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
    assert relation_table(decisions, "a", "greater than", "b")["shown"].tolist() == [None]
    assert relation_table(decisions, "a", "not less than", "b")["shown"].tolist() == [None]


def test_what_is_no_contrast_of_these_levels_is_refused():
    with pytest.raises(hmetad.InputError, match="level: got 'c'"):
        relation_table(decided(0.2), "c", "less than", "b")
    alone = hmetad.decide_normal([0.4], [0.05], rope=ROPE)
    with pytest.raises(hmetad.InputError, match="no contrasts"):
        relation_table(alone, "a", "less than", "b")
    with pytest.raises(hmetad.InputError, match="relation"):
        relation_table(decided(0.2), "a", "worse than", "b")


def test_estimates_have_relations_as_draws_have():
    labels = {"left": ("pair", ["a"]), "right": ("pair", ["b"]), "pair": ["a − b"]}
    apart, error = (xr.DataArray([x], labels, ["pair"], "auroc2") for x in (0.2, 0.01))
    made = hmetad.decide_normal(apart, error, rope=ROPE)
    assert shown(made, "a", "greater than", "b") is True
    assert shown(made, "b", "not less than", "a") is False
