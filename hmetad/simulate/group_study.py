"""One study of people, simulated and fitted.

What is taken for true, the size, its number and a seed → interval of what is judged, and how good
its draws are. Plain numbers and texts come in and go out, so that it runs in any process.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hmetad.bayes.fit import fit
from hmetad.compare.verdicts import summarise
from hmetad.notice_registry import limit
from hmetad.simulate.people import Population, simulate_people
from hmetad.simulate.questions import QUESTIONS
from hmetad.specs.loading import load_model

__all__ = ["NUMBERS", "is_reliable", "run_study"]

# What a study is remembered by.
NUMBERS = ("mean", "lower", "upper", "rhat", "ess", "divergences")
# A fit that cannot be relied on is done once more with as many times the draws.
MORE_DRAWS = 3


def run_study(task: Mapping[str, Any]) -> dict[str, float]:
    """Simulate one study, fit it, and summarise what is judged.

    Parameters
    ----------
    task : mapping of str to object
        question; population, the fields of `Population`; subjects, trials, study (its number) and
        seed, on which the data depend and on nothing else; level, the probability of the
        interval; sampling, options of `fit`.

    Returns
    -------
    dict of str to float
        mean, lower, upper of the posterior of what is judged; rhat, ess (of the worse bound) and
        divergences. A fit that is not good enough is done once more with three times the draws.
    """
    asked = QUESTIONS[task["question"]]
    entropy = [task[name] for name in ("seed", "subjects", "trials", "study")]
    of_data, of_fits = np.random.SeedSequence(entropy).spawn(2)
    given = task["population"]
    population = Population(**{**given, "gaps": tuple(map(tuple, given["gaps"]))})
    rng = np.random.default_rng(of_data)
    sizes = task["subjects"], task["trials"]
    counts = simulate_people(population, task["question"], *sizes, rng)
    spec = load_model(asked.card, meta_criterion=population.meta_criterion)
    options = {**task["sampling"], "cores": 1, "progressbar": False, "quiet": True}
    found: dict[str, float] = {}
    for seed, times in zip(of_fits.generate_state(2).tolist(), (1, MORE_DRAWS), strict=True):
        more = {name: times * options[name] for name in ("draws", "tune")}
        tree = fit(counts, spec, random_seed=seed, **{**options, **more})
        rows = asked.draws(tree["posterior"].to_dataset()).to_numpy()[None]
        told = summarise(rows, level=task["level"], is_hdi=False, null=0.0, rope=(-1.0, 1.0))
        found = {name: float(told[name][0]) for name in ("mean", "lower", "upper", "rhat")}
        found["ess"] = float(told["ess_tail"][0])
        found["divergences"] = float(tree["sample_stats"]["diverging"].sum())
        if is_reliable(found):
            break
    return found


def is_reliable(found: Mapping[str, float]) -> bool:
    """Whether the draws of what is judged keep the limits of `fit` and `decide`.

    Examples
    --------
    >>> is_reliable({"rhat": 1.02, "ess": 900.0, "divergences": 0.0})
    False
    """
    has_mixed = found["rhat"] <= limit("rhat") and found["ess"] >= limit("ess")
    return has_mixed and found["divergences"] == 0
