"""The atlas of 33 models is reproduced, and what its page says of M follows from the answers."""

import gzip
from itertools import product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from hmetad.base.errors import InputError
from hmetad.mle.meta_d import fit_mle
from hmetad.norms import language_models
from hmetad.studies import atlas2026
from hmetad.studies.comparison import compare_with_print, file_of, frame_of, is_reproduced
from hmetad.studies.run import reproduce

MATRIX, CELLS = frame_of("atlas2026", "matrix"), frame_of("atlas2026", "cells")
AREAS = CELLS.pivot(index="model", columns="domain", values="auroc2")


@pytest.fixture(scope="module")
def source(shared):
    return shared / "data" / "cacioli2026_profile_atlas"


@pytest.fixture(scope="module")
def folder(source, tmp_path_factory):
    """Folder of data sets, with the answers of the atlas."""
    kept = tmp_path_factory.mktemp("kept")
    (kept / "cacioli2026_atlas").mkdir()
    for path in (source / "raw").glob("*.gz"):
        unpacked = kept / "cacioli2026_atlas" / path.stem
        unpacked.write_bytes(gzip.decompress(path.read_bytes()))
    return kept


@pytest.fixture(scope="module")
def study(folder):
    return atlas2026.analyse(data=folder, seed=1, progressbar=False, quiet=True)


# --- print ----------------------------------------------------------------------------------


def test_tables_are_the_deposited_ones(source):
    matrix = pd.read_csv(source / "atlas_summary_matrix.csv")
    assert matrix[["model", "family", "n"]].to_numpy().tolist() == (
        MATRIX[["model", "family", "trials"]].to_numpy().tolist()
    )
    names = {"acc": "accuracy", "aggregate": "auroc2", "mean_dom": "mean", "sd_dom": "sd"}
    assert (
        matrix[[*names]].round(4).to_numpy().tolist() == MATRIX[[*names.values()]].values.tolist()
    )
    cells = pd.read_csv(source / "atlas_bootstrap_cis.csv").set_index(["model", "domain"])
    columns = {"n": "trials", "auroc": "auroc2", "ci_lo": "lower", "ci_hi": "upper"}
    ours = CELLS.set_index(["model", "domain"]).loc[cells.index, [*columns.values()]]
    assert ours.to_numpy().tolist() == cells[[*columns]].to_numpy().tolist()


def test_printed_areas_give_the_printed_agreement_of_models():
    """Kendall's W from rank sums: another formula than that of the study."""
    models, domains = AREAS.shape
    sums = AREAS.rank(axis="columns").sum()
    spread = ((sums - sums.mean()) ** 2).sum()
    w = 12 * spread / (models**2 * (domains**3 - domains))
    assert w == pytest.approx(0.164, abs=5e-4)


@pytest.mark.integration
def test_all_that_is_printed_is_reproduced(check_differences):
    check_differences(967)


@pytest.mark.integration
def test_areas_are_those_of_scikit_learn(study):
    for (model, domain), own in study.trials.groupby(["model", "domain"]):
        expected = roc_auc_score(own["correct"], own["confidence"])
        found = study.cells["auroc2"].sel(model=model, domain=domain).item()
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.integration
def test_limits_of_print_and_ours_are_of_one_bootstrap(study):
    """Where few values are possible, limits jump: cells with 20 errors or more are looked at."""
    errors = study.trials.groupby(["model", "domain"])["correct"].agg(lambda x: (~x).sum())
    many = errors.unstack() >= 20
    printed = CELLS.pivot(index="model", columns="domain", values="lower")
    below = (study.cells["drawn"] < printed.to_xarray().to_dataarray("domain")).mean("draw")
    share = below.transpose("model", "domain").to_pandas().loc[many.index, many.columns]
    z = (share - 0.025) / np.sqrt(0.025 * 0.975 * (1 / 1000 + 1 / atlas2026.BOOTSTRAPS))
    z = z.where(many).stack()
    assert len(z) > 80
    # Standard normal, but for ties.
    assert abs(z.mean()) < 0.4
    assert 0.8 < z.std() < 1.25


