"""Accuracies and responses of groups against print, simulation, every joint response and theory."""

import json
from itertools import product

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import gammaln
from scipy.stats import binom, norm

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.measures import groups
from hmetad.measures.groups import (
    combine_predictions,
    confidence_weighted_vote,
    convolve_members,
    enumerate_responses,
    group_bounds,
    joint_log_odds,
    majority_vote,
    predictionwise_vote,
)

ACCURACIES = st.integers(1, 6).flatmap(
    lambda K: arrays(np.float64, (3, K), elements=st.floats(0, 1))
)
BETTER_THAN_CHANCE = st.integers(1, 6).flatmap(
    lambda K: arrays(np.float64, K, elements=st.floats(0.5, 1))
)


def codes(result):
    return [notice.code for notice in notices(result)]


def votes_of(K):
    """Which members are right, in all possible ways; (2^K, K)."""
    return np.array(list(product([False, True], repeat=K)))


def weighted_vote(accuracy, weights):
    """Accuracy of the group by weights, ties split by half, from all ways to be right."""
    is_right = votes_of(len(accuracy))
    probability = np.where(is_right, accuracy, 1 - accuracy).prod(axis=1)
    lead = np.where(is_right, weights, -weights).sum(axis=1)
    # Leads that cancel are a rounding away from 0.
    share = np.where(abs(lead) < 1e-9, 0.5, lead > 0)
    return (probability * share).sum()


def random_levels(rng, members, levels, confidence=(0.5, 1.0)):
    """Shares and calibrated confidence of members."""
    return rng.dirichlet(np.ones(levels), members), rng.uniform(*confidence, (members, levels))


def random_members(rng, members, levels, prior):
    """Shares, confidence and best prediction of members who know the prior."""
    is_plus, is_minus = (rng.dirichlet(np.full(levels, 0.7), members) for _ in range(2))
    share = prior * is_plus + (1 - prior) * is_minus
    posterior = prior * is_plus / share
    confidence = np.maximum(posterior, 1 - posterior)
    return share, confidence, np.where(posterior > 0.5, "S2", "S1")


# --- print ----------------------------------------------------------------------------------


def test_three_members_at_seventy_percent_are_as_in_figure_8():
    # Printed: 78.4 % for binary, 82 % for normal and 89.2 % for uniform noise.
    three = [0.7, 0.7, 0.7]
    assert majority_vote(three).item() == pytest.approx(0.784, abs=1e-12)
    assert confidence_weighted_vote(three).item() == pytest.approx(0.784, abs=1e-12)
    bounds = group_bounds(three)
    assert bounds["lower"].item() == pytest.approx(0.784, abs=1e-12)
    assert bounds["upper"].item() == pytest.approx(0.892, abs=1e-12)
    uniform = predictionwise_vote([[0.6, 0.4]] * 3, [[0.5, 1.0]] * 3)
    assert uniform.item() == pytest.approx(0.892, abs=1e-12)
    binary = predictionwise_vote([[1.0]] * 3, [[0.7]] * 3)
    assert binary.item() == pytest.approx(0.784, abs=1e-12)
    assert normal_noise(3, 60) == pytest.approx(0.82, abs=5e-3)


def normal_noise(members, levels):
    """Accuracy of a group of normal observers, each right with .7, in levels of confidence."""
    half = norm.ppf(0.7)
    edges = np.append(np.linspace(0, 4.5, levels), np.inf)
    right, wrong = (np.diff(norm.cdf(edges, mean)) for mean in (half, -half))
    share = right + wrong
    return predictionwise_vote([share] * members, [right / share] * members).item()


@pytest.mark.parametrize(("members", "levels"), [(1, 10), (2, 80), (3, 120), (5, 60)])
def test_normal_observers_join_their_evidence(members, levels):
    # The evidence of K normal observers is that of one with √K times the d′. Levels cost a little:
    # as the square of their width, 1e-4 at a width of .075.
    expected = norm.cdf(np.sqrt(members) * norm.ppf(0.7))
    found = normal_noise(members, levels)
    assert expected - 2e-4 < found < expected + 1e-12
    if members == 3:
        # As the text has it.
        assert found == pytest.approx(0.8181, abs=2e-4)


# --- majority -------------------------------------------------------------------------------


