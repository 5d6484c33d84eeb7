"""Public functions answer any argument with a result or InputError, never an error from inside."""

import datetime
import decimal
import fractions
import inspect
import io
import json
import math
import warnings
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import strategies as st
from public_names import PUBLIC_NAMES, named
from report.made_fit import made_fit

import hmetad
from hmetad.logs.kinds import READERS

# What imports PyMC, builds models or samples: only refusals are tried, by arguments that are none.
SAMPLING = {
    *("bayes.other_choices", "bayes.predicted_counts"),
    *("build_model", "fit", "loo", "predict", "sensitivity", "simulate.plan_groups"),
}
# Classes; their fields are checked where the records are read. And what reads or writes files.
RECORDS = {"Decisions", "InputError", "ModelSpec", "Notice", "Prior", "Report"}
ON_FILES = {"load_fit", "load_model", "save_fit"}
# Plots and reports have tests of their own with labels and values of any kind.
ELSEWHERE = ("likelihood.", "plots.", "report.")
FUNCTIONS = [
    name
    for name in PUBLIC_NAMES
    if name not in SAMPLING | RECORDS | ON_FILES and not name.startswith(ELSEWHERE)
]
ABSENT = inspect.Parameter.empty
OF_MODELS = {"var": "log_m", "over": "model", "within": "task"}
OF_SURE = {"confidence": "sure", "n": 200, "seed": 1}


def a_fit():
    """Fit of two models in two tasks, whose draws are normal numbers."""
    fit = made_fit(["a", "b"], ["x", "y"], draws=50, chains=2)
    groups = {name: group.to_dataset() for name, group in fit.children.items()}
    renamed = {n: x.rename(domain="task") if "cell" in x.dims else x for n, x in groups.items()}
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=fit.attrs), **renamed})


def counts_of_four():
    """Count table of two models in two tasks."""
    coords = {"model": ["a", "a", "b", "b"], "task": ["x", "y", "x", "y"]}
    return hmetad.simulate_counts([1.5] * 4, 0.1, 0.8, trials=300, coords=coords, seed=1)


def some_trials(**changes):
    """Trials of two models with correctness, confidence and probabilities of options."""
    coords = {"model": ["a", "b"], "task": ["x", "x"]}
    trials = hmetad.simulate_trials([1.2] * 2, trials=60, coords=coords, seed=2)
    sure = np.linspace(0.5, 1, len(trials))
    right = (trials["stimulus"] == trials["response"]).to_numpy()
    probabilities = [json.dumps([p, 1 - p]) for p in sure]
    more = {"correct": right, "sure": sure, "target": 0, "item": range(len(trials))}
    more |= {"option_probabilities": probabilities, "age": 30, "truth": "S1"}
    return trials.assign(**more).assign(**changes)


def fitted_estimates():
    """A fit of estimates of a measure."""
    found = hmetad.measures.resample_trials(made("trials"), by=["model", "task"], **OF_SURE)
    return hmetad.bayes.fit_estimates(found, "auroc2 ~ 1 + (1 | model)", draws=50, seed=1)


def pooled():
    """Draws of measures of two models in two sets, with trials."""
    trials = made("trials").assign(set=["s", "t"] * 60)
    return hmetad.measures.resample_trials(trials, by=["model", "set"], **OF_SURE)


