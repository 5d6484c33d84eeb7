"""The withdrawn analysis is recomputed as it was, and does not pass for what it is not."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.optimize import minimize
from scipy.stats import norm, spearmanr

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.studies import cacioli2026, withdrawn
from hmetad.studies.comparison import compare_with_print, file_of, frame_of, is_reproduced
from hmetad.studies.report import compare_and_report

pytestmark = pytest.mark.integration

PRINTED = file_of("cacioli2026")
MODELS = PRINTED["models"]
TEMPERATURES = [0.3, 0.5, 0.7, 1.0]


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "cacioli2026_sdt_calibration"


@pytest.fixture(scope="module")
def study():
    return cacioli2026.analyse(seed=1)


@pytest.fixture(scope="module")
def deposited(folder):
    return cacioli2026.analyse(data=folder, seed=1)


@pytest.fixture(scope="module")
def shown_with_deposit(deposited):
    return compare_and_report(cacioli2026, deposited)


# --- what follows from print ----------------------------------------------------------------


def test_everything_printed_follows_but_for_three_known_differences(shown):
    comparison, _ = shown
    assert is_reproduced(comparison)
    differing = comparison[~comparison["agrees"]]
    assert (len(differing), len(comparison)) == (3, 107)
    assert set(differing[["table", "row"]].itertuples(index=False)) == {
        *(("Table 3", "all"), ("4.4", "Mistral-Instruct")),
        ("4.6", "Mistral-Instruct, Gemma-2-Instruct"),
    }


def test_no_verdict_hangs_on_the_seed(shown, monkeypatch):
    monkeypatch.setattr(withdrawn, "SAMPLES", 2000)
    other = cacioli2026.recompute(cacioli2026.analyse(seed=2))
    again = compare_with_print("cacioli2026", other)["agrees"]
    pd.testing.assert_series_equal(shown[0]["agrees"], again)


def test_quartiles_give_the_authors_d_prime_to_all_digits(study, folder):
    unrounded = pd.read_csv(folder / "h1_results.csv").set_index("model")["dprime"]
    ours = study.quartiles["dprime"].sel(dataset="TriviaQA").to_series()
    keys = dict(zip(MODELS, PRINTED["deposit"]["models"], strict=True))
    for model, key in keys.items():
        # Of Mistral's 2,137 right answers the printed shares make 2,138.
        tolerance = 0.002 if model == "Mistral-Instruct" else 1e-9
        assert ours[model] == pytest.approx(unrounded[key], abs=tolerance)


# --- the hypotheses -------------------------------------------------------------------------


def by_temperature(*rows):
    coords = {"model": list("ABCD")[: len(rows)], "temperature": TEMPERATURES}
    return xr.DataArray(np.array(rows, dtype=float), coords, ("model", "temperature"))


def h3(dprime, meta_d, se):
    return withdrawn.h3(xr.Dataset({"dprime": dprime, "meta_d": meta_d, "meta_d_se": se}))


def test_h3_is_the_range_and_scipys_rank_correlation():
    meta = by_temperature([1.0, 1.2, 1.1, 1.29], [1.0, 1.31, 1.1, 1.2], [1, 1, 1, 1.1])
    d = by_temperature([1, 2, 3, 4], [1, 2, 4, 3], [2, 2, 1, 3])
    found = h3(d, meta, by_temperature(*[[0.1] * 4] * 3))
    for i in range(3):
        assert found["rho_meta_d"][i] == pytest.approx(spearmanr(meta[i], TEMPERATURES)[0])
        assert found["rho_dprime"][i] == pytest.approx(spearmanr(d[i], TEMPERATURES)[0])
    assert found["stable"].values.tolist() == ["passed", "failed", "passed"]
    assert found["relative"].values.tolist() == ["passed", "passed", "failed"]
    assert found["supported"].values.tolist() == ["passed", "failed", "failed"]


def test_equal_correlations_and_a_missing_estimate_pass_no_rule():
    values = by_temperature([1.0, 1.1, 1.2, 1.25])
    assert h3(values, values, values)["relative"].item() == "failed"
    assert h3(-values, values, values)["relative"].item() == "failed"
    lacking, se = by_temperature([1.0, np.nan, 1.2, 1.25]), by_temperature([0.01] * 4)
    found = h3(by_temperature([1, 2, 3, 4]), lacking, se)
    assert {found[rule].item() for rule in ("stable", "supported", "equivalent")} == {"failed"}


def test_interval_tost_needs_small_errors_where_the_range_rule_does_not():
    meta = by_temperature([1.0, 1.05, 1.1, 1.2], [1.0, 1.05, 1.1, 1.2])
    se = by_temperature([0.04] * 4, [0.08] * 4)
    found = withdrawn.equivalence(meta, se)
    assert found["equivalent"].values.tolist() == ["passed", "failed"]
    reach = 0.2 + norm.isf(0.05) * np.sqrt(2) * np.array([0.04, 0.08])
    np.testing.assert_allclose(found["reach"], reach, atol=1e-12)
    assert (h3(meta, meta, se)["stable"] == "passed").all()


def test_edges_are_the_nearest_and_lost_ratings_are_lost_on_their_side():
    trials = np.array([10, 10, 10, 10, 60])
    edges, cut = withdrawn.nearest_edges(trials, 4)
    assert (edges, cut) == ([1, 2, 4], 3)
    even = np.full(8, 5)
    assert withdrawn.nearest_edges(even, 4) == ([1, 2, 3, 4, 5, 6, 7], 4)


# --- the deposit ----------------------------------------------------------------------------


def test_every_difference_of_the_deposit_is_explained(shown_with_deposit):
    comparison, _ = shown_with_deposit
    assert is_reproduced(comparison)
    assert len(comparison) == 199
    agreeing = comparison[comparison["agrees"]]
    # The one model whose median lies among edges of bins comes out as printed.
    base = agreeing[agreeing["row"].str.startswith("Llama-3-Base |")]
    assert (base["table"] == "deposit").sum() == 8
    revised = agreeing[(agreeing["table"] == "revised") & (agreeing["quantity"] == "accuracy")]
    assert len(revised) == 20


def test_numbers_of_the_revision_are_those_deposited(folder):
    aggregate = pd.read_csv(folder / "aggregate.csv")
    structure = pd.read_csv(folder / "sdt_structure.csv")
    both = aggregate.merge(structure, on=["model", "dataset", "auroc2"])
    ours = frame_of("cacioli2026", "revised")
    assert both["model"].tolist() == ours["model"].tolist()
    columns = {"acc": "accuracy", "meta_i2r": "meta_i2r", "auroc2": "auroc2", "da": "d_a"}
    for theirs, name in (columns | {"null_mean": "null_mean", "zroc_slope": "slope"}).items():
        # As many digits as were kept.
        np.testing.assert_allclose(ours[name], both[theirs], atol=5e-5)
    for name, dim in (("temperature", "T"), ("domain", "domain")):
        table = pd.read_csv(folder / f"{name}.csv").set_index(["model", dim])
        key = "revised_temperature" if name == "temperature" else "revised_domains"
        ours = frame_of("cacioli2026", key).set_index(["model", name])
        own = table.loc[list(ours.index)]
        assert len(own) == 16
        np.testing.assert_allclose(ours["meta_i2r"], own["meta_i2r"], atol=5e-6)
        np.testing.assert_allclose(ours["auroc2"], own["auroc2"], atol=5e-6)


def test_verdicts_on_temperature_are_those_deposited(folder):
    deposited = json.loads((folder / "h3_results.json").read_text())
    found = withdrawn.h3(cacioli2026.table_7())
    keys = PRINTED["deposit"]["models"]
    for model, key in zip(MODELS, keys, strict=True):
        own, theirs = found.sel(model=model), deposited[key]
        assert own["stable"].item() == {"True": "passed", "False": "failed"}[theirs["tost_pass"]]
        word = {"True": "passed", "False": "failed"}[theirs["relative_robust"]]
        assert own["relative"].item() == word
        assert own["rho_meta_d"].item() == pytest.approx(theirs["rho_metad"])
        assert own["range"].item() == pytest.approx(theirs["meta_d_range"], abs=0.001)


def test_printed_d_a_is_another_formula_of_the_same_roc(deposited):
    """By a fit of the 20 bins written apart: S1 ~ N(0, 1), S2 ~ N(d, 1/s)."""
    tables = deposited.deposit.tables
    for model, quoted in {"Mistral-Instruct": 1.97, "Llama-3-Base": 1.45}.items():
        cell = tables.sel(cell=f"TriviaQA | {model} | 1.0").to_numpy()
        cell = cell[:, cell.sum(axis=0) > 0]
        start = norm.ppf(cell.sum(axis=0).cumsum()[:-1] / cell.sum())

        def misfit(x, cell=cell):
            cuts = np.r_[-np.inf, x[2] + np.r_[0, np.exp(x[3:])].cumsum(), np.inf]
            p = np.stack([np.diff(norm.cdf(cuts)), np.diff(norm.cdf((cuts - x[0]) * np.exp(x[1])))])
            return -(cell * np.log(np.maximum(p, 1e-12))).sum()

        x0 = np.r_[1.5, -0.2, start[0], np.log(np.diff(start))]
        best = minimize(misfit, x0, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10**6})
        d, s = best.x[0], np.exp(best.x[1])
        own = deposited.deposit.measures.sel(dataset="TriviaQA", model=model, temperature=1.0)
        # L-BFGS with numerical gradients, on counts of 5,000.
        assert own["s"].item() == pytest.approx(s, abs=0.003)
        assert own["d_a"].item() == pytest.approx(d * np.sqrt(2 / (1 + s**-2)), abs=0.003)
        assert d * np.sqrt((1 + s**2) / 2) == pytest.approx(quoted, abs=0.008)


@pytest.mark.parametrize("name", ["roc_data.json", "", "clone"])
def test_the_deposit_is_found_as_file_folder_or_clone(folder, tmp_path, name):
    path = folder / name
    if name == "clone":
        inside = tmp_path / "results" / "analysis"
        inside.mkdir(parents=True)
        (inside / "roc_data.json").write_bytes((folder / "roc_data.json").read_bytes())
        path = tmp_path
    tables = withdrawn.read_deposit(str(path))
    assert tables.sizes == {"cell": 56, "correct": 2, "rating": 20}
    right = tables.sel(cell="TriviaQA | Mistral-Instruct | 1.0", correct="right")
    assert int(right.sum()) == 2137


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{}", r"SHA-256 cb017aac.*got .*roc_data\.json with SHA-256 44136fa3"),
        (None, r"a folder without it"),
    ],
)
def test_what_is_no_deposit_is_refused_with_the_way_out(tmp_path, content, says):
    if content is not None:
        (tmp_path / "roc_data.json").write_text(content)
    with pytest.raises(InputError, match=rf"data: .*sdt_calibration.*{says}"):
        withdrawn.read_deposit(tmp_path)
    with pytest.raises(InputError, match="which does not exist"):
        cacioli2026.analyse(data=tmp_path / "none")


# --- known truth ----------------------------------------------------------------------------


def test_without_sampling_error_the_withdrawn_m_is_below_1_and_falls_with_the_truth():
    curve = withdrawn.expected_mapping()
    assert 0.7 < float(curve.min()) < float(curve.max()) < 1
    for d in curve["dprime"].to_numpy():
        own = curve.sel(dprime=d)
        assert np.corrcoef(own, own["m_ratio"])[0, 1] < -0.7


# --- the report -----------------------------------------------------------------------------


def test_the_report_says_first_that_and_why_it_was_withdrawn(study, shown):
    _, report = shown
    page = report.markdown()
    (first, *_), said = report.blocks, notices(study.quartiles)
    assert first.heading == "Withdrawn"
    assert len(first.items) == len(said) > 0
    for (_, sentence, _), notice in zip(first.items, said, strict=True):
        assert notice.next_step in sentence
        assert notice.source in sentence
    assert page.index("It is uninformative about") < page.index("In brief")
    assert page.count("**Figure") == 3
    assert "The deposited counts" not in page


def test_the_report_has_the_deposit_where_there_is_one(shown_with_deposit):
    _, report = shown_with_deposit
    page = report.markdown()
    assert page.count("**Figure") == 4
    assert "What binning loses" in page
    assert "<svg" in report.html()
    assert r"\begin{document}" in report.latex()
