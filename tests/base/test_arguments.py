"""A function refuses what its annotations do not say, and takes what users pass today."""

import inspect
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from public_names import PUBLIC_NAMES, named

import hmetad
from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers, seed_or_none, whole, with_posterior
from hmetad.base.errors import InputError


@check_inputs(n=whole(1), seed=seed_or_none)
def count(
    names: Sequence[str],
    scale: float = 1.0,
    kind: Literal["a", "b"] = "a",
    *,
    n: int = 1,
    flag: bool = False,
    path: str | Path = "x",
    table: Mapping[str, float] | None = None,
    seed: int | None = None,
) -> int:
    """Count."""
    return len([names, scale, kind, n, flag, path, table, seed][0])


def test_the_function_is_the_same_to_whoever_looks_at_it():
    assert count.__name__ == "count"
    assert count.__doc__ == "Count."
    assert list(inspect.signature(count).parameters)[:3] == ["names", "scale", "kind"]
    assert pickle.loads(pickle.dumps(hmetad.measures.gamma)) is hmetad.measures.gamma


@pytest.mark.parametrize(
    "arguments",
    [
        *[{"names": x} for x in (("a", "b"), np.array(["a", "b"]), {"a": 1, "b": 2}.keys())],
        *[{"names": kind(["a", "b"])} for kind in (pd.Index, pd.Series)],
        *[{"scale": x} for x in (2, np.float32(2), np.int64(2))],
        *({"n": np.int32(3)}, {"flag": np.bool_(True)}, {"path": Path("y")}, {"table": {"a": 1}}),
        *[{"seed": x} for x in (np.int64(3), 2**100)],
    ],
)
def test_what_users_pass_is_taken(arguments):
    assert count(**{"names": ["a", "b"], **arguments}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": "ab"}, "names: .*Expected a list of text.*, got 'ab'"),
        ({"names": {"a", "b"}}, "names: A set has no order: pass a list"),
        *[({"names": x}, "names: .*got") for x in ([1], None)],
        ({"scale": "2"}, "scale: .*Expected a number.*, got '2'"),
        *[({"scale": x}, "scale: .*got") for x in (float("nan"), True, [1.0])],
        ({"kind": "c"}, "kind: .*Expected 'a' or 'b'.*, got 'c'"),
        ({"kind": ["a"]}, "kind: .*got"),
        ({"n": 0}, "n: .*Expected a whole number of at least 1.*, got 0"),
        ({"n": 1.0}, "n: .*got 1.0"),
        ({"n": 10**300}, "n: .*got an integer of 997 bits"),
        ({"flag": 1}, "flag: .*Expected True or False.*, got 1"),
        ({"flag": np.array([True, False])}, r"flag: .*got an array of shape \(2,\)"),
        ({"flag": pd.NA}, "flag: .*got NAType"),
        ({"path": b"x"}, "path: .*Expected a path.*, got b'x'"),
        ({"path": "x\0y"}, "path: .*got"),
        *[({"table": x}, "table: .*got") for x in ([1], {"a": "1"})],
        *[({"seed": x}, f"seed: .*got {x}") for x in (-1, 1.5)],
    ],
)
def test_anything_else_is_refused_by_the_name_of_its_argument(arguments, message):
    with pytest.raises(InputError, match=f"^{message}"):
        count(**{"names": ["a"], **arguments})


def test_arguments_that_are_missing_or_unknown_are_left_to_python():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'names'"):
        count()
    with pytest.raises(TypeError, match="unexpected keyword argument 'name'"):
        count(["a"], name="a")


@pytest.mark.parametrize("value", [None, 3, xr.Dataset(), xr.DataTree(), xr.DataTree])
def test_what_is_no_fit_says_where_fits_come_from(value):
    with pytest.raises(InputError, match="Pass what fit or load_fit returns"):
        with_posterior("fit", value)


def test_arrays_of_numbers_are_of_numbers():
    for value in (0.5, [1, 2], np.ones((2, 2)), xr.DataArray([1.0]), np.array([1, 2.5], object)):
        arrays_of_numbers("x", value)
    for value in ("0.5", ["a"], [[1], [2, 3]], {1: 2}, len, np.array(["a"])):
        with pytest.raises(InputError, match=r"x.*got"):
            arrays_of_numbers("x", value)


def test_public_functions_all_look_at_their_arguments():
    """Records check what they are made of; functions are decorated."""
    functions = [named(x) for x in PUBLIC_NAMES if not x.startswith("likelihood.")]
    with_arguments = [
        f for f in functions if inspect.isfunction(f) and inspect.signature(f).parameters
    ]
    assert [f.__name__ for f in with_arguments if not hasattr(f, "__wrapped__")] == []
