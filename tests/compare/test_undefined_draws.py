"""Up to 5 % of undefined draws are left out of what they are of, and of that alone."""

import numpy as np
import pytest
from drawn_cells import drawn_cells

import hmetad
from hmetad.base.notice import notices

ROPE = (-0.02, 0.02)
CENTRES = {"a": 0.6, "b": 0.7, "c": 0.8, "d": 0.9}


def draws_of(undefined, sets=("x",), chains=1, draws=2000):
    """Draws of four models in sets, of which a share of some cells is undefined."""
    rng = np.random.default_rng(1)
    cells = [(model, one) for one in sets for model in CENTRES]
    values = np.stack([rng.normal(CENTRES[m], 0.02, (chains, draws)) for m, _ in cells], axis=-1)
    for place, (model, one) in enumerate(cells):
        lost = rng.choice(draws, round(draws * undefined.get((model, one), 0)), replace=False)
        # Of several chains the first lacks most.
        values[0, lost, place] = np.nan
    columns = {"model": [m for m, _ in cells], "set": [s for _, s in cells]}
    found = drawn_cells(values, "auroc2", **columns)
    return found if chains > 1 else found.isel(chain=0).assign_attrs(sampling="independent")


def judged(draws, **options):
    contrasts = hmetad.contrast(draws, over="model", **options)
    decisions = hmetad.decide(contrasts, rope=ROPE)
    return decisions, decisions.table().set_index("label")


def codes_of(result):
    return [one.code for one in notices(result)]


def test_a_contrast_is_judged_by_the_draws_in_which_it_is_defined():
    draws = draws_of({("d", "x"): 0.02})
    decisions, table = judged(draws)
    assert set(table["verdict"]) <= {"different", "inconclusive"}
    kept = draws.isel(draw=np.isfinite(draws.sel(cell="d | x").values))
    expected = judged(kept)[1].loc["a − d"]
    for name in ("mean", "sd", "lower", "upper", "in_rope", "mcse_lower"):
        assert table.loc["a − d", name] == pytest.approx(expected[name]), name
    shares = table["undefined"].to_dict()
    assert shares == pytest.approx({x: 0.02 if "d" in x else 0 for x in table.index})
    (notice,) = [one for one in notices(decisions.results) if one.code == "undefined-draws"]
    assert notice.cells == ("a − d", "b − d", "c − d")
    assert "2.0%" in notice.message
    assert "undefined" in repr(decisions)
    record = hmetad.report.decisions_record(decisions)
    assert record["results"][2]["undefined"] == pytest.approx(0.02)
    assert codes_of(judged(draws_of({}))[0].results) == []


def test_beyond_the_limit_there_is_no_verdict_and_the_others_have_theirs():
    _, table = judged(draws_of({("d", "x"): 0.06}))
    assert (table["verdict"] == "unreliable").tolist() == ["d" in label for label in table.index]
    assert table.loc["a − d", "withheld"] == "undefined"
    assert np.isnan(table.loc["a − d", "mean"])
    assert table.loc["a − d", "undefined"] == pytest.approx(0.06)


def test_draws_of_chains_are_left_out_chain_by_chain():
    draws = draws_of({("d", "x"): 0.04}, chains=2, draws=1000)
    _, table = judged(draws)
    assert table.loc["a − d", "undefined"] == pytest.approx(0.02)
    assert table.loc["a − d", "verdict"] == "different"
    assert table.loc["a − d", "rhat"] < 1.01
    assert table.loc["a − d", "mean"] == pytest.approx(-0.3, abs=0.01)


