"""What the rule on divergences passes that are the same with longer steps: the bias of SDs.

Two kinds of group → Markdown tables. A funnel: people without trials, whose effects are sampled as
if their data were informative, so that chains have to enter the neck of a funnel; the posterior of
each SD is its prior, which is known. A small group: true values from the prior, trials, the fit at
defaults, and a fit of many draws with short steps as its reference. The bias is the difference of
posterior means of an SD, in posterior SDs.
Sources: Betancourt & Girolami (2015); Talts et al. (2018).

    python benchmarks/divergences.py [--funnels 12] [--groups 200]
"""

import argparse
import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from prior import draw_prior
from scipy.stats import halfnorm, kstest

import hmetad
from hmetad.bayes.centring import with_centring
from hmetad.bayes.chains import Request, agreeing_part, attempt
from hmetad.bayes.program import Program, build_program

type Floats = NDArray[np.float64]

PEOPLE, TRIALS, RATINGS = 4, 30, 3
QUIET: dict[str, Any] = {"progressbar": False, "quiet": True}
# Information that effects are said to have: the more, the deeper is the funnel.
INFORMATION = (30.0, 100.0, 300.0, 1000.0)
TARGETS = (0.8, 0.95)
# M alone differs between people.
FORMULA = {"log_m": "1 + (1 | subject)", "dprime": "1", "c": "1", "log_gap": "1"}
SDS = ("log_m_1|subject_sigma",)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--funnels", type=int, default=12, help="funnels of each depth")
    parser.add_argument("--groups", type=int, default=200, help="small groups")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| information | target | divergences | passes | bias of SDs: mean, worst |")
    print("|--:|--:|--:|--:|--:|")
    for information in INFORMATION:
        funnels(information, options.funnels, options.seed)
    small_groups(options.groups, options.seed)


def funnels(information: float, number: int, seed: int) -> None:
    """Print, for each length of steps, what the rule passes and how far SDs then are."""
    spec = hmetad.load_model("group", formula=FORMULA)
    counts = table_of(TRIALS, seed)
    program = build_program(counts, spec)
    effects = program.arrays.information
    false = with_centring(program, np.zeros(len(effects)), np.full(len(effects), information))
    program = replace(program, counts=counts * 0, known_start=false)
    rows: dict[float, list[tuple[int, bool, Floats]]] = {target: [] for target in TARGETS[1:]}
    for place in range(number):
        drawn = {target: sample(program, target, seed + place) for target in TARGETS}
        for longer, shorter in pairwise(TARGETS):
            (_, before, rate), (divergences, after, own) = drawn[longer], drawn[shorter]
            is_passed = 0 < own < rate and agreeing_part(program, before, after) == "all"
            rows[shorter].append((divergences, is_passed, known_bias(program, after)))
    for target, found in rows.items():
        passed = np.array([bias for _, is_passed, bias in found if is_passed])
        words = f"{passed.mean():.2f}, {abs(passed).max():.2f}" if len(passed) else "–"
        middle = np.median([divergences for divergences, *_ in found])
        print(f"| {information:g} | {target} | {middle:.0f} | {len(passed)}/{number} | {words} |")


def table_of(trials: int, seed: int) -> xr.DataArray:
    """Counts of people with so many trials each."""
    people = {"subject": range(PEOPLE)}
    return hmetad.simulate_counts(
        [1.5] * PEOPLE, ratings=RATINGS, trials=trials, coords=people, seed=seed
    )


def sample(program: Program, target: float, seed: int) -> tuple[int, xr.Dataset, float]:
    """Divergences, posterior and divergences per draw of 1,000 draws with steps of one length."""
    options = {"draws": 1000, "tune": 500, "chains": 4, "cores": 2, "random_seed": seed}
    request = Request({**options, **QUIET, "target_accept": target})
    found = attempt(program, request, request.plan, may_learn=False)
    assert found.posterior is not None
    return found.drawn.divergences, found.posterior, found.rate


def known_bias(program: Program, posterior: xr.Dataset) -> Floats:
    """Posterior mean of each SD less that of its half-normal prior, in SDs of the prior."""
    found = []
    for name in SDS:
        prior = halfnorm(scale=program.layout.priors[name].parameters["sigma"])
        found.append((float(posterior[name].mean()) - prior.mean()) / prior.std())
    return np.array(found)


def small_groups(number: int, seed: int) -> None:
    """Print ranks and bias of SDs in fits that have divergences which the rule passes."""
    spec = hmetad.load_model("group", formula=FORMULA)
    truth = draw_prior(table_of(TRIALS, seed), spec, draws=number, seed=seed)
    tables = truth["prior_predictive"]["counts"].isel(chain=0)
    print("| small groups | fits | bias of SDs: mean, worst | beyond .1 | p of ranks |")
    print("|---|--:|--:|--:|--:|")
    bias: dict[str, list[Floats]] = {}
    ranks: dict[str, list[Floats]] = {}
    for place in range(number):
        own, table = truth["prior"].isel(draw=place, chain=0), tables.isel(draw=place, drop=True)
        fit = hmetad.fit(table, spec, random_seed=seed + place, **QUIET)
        number_of = int(fit["sample_stats"]["diverging"].sum())
        said = [one for one in hmetad.notices(fit) if one.code == "divergences"]
        is_passed = bool(said) and all(one.severity != "error" for one in said)
        kind = "passed" if is_passed else "withheld" if number_of else "no divergences"
        sds = [fit["posterior"][name] for name in SDS]
        true = [float(own[name]) for name in SDS]
        ranks.setdefault(kind, []).append(
            np.array([float((x < t).mean()) for x, t in zip(sds, true, strict=True)])
        )
        if is_passed:
            longer = {"draws": 4000, "tune": 2000, "target_accept": 0.995, "chains": 4}
            again = hmetad.fit(table, spec, random_seed=seed + 1000 + place, **longer, **QUIET)
            other = [again["posterior"][name] for name in SDS]
            each = [float((x.mean() - y.mean()) / y.std()) for x, y in zip(sds, other, strict=True)]
            bias.setdefault(kind, []).append(np.array(each))
    for kind, found in ranks.items():
        p = ", ".join(f"{kstest(own, 'uniform').pvalue:.2f}" for own in np.array(found).T)
        far = np.array(bias.get(kind, [np.full(len(SDS), np.nan)]))
        words = f"{far.mean():.3f}, {abs(far).max():.2f}" if kind in bias else "–"
        beyond = f"{(abs(far) > 0.1).any(axis=1).mean():.0%}" if kind in bias else "–"
        print(f"| {kind} | {len(found)} | {words} | {beyond} | {p} |")


if __name__ == "__main__":
    main()