# Values that functions take and give, then others that are not what they look like.
MADE = {
    "fit": a_fit,
    "counts": counts_of_four,
    "trials": some_trials,
    "contrast": lambda: hmetad.contrast(made("fit"), **OF_MODELS),
    "decisions": lambda: hmetad.decide(made("contrast"), rope=(-0.1, 0.1)),
    "superiority": lambda: hmetad.contrast(made("fit"), **OF_MODELS, kind="superiority"),
    "plan": lambda: hmetad.simulate.plan_trials(trials=(50, 100), rope=(-0.1, 0.1), n=20, seed=1),
    "ranks": lambda: hmetad.rank(made("fit"), **OF_MODELS),
    "evidence": lambda: pd.DataFrame({"a": [-9.0, -8.0], "b": [-8.0, -9.5]}, index=["x", "y"]),
    "estimators": lambda: {"mle": hmetad.fit_mle},
    "measures": lambda: hmetad.fit_mle(made("counts")),
    "sdt": lambda: hmetad.sdt(made("counts")),
    "type2_table": lambda: hmetad.counts.type2_counts(made("counts")),
    "frame": lambda: hmetad.report.estimate_table(made("fit")),
    "estimates": fitted_estimates,
    "draws of sets": pooled,
    "one cell": lambda: counts_of_four().sel(cell="a | x"),
    "no cells": lambda: counts_of_four().isel(cell=[]),
    "no ratings": lambda: counts_of_four().isel(rating=[]),
    "objects": lambda: counts_of_four().astype(object),
    "another dim": lambda: counts_of_four().expand_dims("fold"),
    "bad notices": lambda: counts_of_four().assign_attrs(notices="{"),
    "odd notices": lambda: counts_of_four().assign_attrs(notices='[{"code": 1}]'),
    "empty dataset": xr.Dataset,
    "few draws": lambda: made("contrast").isel(draw=[0], chain=[0]),
    "infinite draws": lambda: made("contrast") / 0,
    "trials of NA": lambda: some_trials(correct=pd.array([True, pd.NA] * 60, dtype="boolean")),
    "trials of text": lambda: some_trials().astype(str),
    "trials of dates": lambda: some_trials(confidence=pd.Timestamp(0), model=pd.Timestamp(0)),
    "trials of NaN": lambda: some_trials(sure=np.nan, confidence=np.nan),
    "no trials": lambda: some_trials().iloc[:0],
    "numbered columns": lambda: pd.DataFrame(np.ones((3, 3))),
    "categories": lambda: some_trials().astype("category"),
    "series": lambda: some_trials()["sure"],
    "fits": lambda: {"a": made("fit"), "b": made("fit")},
    "mapping of numbers": lambda: {1: 2},
    "generator of numbers": lambda: np.random.default_rng(1),
    "iterator": lambda: iter(["model"]),
    "open file": io.StringIO,
}


@cache
def kept(name):
    """Value of the pool, made once."""
    return MADE[name]()


def made(name):
    """Value of the pool; what is drawn upon or used up is made anew."""
    return MADE[name]() if name in {"iterator", "open file"} else kept(name)


class Named(str):
    """Name of a value that is made when it is used, so that an example prints short."""

    __slots__ = ()

    def __repr__(self):
        return f"<{self}>"


def pool(names):
    """Values of the pool by names with commas between them."""
    return [Named(name) for name in names.split(", ")]


class Odd:
    """What refuses to be compared, counted, shown or converted."""

    def __bool__(self):
        raise RuntimeError("no truth")

    def __eq__(self, other):
        raise RuntimeError("no equality")

    def __len__(self):
        raise RuntimeError("no length")

    __hash__ = None


