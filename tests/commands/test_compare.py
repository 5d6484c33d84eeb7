"""`hmetad compare` asks what `contrast`, `decide` and `rank` are asked, and says what they say."""

import csv
import io
import json

import numpy as np
import pytest
import xarray as xr
from command_line import changed_fit, refused, run

import hmetad
from hmetad.base.notice import notice_of, with_notices

ASK = "compare fit.nc --over model --within task --rope=-0.1,0.1"


@pytest.fixture(scope="module")
def fit(folder):
    return hmetad.load_fit(folder / "fit.nc")


def verdicts(done):
    return {row["label"]: row["verdict"] for row in done.answer["rows"]}


def test_json_holds_everything_that_the_decisions_do(folder, fit):
    answer = run(folder, f"{ASK} --json").answer
    draws = hmetad.contrast(fit, var="log_m", over="model", within="task")
    record = hmetad.report.decisions_record(hmetad.decide(draws, rope=(-0.1, 0.1)))
    assert answer["rows"] == json.loads(json.dumps(record.pop("results")))
    assert [row["verdict"] for row in answer["rows"]] == ["different", "inconclusive"]
    assert {name: answer[name] for name in record} == record
    about = answer["fits"]["fit"]
    assert (answer["seed"], answer["model"], about["file"]) == (1, "individual", "fit.nc")
    assert about["versions"] == json.loads(fit.attrs["versions"])


def test_bayes_factors_stand_next_to_the_verdicts(folder, fit, tmp_path):
    rows = run(folder, f"{ASK} --bayes-factor --json").answer["rows"]
    drawn, prior = (
        hmetad.contrast(one, var="log_m", over="model", within="task")
        for one in (fit, hmetad.bayes.draw_prior(fit))
    )
    expected = hmetad.compare.bayes_factor(drawn, prior=prior)
    assert [row["bf10"] for row in rows] == pytest.approx(expected["bf10"].values)
    assert [row["bf10_bound"] for row in rows] == expected["bound"].values.tolist()
    for name, width in (("bf10_half", 0.5), ("bf10_double", 2.0)):
        found = expected["bf10_by_width"].sel(prior_width=width)
        assert [row[name] for row in rows] == pytest.approx(found.values)
    ask = "compare fit.nc --over model --pool task --rope=-0.1,0.1 --bayes-factor"
    shown = run(folder, f"{ask} -o {tmp_path / 'page.md'} --no-sensitivity").stdout
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "BF10" in shown
    assert "| BF₁₀ |" in page
    # The sentence of the answer and the paragraph.
    assert "by the fit's prior (with priors half and twice as wide: " in page


def test_weights_find_levels_that_are_numbers(tmp_path, fit):
    sizes = ("cell", [7, 7, 70, 70])
    hmetad.save_fit(
        changed_fit(fit, lambda part: part.assign_coords(size=sizes)), tmp_path / "fit.nc"
    )
    (tmp_path / "weights.csv").write_text("contrast,7,70\nsize,-1,1\n")
    ask = "compare fit.nc --over size --within task --rope=-1,1 --json"
    weighted = run(tmp_path, f"{ask} --matrix weights.csv").answer["rows"][0]
    pair = run(tmp_path, f"{ask} --against 7").answer["rows"][0]
    assert pair["label"] == "70 − 7 | A"
    assert weighted["mean"] == pytest.approx(pair["mean"], abs=1e-12)
    assert "There are: '7', '70'" in refused(tmp_path, f"{ask} --against 8")


def test_a_quantity_is_judged_as_it_is_where_no_levels_are_compared(folder, fit):
    done = run(folder, "compare fit.nc --var m_ratio --null 1 --rope=0.9,1.1 --json")
    expected = hmetad.decide(fit["posterior"]["m_ratio"], rope=(0.9, 1.1), null=1).table()
    assert verdicts(done) == expected.set_index("label")["verdict"].to_dict()
    assert [*verdicts(done)] == fit["posterior"]["cell"].values.tolist()


