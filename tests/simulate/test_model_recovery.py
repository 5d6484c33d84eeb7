"""Models are selected on their own data, where trials are many."""

import numpy as np
import pytest

from hmetad import InputError
from hmetad.select import candidates
from hmetad.simulate import recover_models
from hmetad.simulate.model_recovery import draw_people


def test_shares_add_up_and_seeds_make_them_again():
    options = {"trials": 1500, "people": 3, "n": 2, "seed": 4}
    found = recover_models(["sdt", "wev", "meta_d"], **options)
    np.testing.assert_allclose(found["people"].sum("winning"), 1)
    np.testing.assert_allclose(found["groups"].sum("winning"), 1)
    assert found["groups"].sel(generating="wev", winning="wev").item() == 1
    assert found.identical(recover_models(["sdt", "wev", "meta_d"], **options))


@pytest.mark.parametrize("name", list(candidates()))
def test_every_model_makes_people(name):
    counts = draw_people(candidates()[name], 2, 300, 4, np.random.default_rng(1))
    assert counts.sum(["stimulus", "response", "rating"]).values.tolist() == [100] * 6
    assert counts["difficulty"].values.tolist()[:3] == ["hard", "medium", "easy"]


@pytest.mark.parametrize(
    ("options", "said"),
    [({"models": ["sdt"]}, "two"), ({"trials": 3}, "trials"), ({"n": 0}, "n")],
)
def test_what_is_no_design_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        recover_models(**{"models": ["sdt", "wev"], "people": 2, "n": 1, **options})
