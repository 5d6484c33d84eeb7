"""Is every model card calibrated? Ranks of true values among posterior draws, card by card.

Model cards → a folder with the ranks of every card, and p-values of their uniformity. Each batch of
data sets is saved when it is done: the same command goes on where it stopped.

    python benchmarks/calibration.py FOLDER [--cards group dmc] [--n 300] [--batch 25] [--rounds]
    python benchmarks/calibration.py FOLDER --only-summary [--keep docs/calibration]
"""

import argparse
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import xarray as xr
from machine import CpuClock, describe_machine, print_table

import hmetad
from hmetad import Prior, load_model
from hmetad.base.uniformity import uniformity
from hmetad.simulate import calibrate_sampler

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
    "crossed_items": {"subject": [*"111222333444"], "item": [*"xyz"] * 4},
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
}
# Numbers of options of the cells, where there may be more than two.
CHOICES: dict[str, dict[str, Any]] = {
    "alternatives": {"likelihood": "alternatives", "options": 4},
    "alternatives_biased": {
        "likelihood": "biased-alternatives",
        "options": "4",
        "bias": np.zeros(3),
    },
    "alternatives_group": {"likelihood": "alternatives", "options": 4},
}
# Draws among which truths are ranked, and options of the fits.
RANKS = 49
OPTIONS = {"draws": 500, "tune": 500, "chains": 2, "cores": 1}
# As `fit` draws when nothing is said: chains go on, or begin anew, until draws are enough.
ROUNDS = {"draws": None, "cores": 1}
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
    own = CHOICES.get(card, {})
    return hmetad.simulate_counts(
        np.ones(size), trials=TRIALS, ratings=RATINGS, coords=coords, seed=0, **own
    )


def main() -> None:
    """Rank what is missing, then print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where ranks are kept")
    parser.add_argument("--cards", nargs="+", choices=DESIGNS, default=[*DESIGNS])
    parser.add_argument("--n", type=int, default=300, help="data sets of a card")
    parser.add_argument(
        "--rounds", action="store_true", help="draw until it is enough, as fit does"
    )
    parser.add_argument("--batch", type=int, default=25, help="data sets that are saved at once")
    parser.add_argument("--only-summary", action="store_true", help="fit nothing")
    parser.add_argument("--keep", type=Path, help="folder for what the page of the site shows")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if not given.only_summary:
        print(describe_machine())
        for card in given.cards:
            for batch in range(-(-given.n // given.batch)):
                path = given.folder / f"{card}-{batch:03d}.nc"
                keep_batch(path, card, batch, given.batch, ROUNDS if given.rounds else OPTIONS)
    found = {card: batches_of(given.folder, card) for card in given.cards}
    done = {card: one for card, one in found.items() if one is not None}
    print_summary(done)
    if given.keep:
        keep_for_site(given.keep, done)


def keep_batch(
    path: Path, card: str, batch: int, size: int, options: Mapping[str, int | None]
) -> None:
    """Rank some data sets of a card, unless they are there."""
    if path.exists():
        return
    clock = CpuClock()
    with warnings.catch_warnings(), clock:
        warnings.simplefilter("ignore")
        found = calibrate_sampler(
            load_model(card, priors=PRIORS.get(card, {})),
            design_of(card),
            n=size,
            ranks=RANKS,
            keep=KEPT.get(card),
            # The same for a card and batch, whatever else is run.
            seed=crc32(f"{card} {batch}".encode()),
            **options,
        )
    found.attrs |= {"wall": clock.wall, "cpu": clock.cpu, "card": card}
    unfinished = path.with_suffix(".part")
    found.to_netcdf(unfinished)
    unfinished.rename(path)
    print(
        f"{path.stem}: {clock.wall:.0f} s, smallest p {float(found['p_value'].min()):.4f}",
        flush=True,
    )


def batches_of(folder: Path, card: str) -> xr.Dataset | None:
    """All that was ranked of a card; None where nothing was."""
    parts = []
    for path in sorted(folder.glob(f"{card}-[0-9][0-9][0-9].nc")):
        with xr.open_dataset(path) as part:
            parts.append(part.load().drop_vars(["statistic", "p_value"]))
    if not parts:
        return None
    found = xr.concat(parts, "simulation")
    # Where cells have nothing in common, all data sets of a batch are one fit.
    own = [p["divergences"] if DESIGNS[card] else p["divergences"][:1] for p in parts]
    found.attrs["divergences"] = sum(int(x.sum()) for x in own)
    found.attrs["wall"] = sum(part.attrs["wall"] for part in parts)
    found["p_value"] = ("parameter", uniformity(found["rank"].to_numpy().astype(int), RANKS)[1])
    return found


def print_summary(found: dict[str, xr.Dataset]) -> None:
    """A line for every quantity, and a table of the cards."""
    for card, one in found.items():
        for name, p in zip(one["parameter"].values, one["p_value"].values, strict=True):
            print(f"{card}  {name}  p = {p:.5f}")
    rows = [card_row(card, one) for card, one in found.items()]
    if rows:
        print_table([*rows[0]], [[*row.values()] for row in rows])


def keep_for_site(folder: Path, found: dict[str, xr.Dataset]) -> None:
    """Ranks of all cards, compressed, and the table; other cards stay as they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, arrays = kept_on_site(folder)
    rows |= {card: card_row(card, one) for card, one in found.items()}
    table = pd.DataFrame([rows[card] for card in DESIGNS if card in rows])
    table.to_csv(folder / "cards.csv", index=False, float_format="%.3g")
    for card, one in found.items():
        arrays[card] = one["rank"].to_numpy().astype(np.uint8)
        arrays[f"{card} names"] = one["parameter"].to_numpy().astype(str)
    np.savez_compressed(folder / "ranks.npz", draws=RANKS, **arrays)


def kept_on_site(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows of cards and arrays of ranks that are there already."""
    if not (folder / "ranks.npz").exists():
        return {}, {}
    table = pd.read_csv(folder / "cards.csv")
    with np.load(folder / "ranks.npz") as stored:
        arrays = {name: stored[name] for name in stored.files if name != "draws"}
    return {row["card"]: row for row in table.to_dict("records")}, arrays


def card_row(card: str, found: xr.Dataset) -> dict[str, Any]:
    """What is said of a card."""
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
        "divergences": found.attrs["divergences"],
        "data sets with any": int((found["divergences"] > 0).sum()) if DESIGNS[card] else "one fit",
        "R-hat > 1.1": int((found["rhat"].max("parameter") > 1.1).sum()),
        "ESS < ranks": float((found["ess"] < RANKS).mean()),
        "s": round(found.attrs["wall"]),
    }


if __name__ == "__main__":
    main()