def test_of_what_a_fit_has_said_only_what_bears_on_a_verdict_is_said_again(tmp_path, fit):
    about = {"terms": "task", "parameter": "log_m", "factor": "model", "example": "task"}
    told = [
        notice_of("few-trials", ["good | A"]),
        notice_of("same-effect", **about, number=2, all=2),
        notice_of("dprime-sign.fitted", ["poor | A"], step="", shell_step=""),
        notice_of("reversed-scale.measured", number=3, cells=4, where=""),
        notice_of("no-errors.fitted", ["none of these"]),
    ]
    noticed = with_notices(fit, told)
    said = {"notices": noticed.attrs["notices"]}
    posterior = fit["posterior"].to_dataset().map(lambda x: x.assign_attrs(x.attrs | said))
    hmetad.save_fit(noticed.assign(posterior=xr.DataTree(posterior)), tmp_path / "fit.nc")
    of_all = {"same-effect", "reversed-scale"}
    again = {"log_m": {*of_all, "dprime-sign"}, "dprime": of_all}
    for var, expected in again.items():
        done = run(tmp_path, f"{ASK} --var {var} --json")
        codes = {one["code"] for one in done.answer["notices"]}
        assert codes >= {one.code for one in told}
        assert {code for code in codes if f"[{code}" in done.stderr} - {"type1-differs"} == expected
        left = len(told) - len(expected)
        rest = f"{left} more that bear{'s' * (left == 1)} on no verdict here: hmetad notices fit.nc"
        assert done.stderr.endswith(f"{rest}\n")
    first, *others = run(tmp_path, "notices fit.nc --json").answer["rows"]
    assert (first["code"], first["cells"]) == ("dprime-sign", ["poor | A"])
    assert first["notice"].endswith("Cells: poor | A.")
    assert len(others) == len(told) - 1


def with_coefficients(part):
    """Draws with the coefficients of a factor of three levels, as a formula would give them."""
    rng = np.random.default_rng(1)
    values = rng.normal([0.5, 0.0], 0.02, (*(part.sizes[dim] for dim in ("chain", "draw")), 2))
    dims = ("chain", "draw", "log_m_task_dim")
    effect = xr.DataArray(values, dims=dims, coords={"log_m_task_dim": ["B", "C"]})
    return part.assign(log_m_task=effect)


def test_coefficients_are_judged(tmp_path, fit):
    changed = with_coefficients(fit["posterior"].to_dataset())
    hmetad.save_fit(fit.assign(posterior=xr.DataTree(changed)), tmp_path / "fit.nc")
    ask = "compare fit.nc --var log_m_task --rope=-0.1,0.1 --json"
    assert verdicts(run(tmp_path, ask)) == {"B": "different", "C": "negligible"}
    compared = run(tmp_path, f"{ask} --over task --against C")
    assert verdicts(compared) == {"B − C": "different"}


def test_separate_fits_are_compared_as_independent_ones(folder, tmp_path):
    ask = "compare a=good.nc b=poor.nc --over fit --within task --rope=-0.1,0.1 --rank"
    done = run(folder, f"{ask} --json -o {tmp_path / 'page.md'} --no-sensitivity").answer
    assert [row["label"] for row in done["rows"]] == ["a − b | A", "a − b | B"]
    assert {row["fit"] for row in done["ranks"]} == {"a", "b"}
    assert (done["pairing"], done["seed"]) == ("independent", None)
    assert {name: one["seed"] for name, one in done["fits"].items()} == {"a": 1, "b": 1}
    assert "separate-fits" in {notice["code"] for notice in done["notices"]}
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.count("Does the model fit") == 2
    assert page.index("a − b") < page.index("Does the model fit")


def test_ranks_stand_after_the_decisions(folder, fit):
    rows = run(folder, f"{ASK} --rank --json").answer["ranks"]
    ranks = hmetad.compare.rank_table(hmetad.rank(fit, var="log_m", over="model", within="task"))
    assert [row["p_best"] for row in rows] == ranks["p_best"].tolist()
    assert [row["rank_upper"] for row in rows] == ranks["rank_upper"].tolist()
    assert all(isinstance(row["rank_upper"], int) for row in rows)
    shown = run(folder, f"{ASK} --rank").stdout
    assert shown.index("verdict") < shown.index(" model | task ") < shown.index("P(best)")


@pytest.mark.integration
def test_other_choices_are_tried(folder, tmp_path, monkeypatch):
    # What other choices give is tested where they are made; here it is as if nothing changed.
    choices = ["κ = c instead of κ = M·c", "priors of M half as wide"]
    monkeypatch.setattr(hmetad.bayes, "other_choices", lambda _: choices)
    sampled = []

    def same(fit, names, **_):
        sampled.extend(names)
        return {name: changed_fit(fit, lambda part: part, choice=name) for name in names}

    monkeypatch.setattr(hmetad, "sensitivity", same)
    page = tmp_path / "page.md"
    ask = ASK.replace("fit.nc --over model", "good.nc poor.nc --over fit")
    answer = run(folder, f"{ask} --sensitivity --json -o {page}").answer
    assert list(answer["sensitivity"]) == choices
    assert all(x["results"] == answer["rows"] for x in answer["sensitivity"].values())
    assert "under any of the 2 alternative choices: κ = c" in page.read_text(encoding="utf-8")
    # Those of both fits are kept.
    run(folder, f"{ask} --sensitivity")
    assert sampled == [*choices, *choices]
    assert list(run(folder, f"{ASK} --json -o {page}").answer["sensitivity"]) == choices
    assert len(sampled) == 6


