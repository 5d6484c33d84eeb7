"""Commands on trials whose confidence is numbers: nothing is binned unless asked."""

import re

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run

import hmetad
from hmetad.measures import measure_trials
from hmetad.notice import notice_of, with_notices

CODE = "ceiling"


@pytest.fixture
def answers(tmp_path):
    """Two models that answered the same items, with a probability for each answer."""
    rng = np.random.default_rng(1)
    hard = rng.normal(size=400)
    parts = []
    for place, model in enumerate("ab"):
        signal = 0.6 + 0.5 * place - hard + rng.normal(size=400)
        confidence = 1 / (1 + np.exp(-signal - rng.normal(size=400) / (place + 1)))
        rows = {"model": model, "item": np.arange(400), "correct": (signal > 0).astype(int)}
        parts.append(pd.DataFrame({**rows, "confidence": confidence}))
    pd.concat(parts).to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path


def test_measures_are_exact(answers):
    done = run(answers, "measures answers.csv --by model --correct correct --json")
    expected = hmetad.measures.measure_trials(pd.read_csv(answers / "answers.csv"), by="model")
    for row in done.answer["rows"]:
        one = expected.sel(cell=row["cell"])
        for name in ("auroc2", "auroc2_lower", "brier", "ece", "aurc"):
            assert row[name] == pytest.approx(one[name].item())
    assert "AUROC2" in run(answers, "measures answers.csv --by model --correct correct").stdout


def test_intervals_draw_items_whole(answers):
    line = "measures answers.csv --by model --correct correct --interval --cluster item"
    rows = run(answers, f"{line} --draws 200 --seed 1 --json").answer["rows"]
    asked = {"by": "model", "cluster": "item", "n": 200, "seed": 1}
    expected = hmetad.measures.resample_trials_interval(
        pd.read_csv(answers / "answers.csv"), **asked
    )
    for row in rows:
        upper = expected["ece"].sel(cell=row["cell"], summary="upper").item()
        assert row["ece_upper"] == pytest.approx(upper)


def test_ratings_are_counted_where_they_are_asked_for(answers):
    line = "measures answers.csv --by model --correct correct --quantiles 4 --json"
    assert "gamma_trapezoid" in run(answers, line).answer["rows"][0]
    clustered = f"{line} --interval --cluster item --draws 50 --seed 1"
    assert [row["cell"] for row in run(answers, clustered).answer["rows"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("measures answers.csv --correct correct --meta-d", "--meta-d"),
        ("measures answers.csv --correct correct --interval --method bca", "--method"),
        ("measures answers.csv --correct correct --by model --over set -o page.html", "--over"),
        ("measures answers.csv --correct correct --interval --cluster question", "question"),
    ],
)
def test_what_needs_ratings_is_refused(answers, line, says):
    assert says in refused(answers, line)


@pytest.fixture
def draws(answers):
    """Draws of 2,000 resamplings of the items."""
    line = "measures answers.csv --by model --correct correct --interval --cluster item"
    run(answers, f"{line} --draws 2000 --seed 1 -o draws.nc")
    return answers


def test_draws_are_compared_like_fits(draws):
    line = "compare draws.nc --var auroc2 --over model --rope=-0.01,0.01 --json"
    answer = run(draws, line).answer
    (row,) = answer["rows"]
    trials = pd.read_csv(draws / "answers.csv")
    asked = {"by": "model", "cluster": "item", "n": 2000, "seed": 1}
    drawn = hmetad.measures.resample_trials(trials, **asked)
    made = hmetad.decide(hmetad.contrast(drawn, var="auroc2", over="model"), rope=(-0.01, 0.01))
    expected = made.table().iloc[0]
    assert (row["verdict"], row["direction"]) == (expected["verdict"], expected["direction"])
    assert row["mean"] == pytest.approx(expected["mean"])
    assert answer["fits"]["draws"]["cluster"] == "item"
    assert answer["seed"] == 1
    ranked = run(draws, f"{line} --rank").answer["ranks"]
    assert len(ranked) == 2


@pytest.mark.parametrize(("var", "first"), [("auroc2", "largest"), ("brier", "smallest")])
def test_the_best_has_the_first_rank(draws, var, first):
    line = f"compare draws.nc --var {var} --over model --rope=-0.01,0.01 --rank"
    done = run(draws, f"{line} -o page.html")
    assert f"Ranks in {var}, the {first} first" in done.stdout
    by_rank = [row["cell"] for row in run(draws, f"{line} --json").answer["ranks"]]
    measured = hmetad.measures.measure_trials(pd.read_csv(draws / "answers.csv"), by="model")[var]
    is_less = first == "smallest"
    best = measured.idxmin("cell").item() if is_less else measured.idxmax("cell").item()
    assert by_rank[0] == best
    page = (draws / "page.html").read_text(encoding="utf-8")
    assert f"Rank 1 is the {first} value" in page