@given(ACCURACIES)
def test_votes_are_counted_over_all_ways_to_be_right(accuracy):
    expected = [weighted_vote(row, np.ones(len(row))) for row in accuracy]
    np.testing.assert_allclose(majority_vote(accuracy), expected, atol=1e-14)
    # Who is mostly wrong is as useful as who is mostly right.
    mirrored = np.where(accuracy < 0.5, 1 - accuracy, accuracy)
    one, other = confidence_weighted_vote(accuracy), confidence_weighted_vote(mirrored)
    np.testing.assert_allclose(one, other, atol=1e-14)


@pytest.mark.parametrize("K", [1, 3, 11, 101])
@pytest.mark.parametrize("accuracy", [0.3, 0.5, 0.61, 0.99])
def test_members_who_are_alike_vote_by_the_binomial(K, accuracy):
    expected = pytest.approx(binom.sf(K // 2, K, accuracy), abs=1e-13)
    assert majority_vote([accuracy] * K).item() == expected
    # A member more makes an even number, which changes nothing.
    assert majority_vote([accuracy] * (K + 1)).item() == expected


@settings(max_examples=50)
@given(BETTER_THAN_CHANCE, st.integers(0, 2**31))
def test_no_weights_do_better_than_the_log_odds(accuracy, seed):
    best = confidence_weighted_vote(accuracy).item()
    rng = np.random.default_rng(seed)
    candidates = [np.ones(len(accuracy)), accuracy, *rng.normal(size=(20, len(accuracy)))]
    assert all(weighted_vote(accuracy, weights) <= best + 1e-12 for weights in candidates)
    log_odds = np.log(np.maximum(accuracy, 1e-300)) - np.log(np.maximum(1 - accuracy, 1e-300))
    assert weighted_vote(accuracy, log_odds) == pytest.approx(best, abs=1e-8)
    # The order, and a member who guesses, change nothing; nor does constant confidence.
    same = [confidence_weighted_vote(x) for x in (accuracy[::-1], [*accuracy, 0.5])]
    same += [predictionwise_vote(np.ones((len(accuracy), 1)), accuracy[:, None])]
    same += [group_bounds(accuracy)["lower"]]
    np.testing.assert_allclose([x.item() for x in same], best, rtol=0, atol=1e-14)


# --- predictions ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_simulated_group_is_right_as_often_as_computed(seed):
    rng, trials = np.random.default_rng(seed), 200_000
    share, confidence = random_levels(rng, 4, 3)
    truth = rng.random(trials) < 0.5
    level = np.stack([rng.choice(3, trials, p=row) for row in share], axis=-1)
    sure = confidence[np.arange(4), level]
    is_right = rng.random((trials, 4)) < sure
    responses = np.where(is_right, truth[:, None], ~truth[:, None])
    said = combine_predictions(responses, sure)
    hit = (said["response"].to_numpy() == truth).mean()
    # Four standard errors of a share of 200 000 trials, .0011 at most.
    bound = 4 * np.sqrt(hit * (1 - hit) / trials)
    assert predictionwise_vote(share, confidence).item() == pytest.approx(hit, abs=bound)
    assert said["confidence"].mean().item() == pytest.approx(hit, abs=bound)


@pytest.mark.parametrize("prior", [0.5, 0.35, 0.8])
def test_a_simulated_group_knows_of_unequal_priors(prior):
    rng, trials = np.random.default_rng(11), 200_000
    share, confidence, prediction = random_members(rng, 3, 4, prior)
    posterior = np.where(prediction == "S2", confidence, 1 - confidence)
    truth = rng.random(trials) < prior
    responses, sure = np.empty((trials, 3), dtype="U2"), np.empty((trials, 3))
    for k in range(3):
        for label, own in ((True, posterior[k] / prior), (False, (1 - posterior[k]) / (1 - prior))):
            level = rng.choice(4, (truth == label).sum(), p=share[k] * own)
            responses[truth == label, k] = prediction[k, level]
            sure[truth == label, k] = confidence[k, level]
    said = combine_predictions(responses, sure, prior=prior)
    hit = ((said["response"].to_numpy() == "S2") == truth).mean()
    expected = predictionwise_vote(share, confidence, prediction=prediction, prior=prior).item()
    bound = 4 * np.sqrt(hit * (1 - hit) / trials)
    assert expected == pytest.approx(hit, abs=bound)
    assert said["confidence"].mean().item() == pytest.approx(hit, abs=bound)


@pytest.mark.parametrize("prior", [0.5, 0.3, 0.85])
def test_the_bounds_contain_every_group_of_best_predictions(prior):
    rng = np.random.default_rng(5)
    for members in (1, 2, 3, 4) * 10:
        share, confidence, prediction = random_members(rng, members, 3, prior)
        vote = predictionwise_vote(share, confidence, prediction=prediction, prior=prior).item()
        says_s2 = prediction == "S2"
        right = share * confidence
        of_s2 = (right * says_s2).sum(axis=1) / prior
        of_s1 = (right * ~says_s2).sum(axis=1) / (1 - prior)
        bounds = group_bounds(of_s2, accuracy_s1=of_s1, prior=prior)
        assert bounds["lower"].item() - 1e-12 <= vote <= bounds["upper"].item() + 1e-12
        if members == 1:
            assert bounds["lower"].item() == pytest.approx(vote, abs=1e-12)
            assert bounds["upper"].item() == pytest.approx(vote, abs=1e-12)


@pytest.mark.parametrize("prior", [0.5, 0.7, 0.25])
def test_the_upper_bound_is_reached_by_members_who_are_certain_or_guess(prior):
    # Errors .1 of each member lie in guesses at ½ of the more frequent label.
    most = max(prior, 1 - prior)
    label, other = ("S2", "S1") if prior > 0.5 else ("S1", "S2")
    share, confidence = [[0.2, most - 0.1, 0.9 - most]] * 3, [[0.5, 1.0, 1.0]] * 3
    vote = predictionwise_vote(
        share, confidence, prediction=[label, label, other], prior=prior
    ).item()
    right = {label: 1.0, other: (0.9 - most) / (1 - most)}
    bounds = group_bounds([right["S2"]] * 3, accuracy_s1=[right["S1"]] * 3, prior=prior)
    assert vote == pytest.approx(1 - 0.1**3 / most**2, abs=1e-12)
    assert bounds["upper"].item() == pytest.approx(vote, abs=1e-12)


@pytest.mark.parametrize("prior", [0.5, 0.7, 0.25])
def test_the_lower_bound_is_reached_by_members_of_one_confidence_per_label(prior):
    # Posteriors of S2 are .95 and .2, and their mean is the prior.
    of_s2 = (prior - 0.2) / 0.75
    share, confidence = [[1 - of_s2, of_s2]] * 3, [[0.8, 0.95]] * 3
    vote = predictionwise_vote(share, confidence, prediction=["S1", "S2"], prior=prior).item()
    bounds = group_bounds(
        [of_s2 * 0.95 / prior] * 3,
        accuracy_s1=[(1 - of_s2) * 0.8 / (1 - prior)] * 3,
        prior=prior,
    )
    assert bounds["lower"].item() == pytest.approx(vote, abs=1e-12)


def test_levels_that_never_occur_may_lack_confidence():
    share, confidence = [[0.6, 0.4, 0.0]] * 3, [[0.5, 1.0, np.nan]] * 3
    vote = predictionwise_vote(share, confidence)
    assert vote.item() == pytest.approx(0.892, abs=1e-12)
    assert notices(vote) == []


# --- large groups ---------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch):
    """Bins from 64 joint responses on."""
    monkeypatch.setattr(groups, "MOST", 64)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("prior", [0.5, 0.72])
@pytest.mark.parametrize(("members", "levels"), [(14, 2), (7, 4), (4, 12)])
def test_binned_log_odds_give_the_accuracy_of_all_joint_responses(prior, members, levels):
    rng = np.random.default_rng(members)
    plus, minus = (rng.dirichlet(np.ones(levels), (1, members)) for _ in range(2))
    exact = enumerate_responses(plus, minus, prior).item()
    binned = convolve_members(plus, minus, prior).item()
    # Bins are .0012 wide, and cost of the order of the square of it.
    assert exact - 1e-7 < binned <= exact + 1e-13


@pytest.mark.usefixtures("few")
def test_certain_and_impossible_responses_are_binned_too():
    plus = np.array([[[0.7, 0.3, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0], [0.1, 0.2, 0.3, 0.4]] * 2])
    minus = np.array([[[0.3, 0.0, 0.7, 0.0], [0.5, 0.0, 0.0, 0.5], [0.4, 0.3, 0.2, 0.1]] * 2])
    exact = enumerate_responses(plus, minus, 0.5).item()
    assert convolve_members(plus, minus, 0.5).item() == pytest.approx(exact, abs=1e-7)


def test_a_member_with_many_levels_is_binned_in_parts():
    rng = np.random.default_rng(6)
    share, confidence = random_levels(rng, 3, 300)
    vote = predictionwise_vote(share, confidence)
    assert vote.attrs["method"] == "log-odds in bins of 0.0012"
    plus = np.concatenate([share * confidence, share * (1 - confidence)], axis=1)
    minus = np.concatenate([share * (1 - confidence), share * confidence], axis=1)
    two = np.outer(plus[0], plus[1]).ravel(), np.outer(minus[0], minus[1]).ravel()
    pairs = zip(plus[2], minus[2], strict=True)
    exact = sum(np.maximum(two[0] * a, two[1] * b).sum() / 2 for a, b in pairs)
    assert exact - 1e-6 < vote.item() <= exact + 1e-12


def test_upper_bounds_of_large_groups_neither_overflow_nor_underflow():
    assert group_bounds([0.6] * 1200, prior=0.5)["upper"].item() == 1
    assert group_bounds([0.5] * 1200, prior=0.5)["upper"].item() == pytest.approx(0.5, abs=1e-12)
    assert majority_vote([0.5] * 1201).item() == pytest.approx(0.5, abs=1e-12)


# --- what a group says ----------------------------------------------------------------------


@settings(max_examples=50)
@given(arrays(np.float64, (6, 4), elements=st.floats(0.01, 0.99)), st.floats(0.1, 0.9))
def test_the_posterior_of_a_group_is_bayes_rule(confidence, prior):
    responses = np.random.default_rng(3).choice(["S1", "S2"], confidence.shape)
    responses[0] = ["S1", "S2", "S1", "S2"]
    said = combine_predictions(responses, confidence, prior=prior)
    posterior = np.where(responses == "S2", confidence, 1 - confidence)
    of_s2 = prior * (posterior / prior).prod(axis=1)
    of_s1 = (1 - prior) * ((1 - posterior) / (1 - prior)).prod(axis=1)
    expected = np.maximum(of_s1, of_s2) / (of_s1 + of_s2)
    np.testing.assert_allclose(said["confidence"], expected, rtol=1e-11)
    decided = abs(of_s1 - of_s2) > 1e-9 * (of_s1 + of_s2)
    says_s2 = said["response"].to_numpy() == "S2"
    np.testing.assert_array_equal(says_s2[decided], (of_s2 > of_s1)[decided])


def test_a_tie_of_many_is_one_however_their_logarithms_round():
    factors = np.log(np.arange(2, 1001))
    weights = np.append(factors, -gammaln(1001))
    assert weights.sum() != 0
    log_odds, is_tie, is_torn = joint_log_odds(weights, 0.0)
    assert (log_odds, is_tie, is_torn) == (0, True, False)
    # Odds of 1.001 are none, however many balance beside it.
    assert not joint_log_odds(np.append(weights, 0.001), 0.0)[1]


def test_a_tie_goes_with_the_first_who_answered_and_is_said():
    said = combine_predictions(
        [["b", "a", "a"], ["a", "b", "b"], ["b", "a", "b"], ["a", "b", "b"]],
        [[0.9, 0.75, 0.75], [0.7, 0.7, np.nan], [np.nan, 0.6, 0.6], [0.5, 0.5, 0.5]],
    )
    # Odds of 9 against 3 × 3: a tie though their logarithms do not cancel exactly.
    assert said["is_tie"].all()
    assert said["response"].values.tolist() == ["b", "a", "a", "a"]
    assert said["confidence"].values.tolist() == [0.5] * 4
    assert said["log_odds"].values.tolist() == [0.0] * 4


def test_opposite_certainties_leave_no_confidence():
    said = combine_predictions([["b", "a"], ["b", "b"]], [[1.0, 1.0], [1.0, 0.6]])
    assert codes(said) == ["certain-and-opposed"]
    for name in ("confidence", "log_odds"):
        assert np.isnan(said[name].values).tolist() == [True, False]
    assert said["response"].values.tolist() == ["b", "b"]
    assert not said["is_tie"].any()


@pytest.mark.parametrize("gap", [None, np.nan])
def test_members_who_did_not_answer_are_left_out(gap):
    responses = np.array([["a", "b", gap], ["b", "b", "a"], [gap, gap, gap]], dtype=object)
    confidence = np.array([[0.6, 0.7, 0.9], [0.6, 0.7, np.nan], [0.6, 0.7, 0.8]])
    said = combine_predictions(responses, confidence, prior=0.4)
    assert codes(said) == ["members-left-out", "no-members"]
    alone = combine_predictions([["a", "b"], ["b", "b"]], confidence[:2, :2], prior=0.4)
    np.testing.assert_allclose(said["log_odds"][:2], alone["log_odds"])
    assert said["response"].values.tolist() == ["b", "b", "a"]
    assert said["confidence"][2].item() == pytest.approx(0.6)


def test_labels_are_those_that_were_said():
    for labels in ([False, True], [2, 10], ["no", "yes"]):
        said = combine_predictions([labels[::-1]], [[0.9, 0.6]])
        assert json.loads(said.attrs["labels"]) == labels
        assert said["response"].item() == labels[1]
        assert said["response"].dtype.kind == np.array(labels).dtype.kind


def test_labels_as_given_say_which_is_s2():
    responses, confidence = [["left", "left"]], [[0.6, 0.5]]
    said = combine_predictions(responses, confidence, labels=("right", "left"), prior=0.7)
    turned = combine_predictions(responses, confidence, labels=("left", "right"), prior=0.3)
    assert said["confidence"].item() == pytest.approx(turned["confidence"].item())
    assert said["response"].item() == turned["response"].item()
    assert json.loads(said.attrs["labels"]) == ["right", "left"]


# --- labels and shapes ----------------------------------------------------------------------


def accuracies():
    """Accuracies of three members in two cells, with a coordinate."""
    coords = {"cell": ["a", "b"], "member": ["x", "y", "z"], "task": ("cell", ["t", "u"])}
    return xr.DataArray([[0.7, 0.8, 0.9], [0.6, 0.7, 0.65]], coords, ("cell", "member"))


@pytest.mark.parametrize("vote", [majority_vote, confidence_weighted_vote, group_bounds])
def test_cells_keep_their_coordinates_and_further_dims_are_kept(vote):
    members = accuracies()
    result = vote(members)
    assert result.sizes == {"cell": 2}
    assert set(result.coords) == {"cell", "task"}
    assert json.loads(json.dumps(result.attrs)) == result.attrs
    draws = xr.concat([members, members], "draw").transpose("member", "draw", "cell")
    xr.testing.assert_equal(vote(draws).isel(draw=1), result)
    xr.testing.assert_equal(
        vote(members.values[1]), vote(members.isel(cell=1)).drop_vars(["cell", "task"])
    )
    assert vote(members.values).sizes == {"cell": 2}


@pytest.mark.parametrize("vote", [majority_vote, confidence_weighted_vote, group_bounds])
def test_a_missing_accuracy_is_nan_with_a_notice(vote):
    members = accuracies()
    members[0, 1] = np.nan
    result = vote(members)
    values = result.to_array() if isinstance(result, xr.Dataset) else result
    assert np.isnan(values.sel(cell="a")).all()
    assert np.isfinite(values.sel(cell="b")).all()
    assert [(notice.code, notice.cells) for notice in notices(result)] == [
        ("missing-member", ("a",))
    ]


def test_members_worse_than_the_prior_have_no_upper_bound():
    bounds = group_bounds(accuracies(), prior=0.65)
    assert [(notice.code, notice.cells) for notice in notices(bounds)] == [("below-prior", ("b",))]
    assert np.isnan(bounds["upper"].values).tolist() == [False, True]
    assert np.isfinite(bounds["lower"]).all()


def test_notices_of_the_members_are_carried_along():
    counts = from_nr([[5, 3, 2, 1]] * 3, [[1, 2, 4, 6]] * 3).rename(cell="member")
    table = type2_counts(counts)
    accuracy = (table.sel(correct="right").sum("rating") / 24).assign_attrs(table.attrs)
    assert notices(majority_vote(accuracy)) == notices(table) != []


# --- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accuracy", "message"),
    [
        ([70, 80], r"accuracy: .*Divide percentages by 100.*Expected probabilities.*got 70"),
        ([0.7, -0.1], "accuracy: .*Expected probabilities from 0 to 1.*, got -0.1"),
        ([], "accuracy: .*got no members"),
        (np.ones((2, 2, 2)), r"accuracy: .*pass a DataArray.*got 3 axes"),
        *[(x, "accuracy: Expected numbers") for x in (["a"], [[0.7], [0.7, 0.8]], xr.Dataset())],
        (xr.DataArray([0.7], dims="cell"), r"Expected dims \(memb.*, got dims \(cell\)"),
    ],
)
def test_what_is_no_accuracy_of_members_is_refused(accuracy, message):
    for vote in (majority_vote, confidence_weighted_vote, group_bounds):
        with pytest.raises(InputError, match=message):
            vote(accuracy)


FINE = {"share": [[0.6, 0.4]], "confidence": [[0.6, 0.85]]}
PAIR = {"responses": ["a", "b"], "confidence": [0.6] * 2}
THREE = {"responses": ["a", "b", "c"], "confidence": [0.6] * 3}
MISSED = "confidence: .*got dims"


@pytest.mark.parametrize(
    ("function", "changes", "message"),
    [
        (group_bounds, {"accuracy": [0.7], "prior": 1.2}, r"prior.*got"),
        (predictionwise_vote, {"share": [[0.6, 0.3]]}, r"share: .*Divide.*got .* add up to 0.9"),
        (predictionwise_vote, {"confidence": [[0.6, 0.7, 0.8]]}, f"{MISSED} member 1, rating 3"),
        (predictionwise_vote, {"prior": 0.6}, "prior: .*got 0.6 without prediction"),
        (predictionwise_vote, {"prediction": ["S1", "S3"]}, r"'S1' or 'S2'.*'S3'"),
        (predictionwise_vote, {"prediction": ["S2", "S2"]}, "makes S2 true with 0.7"),
        (predictionwise_vote, {"prediction": xr.DataArray(["S2"], dims="draw")}, "dims draw 1"),
        (combine_predictions, THREE, "got 3 labels: 'a', 'b', 'c'"),
        (combine_predictions, {"responses": ["a", "a"]}, r"labels=\(S1, S2\).*got 1 labels"),
        (combine_predictions, {"labels": ("a", "c")}, "labels: .*Expected all that.*, got .*'b'"),
    ],
)
def test_what_is_no_prediction_of_members_is_refused(function, changes, message):
    fine = {predictionwise_vote: FINE, combine_predictions: PAIR}.get(function, {})
    with pytest.raises(InputError, match=message):
        function(**(fine | changes))


def test_members_go_by_their_names():
    said = xr.DataArray([["a", "b"]], {"member": ["x", "y"]}, ("trial", "member"))
    sure = xr.DataArray([0.6, 0.9], {"member": ["x", "y"]}, ("member",))
    assert combine_predictions(said, sure)["response"].item() == "b"
    with pytest.raises(InputError, match="confidence"):
        combine_predictions(said, sure.assign_coords(member=["y", "z"]))


def test_an_array_beside_named_dims_has_the_same_dims():
    said = xr.DataArray([["a", "b"], ["b", "b"]], dims=("question", "member"))
    sure = np.array([[0.6, 0.9], [0.6, 0.7]])
    assert combine_predictions(said, sure)["response"].dims == ("question",)
    other = xr.DataArray(sure, dims=("item", "member"))
    with pytest.raises(
        InputError, match=r"confidence: .*Expected the.*, got dims item 2, member 2"
    ):
        combine_predictions(said, other)
    with pytest.raises(InputError, match="accuracy_s1"):
        group_bounds(other, accuracy_s1=sure.T[:, :1])
    assert group_bounds(other, accuracy_s1=sure)["lower"].dims == ("item",)
    assert group_bounds(other, accuracy_s1=sure[0])["lower"].dims == ("item",)


def test_shares_and_priors_rounded_by_hand_are_taken_for_exact():
    share, confidence = [[0.3333334, 0.3333333, 0.3333334]] * 2, [[0.5, 0.75, 1.0]] * 2
    exact = predictionwise_vote([[1 / 3, 1 / 3, 1 / 3]] * 2, confidence).item()
    assert predictionwise_vote(share, confidence).item() == pytest.approx(exact, abs=1e-7)
    certain = predictionwise_vote(
        [[0.2999999, 0.7000001]], [[1.0, 1.0]], prediction=["S1", "S2"], prior=0.7
    )
    assert certain.item() == 1
