"""Every card is listed, and can be built, simulated from and fitted."""

import re
import warnings

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from saved import as_saved

import hmetad
from hmetad.specs import loading as cards
from hmetad.specs.loading import card_names, models_folder
from hmetad.specs.spec import ModelSpec


@pytest.mark.integration
@pytest.mark.parametrize("name", card_names())
def test_a_card_can_be_simulated_from_fitted_saved_and_read(name, tmp_path):
    card = hmetad.load_model(name)
    counts = hmetad.simulate_counts(**card.example, seed=1)
    # Where items are integrated out, chains move values that are nearly standard normal.
    sizes = {"draws": 100, "tune": 50} if card.loadings else {"draws": 300, "tune": 500}
    fit = hmetad.fit(counts, card, **sizes, chains=2, random_seed=1, progressbar=False, quiet=True)
    loaded = hmetad.load_fit(hmetad.save_fit(fit, tmp_path / "fit.nc"))
    xr.testing.assert_identical(loaded, as_saved(fit))
    posterior = loaded["posterior"].to_dataset()
    assert ModelSpec.from_json(loaded.attrs["spec"]).formula == card.formula
    for quantity in set(card.example) & set(card.record.results):
        values = posterior[quantity].transpose("chain", "draw", "cell", ...)
        truth = np.asarray(card.example[quantity])
        if truth.ndim and len(truth) > len(loaded["posterior"]["cell"]):
            # The posterior has the average of items that are integrated out.
            truth = truth.reshape(len(loaded["posterior"]["cell"]), -1).mean(axis=1)
        truth = np.broadcast_to(truth, values.shape[2:])
        z = (values.mean(["chain", "draw"]) - truth) / values.std(["chain", "draw"])
        # A posterior that misses the truth by four of its SDs in a fixed data set is wrong.
        assert float(abs(z).max()) < 4, quantity
    if card.formula:
        table = hmetad.report.population_table(loaded)
        assert table.notna()[["mean", "lower", "upper"]].all(axis=None)
        assert "population" in set(table["kind"])
    check_arviz_takes(loaded)


def check_arviz_takes(fit):
    """ArviZ's plots and statistics take a fit, with groups in which counts stay counts."""
    tree = hmetad.bayes.add_groups(fit)
    number = tree["observed_data"]["counts"].size
    assert tree["posterior_predictive"]["counts"].sizes["outcome"] == number
    names = [*tree["log_prior"].data_vars]
    shown = {"var_names": names[:1]}
    with warnings.catch_warnings():
        # ArviZ warns that counts are discrete, and of weights of a hundred draws.
        warnings.simplefilter("ignore")
        for plot in (az.plot_ppc_dist, az.plot_ppc_rootogram, az.plot_ppc_pit, az.plot_ppc_pava):
            plot(tree)
        for plot in (az.plot_forest, az.plot_trace, az.plot_psense_dist):
            plot(tree, **shown)
        sensitivity = az.psense_summary(tree, **shown)
        by_cell, table = az.loo(tree), az.compare({"a": tree, "b": tree})
        alone = az.compare({"a": hmetad.loo(fit), "b": hmetad.loo(fit)})
    plt.close("all")
    assert np.isfinite(sensitivity[["prior", "likelihood"]]).all(axis=None)
    assert np.isfinite([by_cell.elpd, *table["elpd"], *alone["elpd"]]).all()


def test_the_readme_lists_every_card():
    text = (models_folder() / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE) == card_names()


def test_cards_are_found_inside_the_package_or_else_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(cards, "files", lambda _: tmp_path / "hmetad")
    assert models_folder() == tmp_path / "models"
    inside = tmp_path / "hmetad" / "models"
    inside.mkdir(parents=True)
    assert models_folder() == inside
