"""Models are selected on their own data, where trials are many."""

import numpy as np
import pytest

from hmetad.select import candidates
from hmetad.simulate import recover_models
from hmetad.simulate.recovery import draw_people


@pytest.mark.integration
def test_shares_add_up_and_seeds_make_them_again():
    options = {"trials": 1500, "people": 3, "n": 1, "seed": 4}
    found = recover_models(["sdt", "wev", "meta_d"], **options)
    np.testing.assert_allclose(found["people"].sum("winning"), 1)
    np.testing.assert_allclose(found["groups"].sum("winning"), 1)
    assert found["groups"].sel(generating="wev", winning="wev").item() == 1
    assert found.identical(recover_models(["sdt", "wev", "meta_d"], **options))


@pytest.mark.parametrize("name", list(candidates()))
def test_every_model_makes_people(name):
    counts, true = draw_people(candidates()[name], 2, 300, 4, np.random.default_rng(1))
    assert counts.sum(["stimulus", "response", "rating"]).values.tolist() == [100] * 6
    assert counts["difficulty"].values.tolist()[:3] == ["hard", "medium", "easy"]
    assert all(np.shape(own) == (2,) and np.isfinite(own).all() for own in true.values())


def test_parameters_of_the_true_model_come_back():
    found = recover_models(["wev", "meta_d"], trials=20_000, people=4, n=1, seed=2)
    assert found["quantity"].values.tolist() == ["visibility", "noise", "m_ratio"]
    of_wev, of_meta_d = (found.sel(generating=name) for name in ("wev", "meta_d"))
    assert (of_wev["rmse"].sel(quantity=["visibility", "noise"]) < 0.05).all()
    assert of_meta_d["rmse"].sel(quantity="m_ratio") < 0.05
    assert of_meta_d["correlation"].sel(quantity="m_ratio") > 0.95
    assert of_meta_d["bias"].sel(quantity=["visibility", "noise"]).isnull().all()
    assert (abs(found["bias"]) <= found["rmse"]).where(found["bias"].notnull(), True).all()