WRONG = [
    *(None, True, np.True_, 0, 1, 2, 3, -1, 10**12, 2**63, 10**400, 0.0, 0.5, 0.95, -0.5, 1e308),
    *(math.nan, -math.inf, np.float64(0.3), np.uint8(3), np.datetime64("2020-01-01"), 1j),
    *(decimal.Decimal("0.5"), fractions.Fraction(1, 2), pd.NA, pd.NaT, datetime.date(2020, 1, 1)),
    *("", "model", "cell", "S1", "a/b", "a\0b", "\ud800", "dprime", "0.5", "x" * 5000, b"model"),
    *(..., object(), Path("no such"), slice(3), range(3), memoryview(b"abc"), [], (), {}, set()),
    *({"a"}, frozenset(["model"]), {"model": "model"}, {1: "a"}, {"a": {"b": []}}, ["model"]),
    *(["model", "model"], [None], [1, "a"], [math.nan, 1.0], [0.6, 0.7], [[0.6, 0.7], [0.8]]),
    *([[5, 3, 2, 1], [5, 3, 2, 1]], [-1, 2, 3, 4], [[]], (-0.1, 0.1), (0.1, -0.1), (0, 0)),
    *([10**400, 1], [True, False], ["a", "b"], {"a": 1}.keys(), {"a": "b"}.values()),
    *(np.zeros((0, 3)), np.array(0.5), np.array([0.6, 0.7]), np.array([True, False])),
    *(np.array(["a", "b"]), np.array([None, 1], dtype=object), np.full((2,) * 5, 0.5)),
    *(np.array([1j]), np.array(["2020-01-01"], dtype="datetime64[D]")),
    np.ma.masked_array([1.0, 2.0], [True, False]),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    *(int, xr.DataArray, pd.DataFrame, len, math, hmetad.sdt, lambda x: x, Odd()),
    *map(Named, MADE),
]
FRACTIONS = [0.5, 0.7, [0.6, 0.7], [[0.6, 0.7, 0.8]], [[0.5, 0.9], [0.7, 0.8]]]
DRAWS = "fit, fit, fits, contrast, measures"
OF_SETS = f"{DRAWS}, draws of sets, estimates"
# Values that an argument may well have, by its name or by those of several; and those of the pool
# that are called like it.
RIGHT = {
    "counts": pool("counts, counts, one cell, type2_table"),
    "counts_or_fit": pool("counts, fit"),
    "draws": pool(f"{DRAWS}, contrast, superiority"),
    "estimates": pool("sdt, measures, frame"),
    "table": pool("frame, trials"),
    "results": [{}],
    "by": ["model", "task", ("model", "task"), [], {"model": "model"}],
    "within": ["task", (), "model"],
    "over": ["model", "task"],
    "var": ["log_m", "m_ratio", "dprime", None],
    "statistic": [hmetad.sdt, hmetad.measures.gamma],
    "rope": [(-0.1, 0.1), [-0.2, 0.2]],
    "ci_prob": [0.95, 0.8],
    "n, bins, plan_trials.n": [2, 5],
    "seed": [1, None],
    "ratings": [2, 4, None],
    "labels": [None, ("S1", "S2"), ["a", "b"]],
    "correction": ["none", "loglinear", "cell", 0.5],
    "accuracy, fpr, share": FRACTIONS,
    "prior": [0.5, 0.4],
    "dprime": [1.0, [1.0, 2.0], 1],
    "m_ratio": [1.0, 0.8, [0.8, 1.0]],
    "c": [0.0, 0.2],
    "s": [1.0, "estimate"],
    "kind": ["difference", "bootstrap", "ratings"],
    "method": ["quantile", "mass", "percentile"],
    "values": [Named("series"), [0.1, 0.5, 0.9], ["80%", "high", "0.3"]],
    "nR_S1": [[5, 3, 2, 1], [[5, 3, 2, 1], [1, 2, 3, 4]]],
    "nR_S2": [[1, 2, 4, 6], [[1, 2, 3, 4], [1, 2, 3, 4]]],
    "correct": ["correct"],
    "confidence": ["sure", "confidence"],
    "stimulus": ["stimulus"],
    "response": ["response"],
    "responses": [[["a", "b", "a"]], [[0, 1, 1]]],
    "edges": [None, [0.2, 0.5]],
    "left": ["a | x", ["a | x"]],
    "right": ["b | x", ["b | x"]],
    "coords": [None, {"model": ["a", "b"]}],
    "estimate": ["mean", "c"],
    "se, decide_normal.estimate": [0.1, [0.1, 0.2]],
    "acknowledge": ["detection", ""],
    "path": [Path("no such"), "no such.csv"],
    "scale": [None, "percent", 100],
    "probabilities": [[0.5, 0.6, 0.8, 1.0], [0, 0.3, 0.6, 0.9]],
    "pool": ["task", "set", ("task",), ()],
    "weights": ["equal", "trials", {"x": 1, "y": 2}, {"s": 1.0, "t": 0.5}],
    "new": [(), "set", "model"],
    "meta_delta.estimates": pool("measures, fit"),
    "simulate_counts.trials": [100, [100, 200]],
    "recover.trials, recover_models.trials": [60],
    "recover_models.models": [["sdt", "meta_d"]],
    "recover_models.people": [2],
    "recover_models.n": [1],
    "plan_trials.trials": [(50, 100)],
    "combine_predictions.confidence": [[[0.6, 0.7, 0.8]]],
    "predictionwise_vote.confidence": [[[0.6, 0.7, 0.8]]],
    "decide.draws": pool("contrast, superiority"),
    "selective_prediction.confidence": ["sure"],
    "z_test.var": ["dprime", "c"],
    "z_test.estimates": pool("sdt"),
    "read_log.kind": ["auto", *READERS],
    "contrast.draws, rank.draws": pool(OF_SETS),
    "save_draws.draws": pool("draws of sets"),
    "fit_estimates.estimates": pool("draws of sets, sdt, estimates"),
    "fit_estimates.formula": [
        *("auroc2 ~ 1", "auroc2 ~ 0 + model + (1 | set)", "dprime ~ model"),
        *("auroc2 ~ 1 + (1 + model | set)", "gamma_pairs ~ (1 | model:set)"),
    ],
    "fit_estimates.draws": [50, 100],
    "fit_estimates.priors": [None, {"auroc2_Intercept": hmetad.Prior("Normal", mu=0, sigma=1)}],
    "predict_estimates.fit": pool("estimates"),
    "predict_estimates.cells": [None, {"model": ["a"]}, {"set": ["s"]}],
}
RIGHT = {name: values for names, values in RIGHT.items() for name in names.split(", ")}