def test_a_level_is_left_out_of_contrasts_and_ranks(answers):
    trials = pd.read_csv(answers / "answers.csv")
    third = trials[trials["model"] == "a"].assign(model="c, d")
    third["confidence"] = np.random.default_rng(2).permutation(third["confidence"])
    pd.concat([trials, third]).to_csv(answers / "three.csv", index=False)
    line = "measures three.csv --by model --correct correct --interval --cluster item"
    run(answers, f"{line} --draws 500 --seed 1 -o three.nc")
    line = "compare three.nc --var accuracy --over model --rope=-0.01,0.01 --rank --json"
    answer = run(answers, f"{line} --without 'c, d'").answer
    assert [row["label"] for row in answer["rows"]] == ["a − b"]
    assert {row["cell"] for row in answer["ranks"]} == {"a", "b"}
    assert answer["without"] == ["c, d"]
    whole = run(answers, line).answer
    assert len(whole["rows"]) == 3
    assert answer["rows"][0] == whole["rows"][0]
    drawn = hmetad.bayes.load_draws(answers / "three.nc")
    noticed = with_notices(drawn["accuracy"], [notice_of(CODE, ["c, d"])])
    hmetad.bayes.save_draws(drawn.assign(accuracy=noticed), answers / "three.nc")
    for options, is_said in (("", True), (" --without 'c, d'", False)):
        found = run(answers, line + options).answer["notices"]
        assert (CODE in {one["code"] for one in found}) == is_said
    assert "Did you mean 'c, d'?" in refused(answers, f"{line} --without c,d")
    line = "compare three.nc --var accuracy --rope=-0.01,0.01"
    assert "--over: got nothing, with --without" in refused(answers, f"{line} --without a")


def test_draws_of_the_command_are_known_to_be_independent(draws):
    line = "compare draws.nc --var auroc2 --over model --rope=-0.01,0.01 --json"
    (row,) = run(draws, line).answer["rows"]
    assert row["rhat"] is None


def test_draws_have_a_page(draws):
    run(draws, "compare draws.nc --var ece --over model --rope=-0.01,0.01 -o page.html")
    page = (draws / "page.html").read_text(encoding="utf-8")
    assert "with item as the unit" in page
    assert "To run it again" in page


def test_many_pairs_have_ranks(answers):
    trials = pd.read_csv(answers / "answers.csv")
    rng, first = np.random.default_rng(2), trials[trials["model"] == "a"]
    more = [
        first.assign(model=f"x{k}", confidence=rng.normal(first["confidence"], 0.1 * k))
        for k in range(9)
    ]
    drawn = hmetad.measures.resample_trials(
        pd.concat([trials, *more]), by="model", cluster="item", n=500, seed=1
    )
    made = hmetad.decide(hmetad.contrast(drawn, var="auroc2", over="model"), rope=(-0.01, 0.01))
    page = hmetad.report.decisions_report(made, drawn)
    (ranks,) = [block for block in page.blocks if "ranks" in getattr(block, "name", "")]
    assert len(ranks.rows) == 11
    fewer = hmetad.compare.leave_out(drawn, "model", ["x0"])
    made = hmetad.decide(hmetad.contrast(fewer, var="auroc2", over="model"), rope=(-0.01, 0.01))
    page = hmetad.report.decisions_report(made, drawn)
    (kept,) = [block for block in page.blocks if "ranks" in getattr(block, "name", "")]
    assert "x0" not in [row[0] for row in kept.rows]
    assert len(kept.rows) == 10
    assert ranks.rows[0][0] in ("b", "x0", "a")


def test_counts_have_draws_too(answers):
    line = "measures answers.csv --by model --correct correct --quantiles 4 --interval"
    run(answers, f"{line} --cluster item --draws 200 --seed 1 -o counted.nc")
    line = "compare counted.nc --var gamma_trapezoid --over model --rope=-0.1,0.1 --json"
    assert run(answers, line).answer["rows"][0]["label"] == "a − b"


@pytest.mark.parametrize(
    ("condition", "status", "word"),
    [
        ("a worse than b", 1, "failed"),
        ("b better than a", 1, "failed"),
        ("b less than a", 0, "passed"),
        ("a different from b", 1, "failed"),
    ],
)
def test_a_gate_has_an_exit_status(draws, condition, status, word):
    line = "compare draws.nc --var auroc2 --over model --rope=-0.001,0.001 --json"
    done = run(draws, f'{line} --fail-if "{condition}"', status)
    assert done.answer["gate"]["outcome"] == word
    assert condition in done.answer["gate"]["because"]


