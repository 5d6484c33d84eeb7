"""Rounds of sampling: chains go on until draws are enough, and take shorter steps if they fail."""

import io

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

import hmetad.bayes.chains as chains
import hmetad.bayes.rounds as rounds
from hmetad import decide, fit, notices, simulate_counts
from hmetad.base.errors import InputError
from hmetad.bayes.chains import (
    Request,
    agreeing_part,
    posterior_of,
    sampler_of,
)
from hmetad.bayes.program import build_program
from hmetad.bayes.rounds import Drawn, Plan, sample_rounds
from hmetad.specs.loading import load_model

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
OPTIONS = {"draws": 100, "tune": 100, "chains": 3, "cores": 2, "random_seed": 3, "quiet": True}


@pytest.fixture(scope="module")
def counts():
    people = {"subject": list("abcd")}
    return simulate_counts([1.5] * 4, m_ratio=0.8, trials=400, seed=1, coords=people)


@pytest.fixture(scope="module")
def program(counts):
    return build_program(counts, load_model("group"))


def drawn_by(program, may_go_on, number=1, **options):
    plan = Request(OPTIONS | options, may_go_on=may_go_on).plan
    found = sample_rounds(sampler_of(program), plan, program.arrays.size, 0.9)
    return [next(found) for _ in range(number)][-1]


def test_rounds_go_on_from_where_chains_stand_and_cores_change_nothing(program):
    # A look at 25, and rounds of 100, 200 and 400.
    twice = drawn_by(program, True, number=4)
    assert twice.x.shape == (3, 400, program.arrays.size)
    for cores in (1, 3):
        once = drawn_by(program, False, draws=400, cores=cores)
        np.testing.assert_array_equal(once.x, twice.x)
    # Every chain is another one.
    assert len(np.unique(twice.x[:, 0, 0])) == 3


def test_a_chain_that_has_ended_before_it_was_halted_gives_the_draws_of_every_round(
    program, monkeypatch
):
    """Short chains on a busy machine have all draws of all rounds at the first look."""
    monkeypatch.setattr(rounds, "MOST_DRAWS", 200)
    expected = drawn_by(program, False, draws=200)
    # No chain is looked at before it has ended.
    monkeypatch.setattr(rounds.Chain, "has", lambda chain, _: chain.is_over)
    ended = drawn_by(program, True, number=3)
    np.testing.assert_array_equal(ended.x, expected.x)


@pytest.mark.parametrize(
    ("size", "may_go_on", "expected"),
    [
        (10, False, [1000]),
        (10, True, [250, 1000, 2000, 4000, 8000]),
        # Draws of 1 GiB at most.
        (20_000, True, [250, 350, 500, 700, 1000]),
        (90_000, True, [250, 350, 372]),
        (90_000, False, [1000]),
    ],
)
def test_rounds_double_while_memory_lasts_and_many_values_are_judged_earlier(
    size, may_go_on, expected
):
    plan = Plan(500, 4, 2, 1, 1000, may_go_on, (0.9,))
    assert plan.suited_to(size).rounds(size) == expected


@pytest.mark.parametrize(
    ("size", "given", "first"),
    [(3999, {}, 0.8), (4000, {}, 0.65), (4000, {"target_accept": 0.8}, 0.8)],
)
def test_the_more_values_there_are_the_fewer_steps_need_be_accepted(size, given, first):
    assert Request(OPTIONS | given).plan.suited_to(size).targets[0] == first


def test_every_kth_draw_is_kept_and_no_divergence_lost():
    x = np.arange(2 * 4000).reshape(2, 4000, 1).astype(float)
    diverging = np.zeros((2, 4000), dtype=bool)
    diverging[1, 4] = True
    coords = {"chain": [0, 1], "draw": np.arange(4000)}
    statistics = xr.Dataset({"diverging": (("chain", "draw"), diverging)}, coords)
    kept = Drawn(x, statistics, np.zeros((1, 2, 1)), 0.9).thinned(1000)
    np.testing.assert_array_equal(kept.x[0, :3, 0], [3, 7, 11])
    assert kept.x.shape[1] == 1000
    assert np.argwhere(kept.statistics["diverging"].values).tolist() == [[1, 1]]
    assert kept.divergences == 1


