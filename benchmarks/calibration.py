"""Is every model card calibrated? Ranks of true values among draws of `hmetad.fit`, card by card.

Model card → data sets drawn from its priors → ranks of the true values among posterior draws, and a
p-value of their uniformity for every quantity. Sources: Talts et al. (2018) for the ranks; Modrák
et al. (2023) for the log-likelihood as a further quantity; Säilynoja et al. (2022) for the test and
the band of discrete ranks.

    python benchmarks/calibration.py [--cards group dmc] [--n 300] [--rounds] [--other-rule]
    python benchmarks/calibration.py --keep docs/calibration
"""

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import xarray as xr
from machine import CpuClock, describe_machine, print_table
from numpy.typing import NDArray
from prior import draw_prior
from scipy.stats import binom

import hmetad
from hmetad import ModelSpec, Prior, load_model
from hmetad.base.monte_carlo import effective_draws, rank_rhat
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.items import item_log_likelihood
from hmetad.bayes.kept_cells import derived_results, drawn_counts, outcome_draws
from hmetad.bayes.program import build_program
from hmetad.specs.design import given_of

type Integers = NDArray[np.int64]
type Floats = NDArray[np.float64]

# Six people, 60 trials and three ratings: the structure of the card's example, at a lower cost.
PEOPLE = {"subject": [*"123456"]}
TRIALS, RATINGS = 60, 3
DESIGNS: dict[str, dict[str, Sequence[Any]]] = {
    "sdt": {},
    "dmc": {},
    "hmetad_single": {},
    "individual": {},
    "group": PEOPLE,
    "group_m": PEOPLE,
    "group_comparison": {**PEOPLE, "group": [*"aaabbb"]},
    "regression": {**PEOPLE, "covariate": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0]},
    "response_conditional": PEOPLE,
    "unequal_variance": PEOPLE,
    "multitask": {"subject": [*"112233445566"], "task": ["memory", "vision"] * 6},
    "crossed_items": {"subject": [*"123"] * 40, "item": [x for x in range(40) for _ in "123"]},
    "within_subject": {
        "subject": [*"111122223333"],
        "a": ["on", "on", "off", "off"] * 3,
        "b": [*"xy"] * 6,
    },
    "hmetad_group": PEOPLE,
    "gaussian_noise": {},
    "lognormal_noise": {},
    "gaussian_noise_group": PEOPLE,
    "lognormal_noise_group": PEOPLE,
    "alternatives": {},
    "alternatives_biased": {},
    "alternatives_group": PEOPLE,
    "alternatives_crossed": {
        "subject": [*"123"] * 60,
        "item": [x for x in range(60) for _ in "123"],
    },
    "judge_group": {"judge": [*"ab"] * 6, "domain": [*"112233445566"]},
    "judge_crossed": {"judge": [*"123"] * 200, "item": [x for x in range(200) for _ in "123"]},
}
# Cards of verdicts, which are fitted without ratings.
VERDICTS = ("judge_group", "judge_crossed")
# Trials of an observer and an item, which has one of the stimuli. Cards are without loadings, so
# that no data set is fitted by another model than that it was drawn from.
FEW_TRIALS = {"crossed_items": 4, "alternatives_crossed": 1, "judge_crossed": 2}
FIELDS = {card: {"loadings": False} for card in FEW_TRIALS}
# Numbers of options of the cells, where there may be more than two.
CHOICES: dict[str, dict[str, Any]] = {
    "alternatives": {"likelihood": "alternatives", "options": 4},
    "alternatives_biased": {
        "likelihood": "biased-alternatives",
        "options": "4",
        "bias": np.zeros(3),
    },
    "alternatives_group": {"likelihood": "alternatives", "options": 4},
    "alternatives_crossed": {"likelihood": "alternatives", "options": 4},
}
# Draws among which truths are ranked, and options of the fits.
RANKS = 49
QUIET = {"cores": 1, "progressbar": False, "quiet": True}
OPTIONS = {"draws": 500, "tune": 500, "chains": 2, **QUIET}
# Whose draws cost most, and are nearly independent.
OPTIONS_OF_ITEMS = {"draws": 200, "tune": 100, "chains": 1, **QUIET}
# Data sets with one seed. Without a formula they are cells of one fit.
BATCH = 25
# Data sets drawn for one that is kept.
MOST_DRAWN = 200
# Simulated statistics of uniform ranks, and how many are simulated at once.
NULL_STATISTICS, AT_ONCE = 20_000, 1000
# With HMeta-d's standard deviations of 10 for d′ and c, nine data sets in ten have people who never
# gave one of the responses, or were never wrong. Priors are numbers to the sampler: narrower ones
# try the same density on data as people give them.
PRIORS = {
    "hmetad_group": {
        "mu_d1": Prior("Normal", mu=1.5, sigma=0.5),
        "sigma_d1": Prior("HalfNormal", sigma=0.5),
        "mu_c": Prior("Normal", mu=0, sigma=0.5),
        "sigma_c": Prior("HalfNormal", sigma=0.5),
        "mu_c2": Prior("HalfNormal", sigma=1),
        "sigma_c2": Prior("HalfNormal", sigma=1),
    }
}