def test_a_gate_without_a_verdict_says_so(draws):
    line = "compare draws.nc --var auroc2 --over model --rope=-0.001,0.001 --json --bonferroni"
    # Twenty draws of tails tell nothing of an interval of 99.99 %.
    done = run(draws, f'{line} --ci-prob 0.9999 --fail-if "b worse than a"', 3)
    assert done.answer["gate"]["outcome"] == "not judged"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ('--var overconfidence --fail-if "a worse than b"', "less than"),
        ('--var auroc2 --fail-if "a worse than c"', "a level"),
        ('--var auroc2 --fail-if "a is bad"', "worse than"),
        ("--var auroc2 --sensitivity", "--sensitivity"),
        ("--var auroc2 --population", "--population"),
        ("--var aurocc", "auroc2"),
    ],
)
def test_what_draws_cannot_say_is_refused(draws, options, says):
    assert says in refused(draws, f"compare draws.nc --over model --rope=-0.01,0.01 {options}")


def test_any_number_of_quantiles_needs_no_other_option(answers):
    line = "measures answers.csv --by model --correct correct --quantiles 50 --json"
    assert run(answers, line).answer["rows"][0]["auroc2"] > 0.5


def test_errors_about_ratings_speak_of_options(answers):
    trials = pd.read_csv(answers / "answers.csv")
    whole = trials.assign(confidence=(100 * trials["confidence"]).round().astype(int))
    whole.assign(stimulus="A", response="B").to_csv(answers / "whole.csv", index=False)
    said = refused(answers, "measures whole.csv --by model")
    assert "--quantiles 4" in said
    assert "ratings=" not in said
    assert "bin_confidence" not in said


@pytest.mark.parametrize(
    ("condition", "status"),
    [("a worse than b", 1), ("b worse than a", 0)],
)
def test_measures_have_a_gate(answers, condition, status):
    line = "measures answers.csv --by model --correct correct --interval --cluster item --seed 1"
    line = f"{line} --draws 4000 --rope=-0.001,0.001 --var accuracy --json"
    done = run(answers, f'{line} --fail-if "{condition}"', status)
    assert done.answer["gate"]["outcome"] == {0: "passed", 1: "failed"}[status]
    few = line.replace("--draws 4000", "--draws 12")
    assert run(answers, f'{few} --fail-if "{condition}"', 3).answer["gate"]["because"]
    said = refused(answers, f'measures answers.csv --by model --fail-if "{condition}"')
    assert "--interval and --rope" in said


def test_percentages_are_taken_as_they_are_and_ratings_are_counted(answers):
    trials = pd.read_csv(answers / "answers.csv")
    percent = trials.assign(confidence=(100 * trials["confidence"]).round().astype(int))
    percent.to_csv(answers / "percent.csv", index=False)
    line = "measures percent.csv --by model --correct correct --json"
    expected = measure_trials(percent, by="model")["auroc2"].to_numpy()
    assert [row["auroc2"] for row in run(answers, line).answer["rows"]] == pytest.approx(expected)
    said = refused(answers, f"{line} --ratings 101")
    assert "allowed is 1..101" in said


def test_repeated_items_are_told_beside_intervals_of_counts(answers):
    line = "measures answers.csv --by model --correct correct --quantiles 4 --interval --draws 20"
    codes = [one["code"] for one in run(answers, f"{line} --json").answer["notices"]]
    assert "repeated-items" in codes
    codes = [x["code"] for x in run(answers, f"{line} --cluster item --json").answer["notices"]]
    assert "repeated-items" not in codes


def test_what_is_drawn_whole_is_no_cell(answers):
    more = "--by model,item --interval --cluster item"
    for confidence in ("--correct correct", "--correct correct --quantiles 4"):
        assert "Leave item out of --by" in refused(
            answers, f"measures answers.csv {confidence} {more}"
        )


def test_less_aurc_is_better_in_a_gate_in_ranks_and_on_a_page(draws):
    """b is right more often, and has the better confidence."""
    line = "compare draws.nc --var aurc --over model --rope=-0.001,0.001"
    done = run(draws, f'{line} --fail-if "a worse than b" --rank --json', status=1)
    assert "shown by a − b, 0.079 [0.052, 0.109]" in done.answer["gate"]["because"]
    assert [row["cell"] for row in done.answer["ranks"]] == ["b", "a"]
    run(draws, f'{line} --fail-if "b worse than a"', status=0)
    run(draws, "measures answers.csv --by model --correct correct --cluster item -o page.md")
    assert re.search(r"b is best by .*AURC", (draws / "page.md").read_text(encoding="utf-8"))


