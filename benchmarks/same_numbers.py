"""Whether two states of the package give the same numbers: record each, then compare.

Folder → numbers of a fixed battery of public calls, as one file of arrays and texts. Run
`record FILE` in each state (with its own environment), and `compare OLD NEW` in any.
"""

import argparse
import json
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import hmetad

QUIET: dict[str, Any] = {"progressbar": False, "quiet": True}
SHORT: dict[str, Any] = {"draws": 200, "tune": 200, "chains": 2, "random_seed": 1, **QUIET}
ROPE = (-0.1, 0.1)

type Numbers = dict[str, Any]


def battery(groups: Path | None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of the calls, and the calls."""
    for seed in range(50):
        counts = random_counts(seed)
        for name, call in calls_of_counts(counts).items():
            yield f"table {seed}: {name}", call
    for seed in range(10):
        trials = random_trials(seed)
        for name, call in calls_of_trials(trials).items():
            yield f"trials {seed}: {name}", call
    for card in hmetad.bayes.card_names():
        yield from calls_of_card(card)
    yield from calls_of_estimates()
    for path in sorted(groups.glob("g*.csv")) if groups else ():
        for card in ("group", "hmetad_group"):
            yield f"{path.stem}: {card}", lambda path=path, card=card: group_moments(path, card)


def random_counts(seed: int) -> xr.DataArray:
    """Count table of 1 to 4 cells and 2 to 6 ratings."""
    rng = np.random.default_rng(seed)
    cells, ratings = 1 + seed % 4, 2 + seed % 5
    return hmetad.simulate_counts(
        rng.uniform(0.3, 2.5, cells),
        m_ratio=rng.uniform(0.2, 1.3, cells),
        c=rng.normal(0, 0.4, cells),
        trials=int(rng.integers(60, 600)),
        ratings=ratings,
        seed=seed,
    )


def random_trials(seed: int) -> pd.DataFrame:
    """Trials of three people in two tasks, with confidence between 0 and 1."""
    rng = np.random.default_rng(seed)
    n = 300
    trials = pd.DataFrame({"subject": rng.integers(3, size=n), "task": rng.choice(["a", "b"], n)})
    trials["stimulus"] = rng.choice(["left", "right"], n)
    evidence = rng.normal(np.where(trials["stimulus"] == "right", 0.7, -0.7))
    trials["response"] = np.where(evidence > 0.1, "right", "left")
    trials["confidence"] = 0.5 + np.clip(abs(evidence - 0.1 + rng.normal(0, 0.3, n)), 0, 2) / 4
    trials["correct"] = trials["stimulus"] == trials["response"]
    return trials


def calls_of_counts(counts: xr.DataArray) -> dict[str, Callable[[], Any]]:
    """What can be asked of a count table."""
    measures, information = hmetad.measures, hmetad.information
    calls: dict[str, Callable[[], Any]] = {
        "measure": lambda: hmetad.measure(counts),
        "sdt": lambda: hmetad.sdt(counts),
        "uvsdt": lambda: hmetad.uvsdt(counts),
        "fit_dmc": lambda: hmetad.fit_dmc(counts),
        "meta_information": lambda: information.meta_information(counts),
        "resample": lambda: hmetad.resample(counts, measures.auroc2, n=20, seed=1),
        "notices": lambda: [str(one) for one in hmetad.notices(counts)],
    }
    for name in hmetad.likelihood.likelihood_names():
        plain = hmetad.ModelSpec("plain", likelihood=name)
        calls[f"fit_mle {name}"] = lambda plain=plain: hmetad.fit_mle(counts, plain)
    for name in ("auroc2", "gamma", "phi", "v_statistic", "mean_confidence", "type2_roc"):
        calls[name] = lambda name=name: getattr(measures, name)(counts)
    calls["meta_delta"] = lambda: measures.meta_delta(hmetad.fit_mle(counts))
    calls["relative_to_sdt"] = lambda: measures.relative_to_sdt(counts)
    return calls


def calls_of_trials(trials: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    """What can be asked of trials."""
    measures, by = hmetad.measures, ["task", "subject"]
    return {
        "count_trials": lambda: hmetad.count_trials(trials, by=by, quantiles=4),
        "count_correct": lambda: hmetad.count_correct(trials, by=by, quantiles=4),
        "bin_confidence": lambda: hmetad.bin_confidence(trials["confidence"], ratings=4),
        "measure_trials": lambda: measures.measure_trials(trials, by="task"),
        "resample_trials": lambda: measures.resample_trials(trials, by="task", n=20, seed=1),
        "calibration": lambda: measures.calibration(trials, by="task"),
        "selective_prediction": lambda: measures.selective_prediction(trials, by="task"),
        "accuracy_by_confidence": lambda: measures.accuracy_by_confidence(trials, by="task"),
    }


def calls_of_card(card: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Simulation, likelihood and posterior of a card, and what follows from its fit."""
    spec = hmetad.load_model(card)
    counts = hmetad.simulate_counts(**spec.example, seed=1)
    fitted: list[xr.DataTree] = []

    def posterior() -> xr.Dataset:
        fitted.append(hmetad.fit(counts, spec, **SHORT))
        return fitted[-1]["posterior"].to_dataset()

    yield f"card {card}: simulate", lambda: counts
    yield f"card {card}: spec", spec.to_json
    yield f"card {card}: mle", lambda: hmetad.fit_mle(counts, hmetad.load_model(card, priors={}))
    yield f"card {card}: fit", posterior
    yield (
        f"card {card}: notices",
        lambda: sorted(f"{x.code} {x.message}" for x in hmetad.notices(fitted[0])),
    )
    yield f"card {card}: predict", lambda: hmetad.predict(fitted[0])
    yield f"card {card}: loo", lambda: [hmetad.loo(fitted[0]).elpd, hmetad.loo(fitted[0]).se]
    yield (
        f"card {card}: population",
        lambda: hmetad.report.population_table(fitted[0]).to_json(),
    )
    yield f"card {card}: decide", lambda: judged(fitted[0])


def judged(fit: xr.DataTree) -> Any:
    """Verdicts of differences between the levels of a column, in each variable of the cells."""
    posterior = fit["posterior"].to_dataset()
    texts = [str(n) for n, x in posterior.coords.items() if x.dims == ("cell",) and n != "cell"]
    levels = [name for name in texts if posterior[name].dtype.kind == "U"]
    found = {}
    for name in [str(n) for n, x in posterior.items() if x.dims == ("chain", "draw", "cell")]:
        for over in levels[:1]:
            pairs = hmetad.contrast(fit, var=name, over=over, within=levels[1:])
            found[name] = flat(hmetad.decide(pairs, rope=ROPE).results)
    return found


def calls_of_estimates() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Estimates with standard errors in three formulas."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"model": list("abcd") * 5, "set": np.repeat(list("vwxyz"), 4)})
    table["auroc2"] = 0.7 + rng.normal(0, 0.05, 20)
    table["se"] = 0.02
    for right in (
        "1 + (1 | set)",
        "0 + model + (1 | set)",
        "0 + model + (1 | set) + (1 | model:set)",
    ):
        yield (
            f"estimates {right}",
            lambda right=right: hmetad.bayes.fit_estimates(
                table, f"auroc2 ~ {right}", se="se", seed=1, draws=200
            )["posterior"].to_dataset(),
        )


def group_moments(path: Path, card: str) -> Mapping[str, list[float]]:
    """Posterior means and SDs of a group's variables, from counts in long form."""
    rows = pd.read_csv(path)
    trials = rows.loc[rows.index.repeat(rows["count"])]
    trials = trials.assign(subject=trials["subject"].astype(str).str.zfill(3))
    counts = hmetad.count_trials(trials, by="subject", confidence="rating", ratings=4)
    draws = hmetad.fit(counts, card, random_seed=1, **QUIET)["posterior"].to_dataset()
    plain = [name for name, x in draws.items() if x.dims == ("chain", "draw")]
    return {str(name): [float(draws[name].mean()), float(draws[name].std())] for name in plain}


def flat(value: Any) -> Any:
    """Arrays and texts of a result, by their names in it."""
    if isinstance(value, xr.DataArray):
        value = value.to_dataset(name="value") if value.name is None else value.to_dataset()
    if isinstance(value, xr.Dataset):
        return {str(name): np.asarray(x.values) for name, x in value.variables.items()}
    if isinstance(value, pd.DataFrame):
        return {str(name): x.to_numpy() for name, x in value.items()}
    if isinstance(value, pd.Series):
        return value.to_numpy()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: flat(x) for name, x in value._asdict().items()}
    if isinstance(value, tuple | list) and any(hasattr(x, "shape") for x in value):
        return {str(place): flat(x) for place, x in enumerate(value)}
    return value if isinstance(value, dict | str | list | np.ndarray) else repr(value)