def has_all_outcomes(counts: xr.DataArray) -> bool:
    """Whether somebody was right and somebody wrong with each rating."""
    return bool((counts.sum("cell") > 0).all())


# Of which data sets, where not of all. With the wide priors of this card all six observers give the
# same rating in one data set of eight, and in others are never wrong with a high one. Such data say
# nothing of M or bound it on one side only, and take minutes to sample.
KEPT = {"alternatives_group": has_all_outcomes}


def design_of(card: str) -> xr.DataArray:
    """Count table with the cells of a card; only its labels and numbers of trials are used."""
    coords = DESIGNS[card]
    # Without a formula cells have nothing in common: one is enough.
    size = len(next(iter(coords.values()))) if coords else 1
    own, trials = CHOICES.get(card, {}), FEW_TRIALS.get(card, TRIALS)
    ratings = 1 if card in VERDICTS else RATINGS
    table = hmetad.simulate_counts(
        np.ones(size), trials=trials, ratings=ratings, coords=coords, seed=0, **own
    )
    if card in FEW_TRIALS and "stimulus" in table.dims:
        is_second = table["item"].astype(int) % 2 == 1
        table = table.where((table["stimulus"] == "S2") == is_second, 0)
    return table


def main() -> None:
    """Rank the truths of every card, and print what the ranks show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cards", nargs="+", choices=DESIGNS, default=[*DESIGNS])
    parser.add_argument("--n", type=int, default=300, help="data sets of a card")
    parser.add_argument(
        "--rounds", action="store_true", help="draw until ESS suffices, as fit does by default"
    )
    parser.add_argument(
        "--other-rule", action="store_true", help="fit with the rule κ = c: ranks show the mistake"
    )
    parser.add_argument("--keep", type=Path, help="folder of the ranks that the site shows")
    given = parser.parse_args()
    print(describe_machine())
    rows = []
    for card in given.cards:
        model = {"priors": PRIORS.get(card, {}), **FIELDS.get(card, {})}
        spec = load_model(card, **model)
        fitted = load_model(card, **model, meta_criterion="absolute") if given.other_rule else spec
        options = OPTIONS_OF_ITEMS if card in FEW_TRIALS else OPTIONS
        with warnings.catch_warnings(), CpuClock() as clock:
            warnings.simplefilter("ignore")
            found = ranks_of(card, given.n, spec, fitted, QUIET if given.rounds else options)
        for name, p in zip(found["parameter"].values, found["p_value"].values, strict=True):
            print(f"{card}  {name}  p = {p:.5f}", flush=True)
        rows.append(card_row(card, found, clock.wall))
        if given.keep:
            keep_for_site(given.keep, rows[-1], found)
    print_table([*rows[0]], [[*row.values()] for row in rows])


def ranks_of(
    card: str, number: int, spec: ModelSpec, fitted: ModelSpec, options: Mapping[str, Any]
) -> xr.Dataset:
    """Ranks, R-hat and ESS (simulation, parameter) of a card, divergences, and p-values."""
    design = design_of(card)
    parts = []
    for batch in range(-(-number // BATCH)):
        size = min(BATCH, number - batch * BATCH)
        # The same for a card and batch, whatever else is run.
        seed = np.random.SeedSequence(crc32(f"{card} {batch}".encode()))
        of_data, of_fits = seed.spawn(2)
        truths, tables = draw_data_sets(card, design, spec, size, of_data)
        variables = free_variables(truths, design, spec)
        seeds = of_fits.generate_state(size).tolist()
        for i, tree in enumerate(fits_of(card, tables, fitted, seeds, options)):
            truth = values_of(truths.isel(draw=[i]), tree, variables, spec)
            draws = values_of(tree["posterior"].to_dataset(), tree, variables, fitted)
            ranked = rank_truth(draws, truth.isel(chain=0, draw=0))
            # All data sets of a joint fit share its draws: the first one has its divergences.
            diverging = tree["sample_stats"].to_dataset()["diverging"]
            is_counted = DESIGNS[card] or i == 0
            parts.append(ranked.assign(divergences=int(diverging.sum()) if is_counted else 0))
    found = xr.concat(parts, "simulation")
    # Some quantities are constant by definition.
    found = found.isel(parameter=(found["truth"].std("simulation") > 0).to_numpy())
    return found.assign(p_value=("parameter", p_values(found["rank"].to_numpy())))


def free_variables(truths: xr.Dataset, design: xr.DataArray, spec: ModelSpec) -> dict[str, bool]:
    """Variables that do not follow from others, and whether each is a correlation matrix."""
    roles = {one.name: one.role for one in build_program(design, spec).layout.variables}
    free = {*spec.parameters, *(name for name in roles if roles[name] != "partial")}
    names = sorted(free.intersection(map(str, truths)))
    return {name: roles.get(name) == "correlation" for name in names}


def draw_data_sets(
    card: str, design: xr.DataArray, spec: ModelSpec, number: int, seed: np.random.SeedSequence
) -> tuple[xr.Dataset, xr.DataArray]:
    """True values, and the data sets drawn from them that the card's rule keeps.

    The rule knows the counts and not the true values: ranks stay uniform, whatever it excludes.
    """
    keep, rng = KEPT.get(card), np.random.default_rng(seed)
    truths, tables = [], []
    kept, drawn, size = 0, 0, number
    while kept < number:
        if drawn > MOST_DRAWN * number:
            raise RuntimeError(f"{card}: the rule keeps {kept} of {drawn} data sets")
        draw = draw_with_items if card in FEW_TRIALS else draw_prior
        tree = draw(design, spec, draws=size, seed=rng)
        counts = tree["prior_predictive"].to_dataset()["counts"].isel(chain=0)
        own = [i for i in range(size) if keep is None or keep(counts.isel(draw=i, drop=True))]
        truths.append(tree["prior"].to_dataset().isel(draw=own))
        tables.append(counts.isel(draw=own))
        kept, drawn = kept + len(own), drawn + size
        # As many as will do at this rate, and some more.
        size = min(drawn * (number - kept) // max(kept, 1) + 10, 20 * number)
    first = {"draw": slice(number)}
    return xr.concat(truths, "draw").isel(first), xr.concat(tables, "draw").isel(first)


def draw_with_items(
    design: xr.DataArray, spec: ModelSpec, *, draws: int, seed: np.random.Generator
) -> xr.DataTree:
    """As `draw_prior`, of a card whose effects of items fits integrate out: these are not kept."""
    program = build_program(design, spec)
    crossing, layout = program.crossing, program.layout.integrated
    assert crossing is not None
    assert layout is not None
    observers = draw_prior(crossing.counts, crossing.spec, draws=draws, seed=seed)
    item = pd.Index(crossing.levels).get_indexer(design["item"].values.astype(str))
    if layout.correlation is None:
        prior = observers["prior"].to_dataset()
        shifts = seed.normal(size=(1, draws, len(crossing.levels)))[:, :, item]
        return counts_with_items(prior, design, spec, shifted(prior, design, spec, shifts), seed)
    assert layout.correlation.prior is not None
    scales = [[one.prior.parameters["sigma"]] for one in layout.sds if one.prior]
    sds = abs(seed.normal(0, scales, (len(scales), draws)))
    eta = layout.correlation.prior.parameters["eta"]
    rho = 2 * seed.beta(eta, eta, draws) - 1
    names = [*(one.name for one in layout.sds), layout.correlation.name]
    of_items = zip(names, [*sds, rho], strict=True)
    drawn = {name: (("chain", "draw"), own[None]) for name, own in of_items}
    prior = observers["prior"].to_dataset().assign(drawn)
    z = seed.normal(size=(2, draws, len(crossing.levels)))
    z[1] = (rho * z[0].T + np.sqrt(1 - rho**2) * z[1].T).T
    effects = (sds[..., None] * z)[:, None, :, item]
    log_p = log_p_with_items(prior, design, spec, effects)
    return counts_with_items(prior, design, spec, log_p, seed)


def counts_with_items(
    prior: xr.Dataset,
    design: xr.DataArray,
    spec: ModelSpec,
    log_p: xr.DataArray,
    seed: np.random.Generator,
) -> xr.DataTree:
    """Draws of a prior, and counts drawn from log P of outcomes in cells."""
    answers = spec.record.layout.answers
    totals = design.sum(answers).transpose("cell", ...).to_numpy()
    counts = drawn_counts(seed, totals, log_p.to_numpy(), len(answers))
    table = log_p.copy(data=counts).assign_coords(design["cell"].coords).to_dataset(name="counts")
    return xr.DataTree.from_dict({"prior": prior, "prior_predictive": table})


def shifted(
    prior: xr.Dataset, design: xr.DataArray, spec: ModelSpec, shifts: Floats
) -> xr.DataArray:
    """log P of outcomes in cells of judges, whose items have shifts (1, draws, cells)."""
    judge = pd.Index(prior["judge"].values).get_indexer(design["judge"].values)
    own = prior.isel(cell=judge).assign_coords(cell=design["cell"].values)
    labels = {dim: design[dim].values for dim in spec.record.layout.dims}
    return outcome_draws(own, spec.record, {"item_shift": shifts}, labels)


def log_p_with_items(
    prior: xr.Dataset, design: xr.DataArray, spec: ModelSpec, effects: Floats
) -> xr.DataArray:
    """log P of outcomes in cells, whose items have effects (2, 1, draws, cells) on d′ and gaps."""
    record, dims = spec.record, ("chain", "draw", "cell")
    observer = pd.Index(prior["subject_dim"].values).get_indexer(design["subject"].values)
    moved = {
        name: xr.DataArray(own, dims=dims)
        for name, own in zip(("dprime", "log_gap"), effects, strict=True)
    }
    values = {}
    for one in record.parameters:
        own = prior[f"{one.name}_subject"].isel(subject_dim=observer)
        own = own.rename(subject_dim="cell").assign_coords(cell=design["cell"].values)
        values[one.variable] = (own + moved.get(one.name, 0.0)).transpose(*dims, ...)
    results = xr.Dataset(derived_results(values, record, record.results))
    labels = {dim: design[dim].values for dim in record.layout.dims}
    return outcome_draws(results, record, given_of(design, spec), labels)


def fits_of(
    card: str,
    tables: xr.DataArray,
    spec: ModelSpec,
    seeds: Sequence[int],
    options: Mapping[str, Any],
) -> Iterator[xr.DataTree]:
    """Fit of every table (draw, cell, …); tables of independent cells are fitted as one."""
    if DESIGNS[card]:
        for i, seed in enumerate(seeds):
            yield hmetad.fit(tables.isel(draw=i, drop=True), spec, random_seed=seed, **options)
        return
    dims = [str(dim) for dim in tables.dims[1:]]
    coords: dict[str, Any] = {name: tables[name].values for name in dims[1:]}
    coords["cell"] = [f"data set {i}" for i in range(len(tables))]
    if "options" in tables.coords:
        coords["options"] = ("cell", np.repeat(tables["options"].values, len(tables)))
    joined = xr.DataArray(tables.to_numpy()[:, 0], coords, dims)
    together = hmetad.fit(joined, spec, random_seed=seeds[0], **options)
    for i in range(len(tables)):
        groups = {
            name: together[name].to_dataset().isel(cell=[i]).assign_coords(cell=tables["cell"])
            for name in ("posterior", "observed_data")
        }
        yield xr.DataTree.from_dict({**groups, "sample_stats": together["sample_stats"]})


def values_of(
    posterior: xr.Dataset, fit: xr.DataTree, variables: Mapping[str, bool], spec: ModelSpec
) -> xr.DataArray:
    """Draws (parameter, chain, draw) of all quantities; the last is the log-likelihood of a fit."""
    parts, labels = [], []
    for name, is_matrix in variables.items():
        values = posterior[name].transpose("chain", "draw", ...)
        array, levels = values.to_numpy(), [values[dim].values for dim in values.dims[2:]]
        for place in np.ndindex(array.shape[2:]):
            # A correlation matrix is symmetric, with a diagonal of 1.
            if is_matrix and place and place[0] <= place[1]:
                continue
            own = ", ".join(str(level[i]) for level, i in zip(levels, place, strict=True))
            labels.append(f"{name}[{own}]" if place else name)
            parts.append(array[(..., *place)])
    parts.append(log_likelihood(posterior, fit, spec))
    coords = {"parameter": [*labels, "loglik"]}
    return xr.DataArray(np.stack(parts), coords, ("parameter", "chain", "draw"))


def log_likelihood(posterior: xr.Dataset, fit: xr.DataTree, spec: ModelSpec) -> Floats:
    """Log-likelihood (chain, draw) of the counts of a fit, over items that it integrated out."""
    if "crossed_answers" in fit.children:
        return item_log_likelihood(Fitted.of(fit).at(posterior)).to_numpy().sum(axis=-1)
    counts = fit["observed_data"].to_dataset()["counts"]
    observed = counts.transpose("cell", *spec.record.layout.dims).to_numpy()
    log_p = outcome_draws(posterior, spec.record, given_of(counts, spec)).to_numpy()
    # An outcome with no counts may have the probability 0.
    values = np.where(observed > 0, observed * log_p, 0.0)
    return np.asarray(values.sum(axis=(*range(2, log_p.ndim),)))


def rank_truth(draws: xr.DataArray, truth: xr.DataArray) -> xr.Dataset:
    """Ranks of true values among draws of one data set, and how good the draws are."""
    rows = draws.to_numpy()
    flat = rows.reshape(len(rows), -1)
    # Evenly over all chains, and as far apart as they can be.
    thinned = flat[:, np.linspace(0, flat.shape[1] - 1, RANKS).astype(int)]
    found = {
        "rank": (thinned < truth.to_numpy()[:, None]).sum(axis=1),
        "truth": truth.to_numpy(),
        "ess": effective_draws(rows),
        "rhat": rank_rhat(rows),
    }
    own = {name: ("parameter", values) for name, values in found.items()}
    return xr.Dataset(own, {"parameter": draws["parameter"]})


def p_values(ranks: Integers) -> Floats:
    """Probability of a statistic as small as that of each column, if ranks are uniform.

    The statistic is the smallest pointwise tail probability of the distribution function.
    """
    null = null_statistics(len(ranks))
    statistics = smallest_tails(cumulative_ranks(ranks), len(ranks))
    return (np.searchsorted(null, statistics, side="right") + 1) / (len(null) + 1)


def rank_band(number: int, prob: float = 0.95) -> Integers:
    """Smallest and largest numbers of ranks ≤ 0, 1, 2…, simultaneous, of `number` data sets."""
    null = null_statistics(number)
    is_inside = 2 * tails_of(number) >= null[int((1 - prob) * len(null))]
    return np.stack([is_inside.argmax(axis=0), number - is_inside[::-1].argmax(axis=0)])


def cumulative_ranks(ranks: Integers) -> Integers:
    """Numbers (quantity, RANKS) of ranks ≤ 0, 1, 2… in every column."""
    flat = ranks + (RANKS + 1) * np.arange(ranks.shape[1])
    histogram = np.bincount(flat.ravel(), minlength=ranks.shape[1] * (RANKS + 1))
    return histogram.reshape(-1, RANKS + 1).cumsum(axis=1)[:, :-1]


def smallest_tails(at_most: Integers, number: int) -> Floats:
    """Smallest tail probability of each row of numbers of ranks, of as many data sets."""
    return np.minimum(1.0, 2 * tails_of(number)[at_most, np.arange(RANKS)].min(axis=1))


@cache
def null_statistics(number: int) -> Floats:
    """Statistics of uniform ranks of as many data sets, sorted."""
    rng = np.random.default_rng(0)
    parts = [
        smallest_tails(cumulative_ranks(rng.integers(0, RANKS + 1, (number, AT_ONCE))), number)
        for _ in range(NULL_STATISTICS // AT_ONCE)
    ]
    return np.sort(np.concatenate(parts))


@cache
def tails_of(number: int) -> Floats:
    """Smaller tail probability of every number (rows) of ranks ≤ 0, 1, 2… (columns)."""
    expected = (np.arange(RANKS) + 1) / (RANKS + 1)
    seen = np.arange(number + 1)[:, None]
    return np.minimum(binom.cdf(seen, number, expected), binom.sf(seen - 1, number, expected))


def keep_for_site(folder: Path, row: Mapping[str, Any], found: xr.Dataset) -> None:
    """Write the ranks of a card, their band and its row; other cards stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, Any] = {}
    arrays: dict[str, Any] = {"draws": RANKS}
    if (folder / "ranks.npz").exists():
        table = pd.read_csv(folder / "cards.csv")
        rows = {one["card"]: one for one in table.to_dict("records")}
        with np.load(folder / "ranks.npz") as stored:
            arrays |= {name: stored[name] for name in stored.files}
    card = row["card"]
    rows[card] = row
    arrays[card] = found["rank"].to_numpy().astype(np.uint8)
    arrays[f"{card} names"] = found["parameter"].to_numpy().astype(str)
    arrays[f"{card} band"] = rank_band(found.sizes["simulation"]).astype(np.int16)
    table = pd.DataFrame([rows[name] for name in DESIGNS if name in rows])
    table.to_csv(folder / "cards.csv", index=False, float_format="%.3g")
    np.savez_compressed(folder / "ranks.npz", **arrays)


def card_row(card: str, found: xr.Dataset, seconds: float) -> dict[str, Any]:
    """Results of a card, as the table of the site has them."""
    p = found["p_value"].to_numpy()
    smallest = int(p.argmin())
    return {
        "card": card,
        "n": found.sizes["simulation"],
        "quantities": p.size,
        "smallest p": float(p[smallest]),
        "of": str(found["parameter"].values[smallest]),
        "by Bonferroni": float(min(p[smallest] * p.size, 1.0)),
        "p < .001": int((p < 0.001).sum()),
        "p < .05": float((p < 0.05).mean()),
        "divergences": int(found["divergences"].sum()),
        "data sets with any": int((found["divergences"] > 0).sum()) if DESIGNS[card] else "one fit",
        "R-hat > 1.1": int((found["rhat"].max("parameter") > 1.1).sum()),
        "ESS < ranks": float((found["ess"] < RANKS).mean()),
        "s": round(seconds),
    }


if __name__ == "__main__":
    main()