def test_ranks_are_those_of_the_draws_in_which_all_that_is_ranked_is_defined():
    draws = draws_of({("d", "x"): 0.02, ("c", "x"): 0.04})
    ranks = hmetad.rank(draws, over="model")
    kept = draws.isel(draw=np.isfinite(draws.values).all(axis=1))
    expected = hmetad.rank(kept, over="model")
    for name in ("mean_rank", "p_best", "p_rank", "p_superior"):
        np.testing.assert_allclose(ranks[name], expected[name])
    assert ranks["undefined"].values == pytest.approx([0, 0, 0.04, 0.02])
    (notice,) = [one for one in notices(ranks) if one.code == "undefined-draws"]
    assert notice.cells == ("c | x", "d | x")
    assert f"{kept.sizes['draw'] / draws.sizes['draw']:.1%}" in notice.message
    assert hmetad.compare.rank_table(ranks)["undefined"].max() == pytest.approx(0.04)


def test_a_level_beyond_the_limit_is_not_ranked_and_the_others_are_as_without_it():
    draws = draws_of({("d", "x"): 0.06, ("c", "x"): 0.01})
    ranks = hmetad.rank(draws, over="model")
    assert ranks["withheld"].values.tolist() == ["", "", "", "undefined"]
    assert ranks["verdict"].values.tolist()[2:] == ["best", "unreliable"]
    without = hmetad.rank(draws.isel(cell=[0, 1, 2]), over="model")
    np.testing.assert_allclose(ranks["p_best"][:3], without["p_best"])
    assert np.isnan(ranks["mean_rank"][3])
    assert np.isnan(ranks["p_superior"].sel(other="d")).all()
    alone = hmetad.rank(draws_of({(m, "x"): 0.06 for m in "abc"}), over="model")
    assert alone["withheld"].values.tolist() == ["undefined"] * 3 + ["alone"]


def test_pooled_contrasts_keep_the_sets_of_which_few_draws_are_undefined():
    draws = draws_of({("d", "x"): 0.02, ("c", "y"): 0.07, ("a", "y"): 0.01}, sets="xyz")
    decisions, table = judged(draws, pool="set")
    lacking = table["not_pooled"].to_dict()
    assert lacking == {label: "y" if "c" in label else "" for label in table.index}
    assert table["undefined"].to_dict()["a − d"] == pytest.approx(0.03, abs=1e-3)
    assert set(table["withheld"]) == {""}
    assert "of 2 to 3 of 3 levels" in repr(decisions)
    ranks = hmetad.rank(draws, over="model", pool="set")
    assert (ranks["withheld"] == "").all()
    assert [one for one in notices(ranks) if one.code == "not-pooled"]
    defined = draws.sel(cell=draws["set"] != "y")
    expected = hmetad.rank(defined, over="model", pool="set")
    np.testing.assert_allclose(ranks["p_best"], expected["p_best"])


def test_sets_are_pooled_as_long_as_few_draws_lack_one_of_them():
    few = {("d", one): share for one, share in zip("wxyz", (0.02, 0.03, 0.01, 0.0), strict=True)}
    draws = draws_of(few, sets="wxyz")
    _, table = judged(draws, pool="set")
    # Of three sets some 6 % of the draws would lack one.
    assert table.loc["a − d", "not_pooled"] == "x"
    assert table.loc["a − b", "not_pooled"] == ""
    assert table.loc["a − d", "undefined"] < 0.05
    ranks = hmetad.rank(draws, over="model", pool="set")
    assert (ranks["undefined"] < 0.05).all()
    (notice,) = [one for one in notices(ranks) if one.code == "not-pooled"]
    assert "with them: x." in notice.message


def test_a_level_that_is_undefined_in_every_set_leaves_the_sets_to_the_others():
    draws = draws_of({("d", one): 0.5 for one in "xyz"}, sets="xyz")
    ranks = hmetad.rank(draws, over="model", pool="set")
    assert ranks["withheld"].values.tolist() == ["", "", "", "undefined"]
    assert "not-pooled" not in codes_of(ranks)
    expected = hmetad.rank(draws.sel(cell=draws["model"] != "d"), over="model", pool="set")
    np.testing.assert_allclose(ranks["p_best"][:3], expected["p_best"])