@st.composite
def calls(draw):
    """Name of a function, and values of its arguments: all are right in three calls of four."""
    name = draw(st.sampled_from(FUNCTIONS))
    only_right = draw(st.integers(0, 3)) > 0
    arguments = {}
    key = name.rpartition(".")[2]
    for parameter in inspect.signature(named(name)).parameters.values():
        own = [Named(parameter.name)] if parameter.name in MADE else []
        right = RIGHT.get(f"{key}.{parameter.name}", RIGHT.get(parameter.name, own))
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        # By default those of recover_models take minutes, and are always given.
        needed = parameter.default is ABSENT or (key == "recover_models" and right)
        dice = draw(st.integers(0, 9))
        if dice < 7 and not needed and (dice < 5 or not right):
            continue
        values = right if right and (only_right or dice < 8) else WRONG
        arguments[parameter.name] = draw(st.sampled_from(values))
    return name, arguments


def called(call):
    """How the call ended: refused or answered; any other error is let through."""
    name, arguments = call
    values = {k: made(str(x)) if isinstance(x, Named) else x for k, x in arguments.items()}
    said = ""
    try:
        # A name of the pool may be taken for a file to write.
        with TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            named(name)(**values)
    except hmetad.InputError as error:
        said = str(error)
    assert said.isprintable()
    return "refused" if said else "answered"


@pytest.mark.parametrize(
    "tally",
    [
        pytest.param("few", marks=pytest.mark.integration),
        pytest.param("for minutes", marks=pytest.mark.slow),
    ],
    indirect=True,
)
def test_no_call_ends_in_an_error_from_inside(tally):
    # PyTensor, which some of them import, raises the recursion limit that hypothesis keeps.
    assert all(callable(named(name)) for name in FUNCTIONS)
    ends = tally(calls(), called, examples=200, minutes=8)
    assert ends["refused"] > 40
    assert ends["answered"] > 40