def test_the_interval_on_the_terminal_has_its_level(answers):
    line = "measures answers.csv --by model --correct correct"
    assert "from, to: 95 % interval" in run(answers, line).stdout
    assert "from, to: 80 % interval" in run(answers, f"{line} --ci-prob 0.8").stdout


def test_notices_of_confidence_are_on_the_terminal_and_in_json(answers):
    trials = pd.read_csv(answers / "answers.csv")
    is_wrong = (trials["model"] == "b") & (trials["correct"] == 0)
    trials.assign(confidence=trials["confidence"].mask(is_wrong)).to_csv(answers / "shy.csv")
    line = "measures shy.csv --by model --correct correct"
    assert "confidence-missing; cell b" in run(answers, line).stderr
    found = run(answers, f"{line} --json").answer["notices"]
    assert [one["cells"] for one in found if one["code"] == "confidence-missing"] == [["b"]]


def test_a_passed_gate_says_its_interval_and_its_trials(draws):
    line = "compare draws.nc --var accuracy --over model --rope=-0.01,0.01 --json"
    gate = run(draws, f'{line} --fail-if "b worse than a"').answer["gate"]
    (row,) = run(draws, line).answer["rows"]
    interval = f"b − a, {-row['mean']:.3f} [{-row['upper']:.3f}, {-row['lower']:.3f}]"
    assert f"not shown by {interval}" in gate["because"]
    assert "trials: b 400, a 400" in gate["because"]


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("b not worse than a", 0),
        ("b better than a", 0),
        ("a not worse than b", 1),
        ("a not different from b", 1),
        ("a not greater than b", 0),
    ],
)
def test_a_gate_asks_for_what_must_be_shown(draws, condition, status):
    line = "compare draws.nc --var accuracy --over model --rope=-0.01,0.01 --json"
    done = run(draws, f'{line} --fail-unless "{condition}"', status)
    assert done.answer["gate"]["fail_unless"] == condition
    assert ("not shown by" in done.answer["gate"]["because"]) == bool(status)


def test_too_few_trials_to_show_non_inferiority_do_not_pass(answers):
    """What is not shown stops nothing by --fail-if, and stops a release by --fail-unless."""
    rng = np.random.default_rng(1)
    rows = {"model": ["new", "old"] * 30, "confidence": rng.uniform(size=60).round(2)}
    pd.DataFrame({**rows, "correct": rng.integers(0, 2, 60)}).to_csv(answers / "few.csv")
    line = "measures few.csv --by model --correct correct --interval --draws 2000 --seed 1"
    line = f"{line} --var accuracy --rope=-0.02,0.02"
    run(answers, f'{line} --fail-if "new worse than old"', status=0)
    run(answers, f'{line} --fail-unless "new not worse than old"', status=1)
    said = refused(answers, f'{line} --fail-if "new worse than old" --fail-unless "a less than b"')
    assert "one of the two" in said


@pytest.mark.parametrize(("name", "instead"), [("ece", "ece_debiased"), ("reliability", "reli")])
def test_a_gate_and_ranks_name_the_debiased_measure(draws, name, instead):
    line = f"compare draws.nc --var {name} --over model --rope=-0.01,0.01"
    for options in ('--fail-if "a worse than b"', '--fail-unless "a less than b"', "--rank"):
        said = refused(draws, f"{line} {options}")
        assert said.startswith("hmetad: --var: got")
        assert f"Take {instead}" in said


def test_a_page_of_two_sets_of_draws_says_how_each_was_made(draws):
    line = "measures answers.csv --by model --correct correct --interval --draws 500 --seed 2"
    run(draws, f"{line} -o trials.nc")
    line = "compare one=draws.nc two=trials.nc --var auroc2 --over fit --within model"
    run(draws, f"{line} --rope=-0.1,0.1 -o page.md")
    page = (draws / "page.md").read_text(encoding="utf-8")
    assert "one: 2,000 bootstrap draws, with item as the unit" in page
    assert "two: 500 bootstrap draws, with trial as the unit" in page


def test_directions_are_known_by_the_names_of_results(answers):
    line = "measures answers.csv --by model --correct correct --quantiles 4 --interval"
    run(answers, f"{line} --cluster item --draws 400 --seed 1 -o counted.nc")
    line = "compare counted.nc --var meta_i --over model --rope=-0.9,0.9"
    run(answers, f'{line} --fail-if "a worse than b"', status=0)


def test_worse_is_known_for_the_debiased_calibration_error(draws):
    line = "compare draws.nc --var ece_debiased --over model --rope=-0.5,0.5"
    run(draws, f'{line} --fail-if "a worse than b"', status=0)