def record(path: Path, groups: Path | None) -> None:
    """Run the battery, and keep what it gives; an error is kept as its text."""
    found: Numbers = {}
    for name, call in battery(groups):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = flat(call())
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        print(name, flush=True)
    path.write_bytes(pickle.dumps(found))


def compare(old: Path, new: Path) -> int:
    """Print what differs, and by how much; 0 where all is equal to the last bit."""
    before, after = (pickle.loads(path.read_bytes()) for path in (old, new))
    different = 0
    for name in dict.fromkeys([*before, *after]):
        said = difference(before.get(name, "missing"), after.get(name, "missing"))
        if said:
            different += 1
            print(f"{name}: {said}")
    print(f"{len(before) - different} of {len(before)} calls give the same to the last bit")
    return int(different > 0)


def difference(a: Any, b: Any) -> str:
    """How two results differ; nothing where they do not."""
    if isinstance(a, dict) and isinstance(b, dict):
        parts = {key: difference(a.get(key, "missing"), b.get(key, "missing")) for key in {*a, *b}}
        return "; ".join(f"{key}: {said}" for key, said in sorted(parts.items()) if said)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape:
            return f"shape {a.shape} → {b.shape}"
        if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
            return "" if a.tolist() == b.tolist() else "other values"
        if np.array_equal(a, b, equal_nan=True):
            return ""
        if (np.isfinite(a) != np.isfinite(b)).any():
            return "other values are undefined"
        with np.errstate(all="ignore"):
            scale = np.maximum(1e-300, np.maximum(abs(a), abs(b)))
            return f"relative {np.nanmax(abs(a - b) / scale):.1e}"
    same = json.dumps(a, default=str) == json.dumps(b, default=str)
    return "" if same else f"{str(a)[:150]!r} → {str(b)[:150]!r}"


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    recording = ways.add_parser("record", help="run the battery and keep its numbers")
    recording.add_argument("file", type=Path)
    recording.add_argument("--groups", type=Path, help="folder of g20.csv, g100.csv, g500.csv")
    comparing = ways.add_parser("compare", help="compare two records")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.way == "record":
        record(given.file, given.groups)
        return 0
    return compare(given.old, given.new)


if __name__ == "__main__":
    raise SystemExit(main())