def test_bonferroni_counts_the_contrasts(folder):
    alone, corrected = (run(folder, f"{ASK} --json {more}").answer for more in ("", "--bonferroni"))
    assert corrected["comparisons"] == 2
    assert corrected["rows"][0]["lower"] < alone["rows"][0]["lower"]


def test_rows_are_written_and_printed_alike(folder, tmp_path):
    done = run(folder, f"{ASK} --json -o {tmp_path / 'rows.json'}").answer
    assert done.pop("written") == [str(tmp_path / "rows.json")]
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8")) == done
    printed = run(folder, f"{ASK} --format csv -o {tmp_path / 'rows.csv'}").stdout
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8") == printed
    means = [float(row["mean"]) for row in csv.DictReader(io.StringIO(printed))]
    assert means == [row["mean"] for row in done["rows"]]
    assert "| good − poor \\| A |" in run(folder, f"{ASK} --format markdown").stdout
    assert r"\begin{tabular}{lrrrrrrl}" in run(folder, f"{ASK} --format latex").stdout


def test_conditions_of_a_population_and_measures_are_compared(tmp_path):
    coords = {"subject": [f"s{i}" for i in range(6)] * 2, "task": ["a"] * 6 + ["b"] * 6}
    counts = hmetad.simulate_counts([1.5] * 12, coords=coords, trials=300, seed=1)
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    formula = {"log_m": "1 + task + (1 | subject)"}
    fit = hmetad.fit(counts, "group", formula=formula, draws=60, tune=100, chains=2, **quiet)
    hmetad.save_fit(fit, tmp_path / "people.nc")
    line = "compare people.nc --population --over task --rope=-0.1,0.1"
    (row,) = run(tmp_path, f"{line} --json").answer["rows"]
    assert row["label"] == "a − b"
    assert row["mean"] == pytest.approx(-fit["posterior"]["log_m_task"].values.mean())
    (row,) = run(tmp_path, f"{line} --var auroc2 --json").answer["rows"]
    draws = hmetad.bayes.predict_measures(fit, "auroc2")["auroc2"]
    mean = float(draws.sel(cell="a").mean() - draws.sel(cell="b").mean())
    assert row["mean"] == pytest.approx(mean)
    assert "auroc" in refused(tmp_path, f"{line} --var auroc")


@pytest.mark.integration
def test_a_population_is_compared_at_the_mean_of_a_covariate_which_has_no_levels(
    tmp_path, monkeypatch
):
    people = {"subject": range(12), "group": ["a", "b"] * 6, "age": range(20, 32)}
    counts = hmetad.simulate_counts([1.5] * 12, m_ratio=0.8, trials=200, coords=people, seed=1)
    counts["age"].attrs["role"] = "covariate"
    formula = {"log_m": "1 + group + scale(age) + (1 | subject)"}
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    fit = hmetad.fit(counts, "group", formula=formula, draws=100, chains=2, **quiet)
    hmetad.save_fit(fit, tmp_path / "fit.nc")
    ask = "compare fit.nc --population --rope=-0.1,0.1 --json"
    answer = run(tmp_path, f"{ask} --over group").answer
    (row,) = answer["rows"]
    mean = float(fit["posterior"]["log_m_group"].mean())
    assert (row["label"], row["mean"]) == ("a − b", pytest.approx(-mean, abs=1e-6))
    assert answer["at_means"] == {"fit": {"age": 25.5}}
    assert len(run(tmp_path, f"{ask} --var auroc2").answer["rows"]) == 2
    monkeypatch.setattr(hmetad, "predict", None)
    for option in ("--over age", "--over group --within age"):
        said = refused(tmp_path, f"{ask} {option}")
        assert "--var 'log_m_scale(age)', without --over" in said


def test_a_condition_of_a_gate_is_refused_before_anything_is_computed(folder, monkeypatch):
    monkeypatch.setattr(hmetad, "contrast", None)
    assert "--fail-if" in refused(folder, f"{ASK} --fail-if 'good is worse'")
