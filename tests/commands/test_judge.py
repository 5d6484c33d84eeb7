"""`hmetad judge` says what its functions say, and its page has the answer first."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run, tells
from scipy.stats import norm

import hmetad
from hmetad.report.contents.judge_report import pair_in_words

ASK = "judge outputs.csv --label human --verdict verdict --by judge --cluster item"
RATES = "--labels random --pass-rate"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """800 outputs to 200 questions, 240 with a label; judge new is stricter than old, as sharp."""
    rng = np.random.default_rng(1)
    good = rng.uniform(size=800) < 0.6
    evidence = 2.0 * good + rng.normal(size=800)
    label = np.where(rng.permutation(800) < 240, np.where(good, "good", "bad"), "")
    parts = []
    for judge, cut in {"old": 0.8, "new": 1.6}.items():
        score = evidence + 0.1 * rng.normal(size=800)
        own = {"judge": judge, "item": np.arange(800) // 4, "score": score.round(3)}
        parts.append(pd.DataFrame({**own, "verdict": (score >= cut).astype(int), "human": label}))
    folder = tmp_path_factory.mktemp("judges")
    pd.concat(parts).to_csv(folder / "outputs.csv", index=False)
    return folder


def counted(folder, **given):
    trials = pd.read_csv(folder / "outputs.csv")
    columns = {"label": "human", "verdict": "verdict"}
    return hmetad.count_judged(trials, by=["judge", "item"], **columns, **given)


def test_rows_are_those_of_the_functions(outputs):
    answer = run(outputs, f"{ASK} --score score {RATES} --draws 400 --seed 3 --json").answer
    judged = counted(outputs, score="score")
    found = hmetad.measures.judge(judged, cluster="item")
    assert [row["cell"] for row in answer["rows"]] == found["cell"].values.tolist()
    for name in ("dprime", "dprime_se", "c", "auroc", "r2_ratings", "labelled", "pooled"):
        assert [row[name] for row in answer["rows"]] == pytest.approx(found[name].values.tolist())
    rates = hmetad.pass_rate(judged, labels="random", cluster="item", n=400, seed=3)
    expected = rates.quantile([0.025, 0.975], ("chain", "draw")).values.T
    ends = [[row["pass_rate_lower"], row["pass_rate_upper"]] for row in answer["rows"]]
    np.testing.assert_allclose(ends, expected)
    assert all(low < 0.6 < high for low, high in ends)
    assert answer["seed"] == 3


def test_judges_are_compared_with_one_and_draws_are_those_of_compare(outputs):
    ask = f"{ASK} {RATES} --against old --rope=-0.4,0.4 --rate-rope=-0.05,0.05 --draws 500 --seed 1"
    answer = run(outputs, f"{ask} -o draws.nc --json").answer
    verdicts = {name: answer[name][0]["verdict"] for name in ("dprime", "c", "pass_rate")}
    # True differences are 0, .8 and 0.
    assert (verdicts["c"], verdicts["pass_rate"]) == ("different", "negligible")
    assert answer["c"][0]["mean"] == pytest.approx(0.8, abs=0.25)
    line = "compare draws.nc --var c --over judge --against old --rope=-0.4,0.4"
    again = run(outputs, f"{line} --json --fail-unless 'new not less than old'", status=0).answer
    assert again["rows"][0]["mean"] == pytest.approx(answer["c"][0]["mean"])


def test_the_page_answers_first(outputs):
    ropes = "--rope=-1,1 --rate-rope=-0.05,0.05"
    run(outputs, f"{ASK} --score score {RATES} --against old {ropes} --seed 1 -o page.md")
    text = (outputs / "page.md").read_text()
    first = text.split("## Answer")[1].split("\n\n")[1]
    assert first.startswith(
        "Verdicts of new tell good outputs from bad ones as well as those of old"
    )
    assert "Pass rate of new minus the pass rate of old: " in first
    assert "Pass rate: 0." in text
    assert "R² of the ratings" in text
    assert text.count("less than half of the variance of the labels") == 1
    # Without a score it is that of the verdict.
    run(outputs, f"{ASK} -o verdicts.md")
    assert "R² of the ratings" not in (outputs / "verdicts.md").read_text()


def test_sentences_and_errors_name_the_domain(outputs, tmp_path):
    trials = pd.read_csv(outputs / "outputs.csv")
    trials = trials.assign(domain=np.where(trials["item"] % 2 == 0, "code", "prose"))
    trials.to_csv(tmp_path / "outputs.csv", index=False)
    ask = ASK.replace("--by judge", "--by judge,domain")
    run(tmp_path, f"{ask} --rope=-1,1 --seed 1 -o page.md")
    text = (tmp_path / "page.md").read_text()
    answer = text.split("## Answer")[1]
    assert answer.index("\ncode: ") < answer.index("\nprose: ") < answer.index("good outputs pass")
    is_reversed = (trials["judge"] == "new") & (trials["domain"] == "code")
    trials["score"] = trials["score"].where(~is_reversed, -trials["score"])
    trials.to_csv(tmp_path / "outputs.csv", index=False)
    answer = run(tmp_path, f"{ask} --score score --json").answer
    (said,) = [one for one in answer["notices"] if one["code"] == "reversed-score"]
    assert "good outputs: new | code (AUROC 0." in said["message"]
    rows = {row["cell"]: row for row in answer["rows"]}
    assert rows["new | code"]["r2_gain"] == 1
    assert rows["new | code"]["s"] is None
    assert rows["new | prose"]["r2_gain"] > 1
    trials["score"] = -trials["score"].where(~is_reversed, -trials["score"])
    trials.to_csv(tmp_path / "outputs.csv", index=False)
    assert "lower for good outputs" in refused(tmp_path, f"{ask} --score score")


@pytest.mark.parametrize(
    ("d", "c", "said"),
    [
        ("negligible", "negligible", "as well as those of old.*they are as strict.*stand in"),
        ("negligible", "different", "as well as.*they are stricter.*another threshold mends it"),
        ("different", "negligible", "better than.*no threshold mends it"),
        ("different", "different", "better than.*stricter.*the second alone"),
        ("inconclusive", "inconclusive", "open whether verdicts of new.*as strict is open"),
        ("unreliable", "negligible", "No verdict on d′ of new and old.*more draws"),
    ],
)
def test_four_outcomes_of_two_versions_have_their_advice(d, c, said):
    row = {
        "left": "new",
        "right": "old",
        "mean": 0.3,
        "lower": 0.1,
        "upper": 0.5,
        "withheld": "",
        "statistical": False,
    }
    text = pair_in_words(row | {"verdict": d}, row | {"verdict": c}, "of")
    assert tells(text, said), text
    assert "(difference in d′ +0.30 [+0.10, +0.50])" in text
    if d == "inconclusive":
        known = pair_in_words(row | {"verdict": d, "statistical": True}, row | {"verdict": c}, "on")
        assert tells(known, "Verdicts on new tell.*better than those on old, perhaps")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("--pass-rate", "--pass-rate needs --labels.*random"),
        ("--labels random", "--labels.*--pass-rate"),
        ("--against old", "--against.*--rope"),
        ("--against older --rope=-1,1", "older.*old"),
        ("--rope=1,-1", "--rope"),
        ("--labels known --pass-rate", "--labels known.*--label-probability"),
        ("--score nothing", "nothing"),
        ("--good bad,good", "labels of both classes"),
        ("--good goood", "--good.*'good'"),
        ("--verdict score", "--good pass.*recode the other values to one"),
    ],
)
def test_bad_input_is_refused_in_one_line(outputs, more, said):
    assert tells(refused(outputs, f"{ASK} {more}"), said)


def test_a_judge_without_dprime_has_the_one_of_a_correction_in_the_table_and_no_verdict(tmp_path):
    rows = {"human": [1] * 30 + [0] * 30, "item": [*range(60)]}
    lax = pd.DataFrame({"judge": "lax", "verdict": [1] * 35 + [0] * 25, **rows})
    old = pd.DataFrame({"judge": "old", "verdict": [1, 1, 1, 0, 0, 0, 0, 1, 0, 1] * 6, **rows})
    pd.concat([lax, old]).to_csv(tmp_path / "outputs.csv", index=False)
    answer = run(tmp_path, f"{ASK} --rope=-1,1 --draws 50 --seed 1 -o page.md --json").answer
    assert answer["rows"][0]["dprime"] is None
    assert answer["dprime"][0]["verdict"] == "unreliable"
    text = (tmp_path / "page.md").read_text()
    assert "No verdict on d′ of lax and old (undefined draws); no verdict on c of lax" in text
    answer = run(tmp_path, f"{ASK} --correction loglinear --json").answer
    H, F = 30.5 / 31, 5.5 / 31
    assert answer["rows"][0]["dprime"] == pytest.approx(norm.ppf(H) - norm.ppf(F))
    assert (answer["rows"][0]["hit_rate"], answer["correction"]) == (1, "loglinear")
    error = refused(tmp_path, f"{ASK} --labels elsewhere --pass-rate")
    assert "--labels elsewhere" in error
    assert "labels='" not in error
    (said,) = [one for one in answer["notices"] if one["code"] == "undefined-dprime"]
    assert said["cells"] == ["lax"]
    assert "depend on the correction" in said["message"]


def test_verdicts_are_read_from_logs(tmp_path):
    log = next((Path(__file__).parents[1] / "logs" / "data" / "inspect").glob("*.json"))
    run(tmp_path, f"import inspect {log} --scorer all -o answers.csv")
    ask = "judge answers.csv --label includes --verdict sure --by model --cluster item"
    (row,) = run(tmp_path, f"{ask} --json").answer["rows"]
    assert (row["cell"], row["labelled"], row["hit_rate"]) == ("mockllm/model", 6, 1)


def test_a_comparison_has_no_notice_about_m(outputs):
    labelled = pd.read_csv(outputs / "outputs.csv").dropna(subset="human")
    labelled.to_csv(outputs / "labelled.csv", index=False)
    ask = ASK.replace("outputs.csv", "labelled.csv")
    answer = run(outputs, f"{ask} --score score --rope=-1,1 --draws 50 --seed 1 --json").answer
    found = {one.code for one in hmetad.notices(counted(outputs, score="score"))}
    assert "verdict-is-score-cut" in found
    said = [one["code"] for one in answer["notices"]]
    assert "verdict-is-score-cut" not in said
    assert said.count("shared-errors") == 1