@pytest.mark.integration
def test_a_limit_that_is_off_by_a_twentieth_is_found(study):
    ours = dict(atlas2026.recompute(study))
    for name in ("lower", "upper"):
        limit, reach = ours["cells", name]
        ours["cells", name] = limit + 0.05, reach
    comparison = compare_with_print("atlas2026", ours)
    of_limits = comparison[comparison["quantity"].isin(["lower", "upper"])]
    assert (~of_limits["agrees"]).mean() > 0.5
    assert not is_reproduced(comparison)


@pytest.mark.integration
def test_halves_of_the_seed_in_print_give_its_reliability(study):
    halves = []
    for _, own in study.trials.groupby("model"):
        order = np.arange(len(own))
        np.random.default_rng(42).shuffle(order)
        size = len(own) // 2
        parts = [own.iloc[x] for x in (order[:size], order[size : 2 * size])]
        halves.append([roc_auc_score(x["correct"], x["confidence"]) for x in parts])
    expected = np.corrcoef(np.transpose(halves))[0, 1]
    assert expected == pytest.approx(0.893, abs=5e-4)
    found = atlas2026.halves_agree(study.trials, "model", range(42, 43)).item()
    assert found == pytest.approx(expected, abs=1e-12)
    # What the page says of other splits.
    others = atlas2026.halves_agree(study.trials, "model", range(200))
    expected = np.quantile(others, [0.025, 0.5, 0.975])
    np.testing.assert_allclose(expected, [0.78, 0.91, 0.95], atol=6e-3)


def test_halves_without_errors_are_left_out_and_three_cells_are_too_few():
    rng = np.random.default_rng(1)
    cells = [
        pd.DataFrame({"cell": cell, "correct": rng.random(60) < 0.6, "confidence": rng.random(60)})
        for cell in "abcd"
    ]
    trials = pd.concat(cells)
    assert atlas2026.halves_agree(trials, "cell", range(3)).notnull().all()
    never_wrong = trials.assign(correct=trials["correct"] | (trials["cell"] == "d"))
    assert atlas2026.halves_agree(never_wrong, "cell", range(3)).isnull().all()


# --- M, ranks and norms ---------------------------------------------------------------------


@pytest.mark.integration
def test_posterior_means_are_near_maximum_likelihood_where_m_is_known(study):
    likely = fit_mle(atlas2026.counts_by(study.trials, "model"))["m_ratio"].to_series()
    models = study.models.set_index("model")
    known = models["verdict"] != "not ranked"
    assert models.index[~known].tolist() == ["Gemma 3 1B"]
    # The prior has the weight of few trials.
    assert abs(models["m_ratio"] - likely)[known].max() < 0.03
    assert likely[known].max() == likely["Gemini 2.5 Pro"]


@pytest.mark.integration
def test_five_models_share_the_first_place_and_one_has_an_m_that_may_be_0(study):
    models = study.models.set_index("model")
    assert models["p_best"].sum() == pytest.approx(1)
    first = ["Gemini 2.5 Pro", "GPT-oss-20B", "Gemini 3.1 Pro", "Gemma 4 31B", "Gemini 2.5 Flash"]
    assert set(models.index[models["verdict"] == "undecided"]) == set(first)
    is_open = (models["m_ratio_lower"] <= 0) & (models["verdict"] != "not ranked")
    assert models.index[is_open].tolist() == ["Gemma 3 12B"]