@pytest.mark.integration
def test_too_few_effective_draws_are_made_more(counts, monkeypatch):
    """Every chain goes on until the judge is content, and the first 1,000 draws are kept of it."""
    seen = list[int]()

    def judge(program, draws, **options):
        seen.append(draws.shape[1])
        return posterior_of(program, draws, **options), len(seen) == 3

    monkeypatch.setattr(chains, "judged_posterior", judge)
    found = fit(counts, "group", target_accept=0.95, **QUIET)
    assert seen == [1000, 1000, 1000]
    assert found["sample_stats"].attrs["draws_sampled"] == 4000
    assert found["posterior"].sizes["draw"] == 1000


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"draws": 1000}])
def test_divergences_that_change_nothing_are_a_warning_also_where_chains_began_anew_at_a_look(
    options, counts, monkeypatch
):
    monkeypatch.setattr(chains, "TARGETS", (0.3, 0.4, 0.5))
    found = fit(counts, "group", **QUIET, **options)
    statistics = found["sample_stats"]
    assert int(statistics["diverging"].sum()) > 0
    assert statistics.attrs["agree_with_longer_steps"] == "all"
    (notice,) = [one for one in notices(found) if one.code == "divergences"]
    assert (notice.severity, notice.cells) == ("warning", ())


@pytest.mark.integration
def test_one_hard_person_gets_shorter_steps_and_a_verdict_on_all(monkeypatch):
    """Half of the answers of one person are right, and confidence tells very well which."""
    monkeypatch.setattr(chains, "TARGETS", (0.8, 0.95))
    odd = [[[0, 40, 200, 760], [760, 200, 40, 0]], [[760, 200, 40, 0], [0, 40, 200, 760]]]
    rng = np.random.default_rng(1)
    names = [f"p{i:02d}" for i in range(20)]
    table = simulate_counts(
        rng.uniform(1, 2, 20), m_ratio=0.8, trials=300, coords={"subject": names}, seed=1
    )
    table[0] = odd
    found = fit(table, "group", **QUIET)
    assert found["sample_stats"].attrs["target_accept"] == 0.95
    errors = [one for one in notices(found) if one.severity == "error"]
    assert all(one.cells in [("p00",)] for one in errors if one.code in ("divergences", "ess"))
    assert not decide(found["posterior"]["log_m_Intercept"], rope=(-1, 1)).table()["withheld"][0]


@pytest.mark.parametrize(
    ("moved", "expected"),
    [({}, "all"), ({"log_m": 3.0}, "population"), ({"log_m_Intercept": 3.0}, "")],
)
def test_what_agrees_is_all_the_population_or_nothing(program, moved, expected):
    """Of runs of unequal length: a large model may have stopped early in one of them."""
    rng = np.random.default_rng(2)
    x = program.first_point + 0.1 * rng.normal(size=(8, 600, program.arrays.size))
    one, other = posterior_of(program, x[:4, :300]), posterior_of(program, x[4:])
    for name, by in moved.items():
        other[name] = other[name] + by
    assert agreeing_part(program, one, other) == expected


def test_an_interrupted_run_lets_go_of_its_chains(program, monkeypatch):
    ended = list[rounds.Chain]()
    plain_end = rounds.Chain.end

    def end(chain):
        ended.append(chain)
        plain_end(chain)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds.Chain, "end", end)
    monkeypatch.setattr(rounds, "advance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        drawn_by(program, False)
    assert len(ended) == 3


def test_progress_is_shown_on_a_terminal_alone(program, monkeypatch):
    for is_terminal in (True, False):
        out = io.StringIO()
        made = Console(file=out, force_terminal=is_terminal, width=100)
        monkeypatch.setattr(rounds, "Console", lambda made=made, **_: made)
        plan = Request(OPTIONS | {"quiet": False}).plan
        next(sample_rounds(sampler_of(program), plan, program.arrays.size, 0.9))
        assert ("3 chains to 100 draws" in out.getvalue()) is is_terminal


def test_a_start_without_a_density_is_refused(counts):
    nowhere = build_program(counts, load_model("group"))
    nowhere.first_point[:] = np.nan
    with pytest.raises(InputError, match="no finite density where chains begin"):
        drawn_by(nowhere, False)


@pytest.mark.parametrize("kind", [RuntimeError, ValueError, BaseException])
def test_an_error_that_only_sounds_like_that_is_raised_as_it_is(program, monkeypatch, kind):
    class PanicException(kind):
        pass

    for error in (
        PanicException("index out of bounds"),
        kind("an initial value, not of the sampler"),
    ):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr(rounds, "advance", fail)
        with pytest.raises(kind) as caught:
            drawn_by(program, False)
        assert caught.value is error
