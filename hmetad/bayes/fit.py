"""Fitting a model card to counts: the one place of the package that samples a posterior.

Count table and model card → DataTree with labelled cells, checked. On the way:

- the card becomes a `ModelSpec` (`specs.loading`), with a `Family` (`likelihood.registry`);
- formulas become columns of the cells (`specs.design.designs_of`), and these variables with a name,
  a prior and a place among the free values (`specs.layout.layout_of`);
- `bayes.program.build_program` puts counts, spec, designs and layout together, with a start
  (`bayes.start`) and a parametrisation of group effects (`bayes.parametrisation`), and writes
  them as arrays;
- `bayes.density` evaluates the log posterior and its gradient from the arrays; it calls
  `likelihood.tape`, which goes from parameters to the kernel of the family;
- `chosen_sampler`, below, decides how to draw: `bayes.chains` by nutpie, in rounds
  (`bayes.rounds`) and coordinates of its own (`bayes.parametrisation`); where cells share nothing,
  `bayes.importance`, or chains of each cell (`bayes.separate_cells`); or PyMC. Each
  computes labelled variables of its draws;
- `bayes.finish` checks and describes them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from importlib.metadata import version
from inspect import signature
from typing import Any, Literal

import numpy as np
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import whole
from hmetad.base.errors import ChoiceError, UnknownError, nearest
from hmetad.base.threads import at_most, usable_cpus
from hmetad.bayes.chains import OPTIONS, Request, announce, sample_together
from hmetad.bayes.finish import finish
from hmetad.bayes.importance import (
    can_be_weighed,
    most_ratings,
    sample_by_importance,
    sample_observers,
)
from hmetad.bayes.kept_cells import CHAINS, DRAWS, following_names, keeps_cells
from hmetad.bayes.program import Program, build_program, with_best_loadings
from hmetad.bayes.rounds import LARGE
from hmetad.bayes.separate_cells import draws_by_default, sample_cells_by_chains
from hmetad.likelihood.priors import Prior
from hmetad.specs.loading import model_of
from hmetad.specs.spec import ModelSpec, with_changes
from hmetad.specs.study_design import Columns, study_of

type Sampler = Callable[[Program, Request], xr.DataTree]

RECORDED_PACKAGES = ("hmetad", "pymc", "nutpie", "pytensor", "numba", "arviz", "numpy", "xarray")
# Attr of a fit whose draws go on until they are enough: how many were asked for.
AS_NEEDED = "as needed"
# nutpie has found step sizes and scales after some 300 draws of tuning.
TUNE, TUNE_OF_LARGE, TUNE_OF_PYMC = 500, 300, 1000
# Where the curvature is known from the start, the length of steps alone is tuned.
TUNE_OF_WHITENED = 200
# What samples every cell by itself.
APART = (sample_by_importance, sample_cells_by_chains)
# What draws by weight, without chains.
WEIGHING = (sample_by_importance, sample_observers)
# Draws of a chain that are kept of observers crossed with items.
DRAWS_OF_OBSERVERS = 400
SAMPLERS = ("nutpie", "pymc")
LEAST = {"draws": 1, "tune": 0, "chains": 1, "cores": 1}


@check_inputs(skip=("counts",))
def fit(
    counts: xr.DataArray,
    model: str | ModelSpec | None = None,
    *,
    conditions: Columns = (),
    groups: Columns = (),
    predictors: Columns = (),
    correlated: str | None = None,
    formula: str | Sequence[str] | Mapping[str, str] | None = None,
    priors: Mapping[str, Prior] | None = None,
    method: Literal["auto", "nuts", "importance"] = "auto",
    keep_cells: bool | None = None,
    **sample_kwargs: Any,
) -> xr.DataTree:
    """Sample the posterior of a model card.

    All cells are fitted in one model and one run. Counts are never expanded to trials: a thousand
    trials take as long as a million.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating); for more options with their labels, or
        dims (cell, correct, rating) with the coordinate ``options``.
    model : str or ModelSpec, optional
        Name or path of a card, or what `load_model` returned. By default ``"individual"``; for more
        options ``"alternatives_biased"``, for correct answers and errors ``"alternatives"``.
    conditions, groups, predictors : str or sequence of str, optional
        Columns of the cells that every parameter depends on. Conditions vary within participants,
        and have an effect in each; groups vary between participants; both are coded so that effects
        sum to 0. Predictors are numbers, and are standardised; one that varies within participants
        has a slope in each. ``"task*difficulty"`` has the interaction too, ``["task",
        "difficulty"]`` not; a product may name a column of another role. Terms are added to the
        formulas of a card of participants; its own terms of a column, and its priors, are
        unchanged.
    correlated : str, optional
        Condition, such as task: participants have a value at each level, and these correlate over
        participants.
    formula : str, sequence of str, or mapping of str to str, optional
        Formulas to use instead of those of the card or the design, in Wilkinson's notation with
        groups in brackets: ``"1 + task + (1 + task | subject)"``. A single text is the formula of
        every parameter, as is ``{"all": ...}``; ``{"log_m": ...}`` and ``"log_m=..."`` apply to
        one. Parameters: log_m (or m), dprime, c, log_gap, log_s. The card's priors for the
        parameter are dropped with its formula.
    priors : mapping of str to Prior, optional
        Priors to use instead of the card's, by variable of the posterior
        (``"log_m_1|subject_sigma"``).
    method : {"auto", "nuts", "importance"}
        Chains of the No-U-Turn sampler, separately for each cell if cells share no parameters; or
        importance sampling, which takes milliseconds per cell. The latter needs cells without
        shared parameters: a card without a formula and hyperpriors, with one M and at most 25
        values per cell (12 ratings with meta-d′). It also draws observers crossed with items, all
        together, with the effects of items integrated out. ``"auto"`` uses it if possible, unless
        target_accept or another sampler is requested; cells with poor weights are then sampled by
        chains.
    keep_cells : bool, optional
        Whether the posterior has the quantities of every cell (M, d′, criteria, …). If every
        parameter has a formula, they follow from its coefficients and effects, and `predict`
        computes them for named cells. By default they are omitted, with a notice, if they take more
        than 2 GB, as for 20 observers crossed with 2,000 items.
    **sample_kwargs
        draws, tune (500; 300 of models of 4,000 free values and more, 1000 where nuts_sampler is
        given), chains (4), cores (of all work; by default one a chain), random_seed (an integer),
        target_accept, progressbar, quiet. Without draws, each chain draws 1,000, and continues to
        at most 8,000 while R̂ is too high or ESS is below 400, if draws take at most 1 GiB; 1,000
        are kept, evenly spaced. R̂ is too high above 1.01, and for values of cells also above the
        limit for their number. With 4,000 free values and more, chains stop as soon as draws are
        enough, after 250 each at the earliest. For thousands of cells without shared parameters,
        500 or 250 are kept (at least 1,000 over all chains), so that 10,000 cells of 4 ratings take
        1.4 GB. The default of target_accept is .8, or .65 with 4,000 free values and more, and .95
        or .99 after divergences. With other options of `pymc.sample`, such as nuts_sampler
        (``"nutpie"`` or ``"pymc"``), PyMC samples its own model of the same posterior.
        ``progressbar=False`` silences all except warnings; ``quiet=True`` all except the notices.
        Importance sampling draws as many as all chains, without warm-up. For observers crossed with
        items, 400 per chain are kept by default, also with poor weights.

    Returns
    -------
    DataTree
        Groups as in ArviZ. The posterior has, per cell, dprime, c, meta_d, m_ratio, log_m, meta_c
        and criteria (see `keep_cells`), with the cells' coordinates. attrs: spec, versions, seed,
        method, sampler, density, design, as it was given, and notices, read with `notices`; those
        of code "design" have the formulas that it made. By importance sampling, sample_stats has
        ``pareto_k``, ``effective_draws`` and ``by_chains`` of each cell; of a compiled density
        ``divergences_within``, how many failed in what is each cell's own.

    Raises
    ------
    InputError
        If the card, the design, the priors or an option are incorrect, the counts cannot be
        modelled, the draws do not fit into memory, the sampler is not installed, or the method
        cannot be used.
    KeyboardInterrupt
        If sampling was interrupted; truncated chains are never returned.

    Notes
    -----
    If effects of items are integrated out, attrs have ``elpd_equal`` and ``elpd_loadings``, by
    item, of models in which observers follow these effects equally, or each with loadings
    (``log_loading_dprime|item``, with a mean of 0; from three observers of an item). They are
    computed at the highest density of each model, by the infinitesimal jackknife. A card with
    ``loadings = true`` is sampled with loadings if ``elpd_difference`` is above two standard
    errors, ``elpd_difference_se``; for other models a notice reports the comparison.

    nutpie samples a log density that is compiled once for all models, and compiles nothing for a
    fit (``attrs["density"] == "compiled"``). PyMC's model, as `hmetad.build_model` returns it,
    defines the same density; it is sampled with likelihoods that have no compiled density, such as
    registered ones, and with options of PyMC (``"pymc"``).

    Examples
    --------
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> counts = simulate_counts([1.5, 2.0], m_ratio=[0.6, 0.9], trials=50_000, seed=1)
    >>> draws = fit(counts, draws=500, chains=2, random_seed=1, progressbar=False, quiet=True)
    >>> draws["posterior"]["m_ratio"].mean(["chain", "draw"]).round(1).values.tolist()
    [0.6, 0.9]
    """
    check_option_names(sample_kwargs)
    words = conditions, groups, predictors, correlated
    counts, spec, design = study_of(counts, model_of(counts, model), *words)
    spec = with_changes(spec, formula=formula, priors=priors)
    # PyMC's sampler draws the effects of items as all others.
    program = build_program(counts, spec, integrates="nuts_sampler" not in sample_kwargs)
    options = checked_options(sample_kwargs, program)
    sample, density = chosen_sampler(program, options, method)
    request = request_of(program, sample, options, sample_kwargs, keep_cells)
    request = replace(request, may_use_chains=method == "auto")
    if program.crossing is not None:
        announce(program, request.plan)
    # Of all work, not of chains alone.
    with at_most(sample_kwargs.get("cores")):
        program = with_best_loadings(program)
        attrs = fit_attributes(program.full_spec, request.options) | {"density": density} | design
        attrs["draws"] = str(sample_kwargs.get("draws", AS_NEEDED))
        attrs |= asdict(program.compared) if program.compared else {}
        tree = sample(program, request)
        # Where weights could not be trusted, what was drawn is of chains.
        is_weighed = sample in WEIGHING and "pareto_k" in tree["sample_stats"]
        attrs["method"] = "importance" if is_weighed else "nuts"
        if not request.keep_cells:
            cells = following_names(program.spec)
            posterior = tree["posterior"].to_dataset().drop_vars(cells, errors="ignore")
            tree = tree.assign(posterior=xr.DataTree(posterior))
        # Rounds see to it themselves.
        is_in_rounds = sample in {sample_together, sample_observers}
        least = 1 if is_in_rounds else request.options["draws"]
        refuse_undefined(tree, program.spec, least, attrs["method"])
        return finish(tree, program, attrs)


def check_option_names(given: Mapping[str, Any]) -> None:
    """Raise for an option that neither `fit` nor `pymc.sample` has."""
    if not {*given} - OPTIONS - {"nuts_sampler"}:
        return
    # PyMC takes seconds to import.
    pymc = import_module("pymc")
    theirs = {*signature(pymc.sample).parameters, "nuts"} - {"kwargs", "model"}
    if given.get("nuts_sampler") == "pymc":
        theirs |= {*signature(pymc.NUTS).parameters}
    known = {*signature(fit).parameters, *OPTIONS, *theirs} - {"sample_kwargs"}
    for name in given:
        if name not in OPTIONS | theirs:
            allowed = "an option of hmetad.fit or of pymc.sample"
            raise UnknownError("sample_kwargs", repr(name), allowed, nearest(name, known))


def checked_options(given: Mapping[str, Any], program: Program) -> dict[str, Any]:
    """Options of sampling a program, with defaults and one seed; numbers are checked."""
    tune = TUNE
    if program.crossing is not None:
        tune = TUNE_OF_WHITENED
    elif "nuts_sampler" in given:
        tune = TUNE_OF_PYMC
    elif program.is_compiled and not program.has_separate_cells and program.arrays.size >= LARGE:
        tune = TUNE_OF_LARGE
    # `sampling_flags` checks more than PyMC does, and once is enough.
    options = {"draws": DRAWS, "chains": CHAINS, "compute_convergence_checks": False}
    options |= {"tune": tune, **given}
    for name, least in LEAST.items():
        whole(least)(name, options.get(name, 1))
    # PyMC counts physical cores, and would leave every second one of a virtual machine idle.
    cores = given.get("cores", min(options["chains"], usable_cpus()))
    options |= {"cores": cores, "random_seed": recorded_seed(given.get("random_seed"))}
    if options.get("nuts_sampler", SAMPLERS[0]) not in SAMPLERS:
        step = "Omit nuts_sampler to sample with nutpie."
        allowed = " or ".join(map(repr, SAMPLERS))
        raise ChoiceError("nuts_sampler", repr(given["nuts_sampler"]), allowed, step)
    return options


def request_of(
    program: Program,
    sample: Sampler,
    options: Mapping[str, Any],
    given: Mapping[str, Any],
    keep_cells: bool | None,
) -> Request:
    """What a sampler has to draw: as many draws as it takes by default, of all cells or of none."""
    options = sizes = dict(options)
    if sample is sample_observers and "draws" not in given:
        options["draws"] = DRAWS_OF_OBSERVERS
    if sample in APART:
        if "draws" not in given:
            options["draws"] = draws_by_default(program, options["chains"])
        # Draws of tuning are those of one cell, and gone when the next comes.
        keeps_cells(None, program.counts[:1], program.spec, options)
        sizes = options | {"tune": 0}
    kept = keeps_cells(keep_cells, program.counts, program.spec, sizes)
    return Request(options, kept, may_go_on="draws" not in given)


def recorded_seed(given: Any) -> int:
    """Seed to use: the one given, or a fresh one; it can be read back."""
    if given is None:
        return int(np.random.default_rng().integers(2**31))
    whole(0)("random_seed", given)
    return int(given)


def chosen_sampler(
    program: Program, options: Mapping[str, Any], method: str
) -> tuple[Sampler, str]:
    """How to sample, and what: the compiled density where there is one, and cells apart."""
    is_compiled = program.is_compiled and set(options) <= OPTIONS
    is_crossed = program.crossing is not None
    can_weigh = is_compiled and (is_crossed or can_be_weighed(program))
    can_weigh &= "target_accept" not in options
    if method == "importance" and not can_weigh:
        allowed = (
            f"a card whose cells share nothing, at most {most_ratings(program.likelihood)} ratings "
            "of it, or one whose items are integrated out, and no target_accept or nuts_sampler"
        )
        raise ChoiceError("method", "'importance'", allowed, "Leave method out.")
    if not is_compiled:
        return sample_by_pymc, "pymc"
    if can_weigh and method != "nuts":
        return (sample_observers if is_crossed else sample_by_importance), "compiled"
    is_apart = program.has_separate_cells and program.counts.sizes["cell"] > 1
    return sample_cells_by_chains if is_apart else sample_together, "compiled"


def sample_by_pymc(program: Program, request: Request) -> xr.DataTree:
    """Draw from the posterior of PyMC's own model, by nutpie or by PyMC's sampler."""
    # PyMC takes seconds to import.
    return import_module("hmetad.bayes.model").sample_pymc(program, request.options)


def refuse_undefined(tree: xr.DataTree, spec: ModelSpec, draws: int, method: str) -> None:
    """Raise without weights, or after Ctrl-C: nutpie then returns short or NaN-padded chains."""
    sampled, results = tree["posterior"].to_dataset(), spec.record.results
    always = [name for name, one in results.items() if one.always_finite and name in sampled]
    is_whole = all(bool(sampled[name].notnull().all()) for name in always or sampled)
    if method == "importance" and not is_whole:
        got, step = "'importance', which finds no finite draws", "Leave method out: chains do."
        raise ChoiceError("method", got, "cells whose weights can be computed", step)
    if sampled.sizes["draw"] < draws or not is_whole:
        raise KeyboardInterrupt("sampling was interrupted; the draws are incomplete")


def fit_attributes(spec: ModelSpec, options: Mapping[str, Any]) -> dict[str, str]:
    """What the result has to say of itself, as text."""
    choices = {name: own for name, own in spec.choices.items() if name == "meta_criterion"}
    return {
        "model": spec.name,
        "spec": spec.to_json(),
        **choices,
        "seed": str(options["random_seed"]),
        "versions": json.dumps({name: version(name) for name in RECORDED_PACKAGES}),
    }