def test_models_are_ranked_apart_from_questions_where_their_m_is_known():
    names = [*"abcd"]
    values = {"m_ratio": ("cell", [0.1, 0.9, 0.5, 0.7]), "m_ratio_se": ("cell", [0.02] * 3 + [1.0])}
    crossed = xr.Dataset(values, {"cell": names, "subject": ("cell", names)})
    found = atlas2026.ranked_crossed(crossed, seed=1).set_index("model")
    assert found["mean_rank_crossed"].dropna().to_dict() == {"a": 3, "b": 1, "c": 2}
    assert found.loc["b", "verdict_crossed"] == "best"
    reach = (found["m_ratio_upper_crossed"] - found["m_ratio_lower_crossed"]) / 2
    np.testing.assert_allclose(reach, [0.0392] * 3 + [1.96], rtol=1e-3)


@pytest.mark.integration
def test_apart_from_questions_the_order_of_models_is_another_one(study):
    models = study.models.set_index("model")
    assert models["m_ratio_crossed"].mean() == pytest.approx(0.59, abs=0.01)
    assert models["m_ratio"].corr(models["m_ratio_crossed"], "spearman") < 0.4
    first = models.index[models["verdict_crossed"] == "undecided"]
    assert {*first} == {"GPT-5.4 mini", "Haiku 4.5", "Gemma 3 27B"}
    assert models.index[models["verdict_crossed"] == "not ranked"].tolist() == ["Gemma 3 1B"]


@pytest.mark.integration
def test_norms_of_the_package_are_what_is_found(study):
    shipped = language_models().set_index("model")
    found = study.models.set_index("model").reindex_like(shipped)
    own = [name for name in shipped if "m_ratio" not in name and name != "dprime"]
    # Limits are of a bootstrap of other draws than those of the table.
    pd.testing.assert_frame_equal(found[own], shipped[own], atol=0.02, rtol=0, check_dtype=False)
    exact = ["trials", "accuracy", "auroc2"]
    pd.testing.assert_frame_equal(found[exact], shipped[exact], atol=1e-4, check_dtype=False)
    assert abs(found["m_ratio"] - shipped["m_ratio"]).max() < 0.03


@pytest.mark.integration
def test_what_the_page_says_of_other_answers_and_cells_is_so(study):
    filled_in = study.trials.query("model == 'GPT-oss-120B' and confidence == 0.5")
    assert len(filled_in) == 980
    errors = fit_mle(atlas2026.counts_by(study.trials, "model", "domain"))["m_ratio_se"]
    assert errors.median() == pytest.approx(0.15, abs=5e-3)
    medians = study.cells["m_ratio"].median("model").to_series()
    assert medians.idxmax() == study.cells["auroc2"].median("model").to_series().idxmax()


@pytest.mark.integration
def test_the_page_answers_its_questions(shown, study):
    text = shown[1].markdown()
    assert "967 of 967" in text
    assert "Not told apart from it: GPT-oss-20B, Gemini 3.1 Pro" in text
    assert "includes 0 for Gemma 3 12B." in text
    ranked = study.models[study.models["verdict"] != "not ranked"]
    for pair in (("accuracy", "auroc2"), ("accuracy", "m_ratio"), ("auroc2", "m_ratio")):
        rho = spearmanr(ranked[pair[0]], ranked[pair[1]]).statistic
        assert f"{rho:.2f})" in text, pair
    assert "{" not in shown[1].html().partition("<main")[2].partition("All that is printed")[0]
    for model, table in product(study.models["model"], ("ranks", "norms")):
        assert text.count(model) >= 4, (model, table)


@pytest.mark.integration
def test_norms_are_written_too(study, tmp_path, monkeypatch):
    monkeypatch.setattr(atlas2026, "analyse", lambda **_: study)
    assert is_reproduced(reproduce("atlas2026", tmp_path))
    norms = pd.read_csv(tmp_path / "models.csv")
    assert len(norms) == 33
    assert {name for own in file_of("atlas2026")["norms"] for name in own} <= {*norms}


def test_without_the_data_the_error_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("HMETAD_DATA_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="by hand"):
        atlas2026.analyse(data=tmp_path)
