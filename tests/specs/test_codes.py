"""Codes of tasks, groups and people are levels, whatever type of number or text they are."""

import numpy as np
import pytest
import xarray as xr
from command_line import refused, run
from saved import as_saved

import hmetad
from hmetad import InputError, ModelSpec
from hmetad.bayes import card_names
from hmetad.specs.design import designs_of
from hmetad.specs.layout import layout_of

KINDS = {"whole": int, "fraction": float, "flag": bool}
QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
SHORT = {"draws": 20, "tune": 30, "chains": 1, **QUIET}
FACTORS = ("subject", "item", "task", "group", "difficulty", "a", "b")


def coded(card, kind):
    """Table of a card's example, whose factors have the codes 0, 1, ... of a type."""
    example = {**card.example}
    coords = {**example.pop("coords", {})}
    for name in FACTORS:
        if name in coords:
            codes = np.unique(coords[name], return_inverse=True)[1]
            # A person who is True or False is one of two at most.
            own = kind if kind is not bool or codes.max() == 1 else int
            coords[name] = codes.astype(own).tolist()
    return hmetad.simulate_counts(**example, coords=coords, seed=1)


def as_text(counts):
    """The same table with text in the place of codes."""
    codes = {name: x.astype(str) for name, x in counts.coords.items() if name in FACTORS}
    return counts.assign_coords(codes)


def shape_of(counts, card):
    """Variables of a model, and the labels of their dims."""
    layout = layout_of(counts, card, designs_of(counts, card))
    labels = {dim: list(map(str, x)) for dim, x in layout.coords.items() if dim != "cell"}
    return {one.name: one.dims for one in layout.variables}, labels


@pytest.mark.parametrize("name", [x for x in card_names() if hmetad.load_model(x).formula])
def test_a_card_has_the_same_model_for_codes_of_every_type(name):
    card = hmetad.load_model(name)
    whole, fraction, flags = (coded(card, kind) for kind in KINDS.values())
    expected = shape_of(as_text(whole), card)
    assert shape_of(whole, card) == shape_of(fraction, card) == expected
    assert shape_of(flags, card) == shape_of(as_text(flags), card)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("multitask", "whole"),
        pytest.param("multitask", "fraction", marks=pytest.mark.integration),
        pytest.param("multitask", "flag", marks=pytest.mark.integration),
        pytest.param("group_comparison", "whole", marks=pytest.mark.integration),
        pytest.param("meta_d_by_difficulty", "whole", marks=pytest.mark.integration),
    ],
)
def test_fits_and_predictions_do_not_depend_on_the_type_of_codes(name, kind, tmp_path):
    card = hmetad.load_model(name)
    counts = coded(card, KINDS[kind])
    fits = [hmetad.fit(table, card, **SHORT) for table in (counts, as_text(counts))]
    saved = hmetad.load_fit(hmetad.save_fit(fits[0], tmp_path / "fit.nc"))
    expected = hmetad.predict(fits[1])["dprime"].values
    for fit in (fits[0], saved):
        np.testing.assert_array_equal(hmetad.predict(fit)["dprime"].values, expected)
    column = card.factors[0]
    # In the order of the cells, which examples have as people would.
    levels = np.array(list(dict.fromkeys(counts[column].values.tolist())))
    for asked in (levels.tolist(), levels.astype(float).tolist() if kind == "whole" else levels):
        own = hmetad.predict(saved, {column: asked})["dprime"].values
        np.testing.assert_array_equal(own, expected)
    pairs = [hmetad.contrast(hmetad.predict(fit), var="dprime", over=column) for fit in fits]
    np.testing.assert_array_equal(*(pair.values for pair in pairs))
    tables = [hmetad.report.population_table(fit) for fit in fits]
    assert tables[0]["mean"].tolist() == tables[1]["mean"].tolist()


def sites(kind, **columns):
    """Three sites, of which the last has the code 10 and the largest d′."""
    coords = {"site": np.array([1, 2, 10]).astype(kind).tolist()}
    return hmetad.simulate_counts(
        [1.0, 1.5, 2.5], coords=coords, covariates=columns, trials=4000, seed=1
    )


def maximum(counts, formula, **options):
    """Estimates of d′ by a formula of its own."""
    return hmetad.fit_mle(counts, ModelSpec("own", formula={"dprime": formula}, **options))


@pytest.mark.parametrize(
    ("kind", "own", "factors"),
    [
        *[(kind, "site", ("site",)) for kind in (int, str, float)],
        *[(str, "site", ()), (int, "C(site)", ())],
    ],
)
def test_levels_that_are_numbers_come_by_their_value(kind, own, factors):
    model = ModelSpec("own", formula={"dprime": f"1 + {own}"}, factors=factors)
    assert hmetad.build_model(sites(kind), model).coords[f"{own}_dim"] == ("2", "10")


@pytest.mark.parametrize("formula", ["0 + site", "0 + site:half", "0 + site*half"])
@pytest.mark.parametrize("kind", [int, float])
def test_numbers_alone_without_an_intercept_are_refused_with_both_ways_out(formula, kind):
    counts = sites(kind, half=["a", "a", "b"])
    if formula == "0 + site*half":
        counts = counts.assign_coords(half=("cell", [1, 1, 2]))
    with pytest.raises(InputError, match=r"C\((site|half)\).*1 \+.*without an intercept"):
        maximum(counts, formula)


@pytest.mark.parametrize("formula", ["0 + site", "1 + C(site)", "1 + site", "1 + (1 | site)"])
def test_missing_codes_are_refused(formula):
    counts = sites(float).assign_coords(site=("cell", [1.0, np.nan, 2.0]))
    with pytest.raises(InputError, match="'site', missing in 1 of 3 cells"):
        hmetad.build_model(counts, formula=formula)


def test_factors_of_a_model_are_columns():
    for wrong in ("task", [1], None):
        with pytest.raises(InputError, match="factors"):
            ModelSpec("own", factors=wrong)
    spec = ModelSpec("own", factors=["task"])
    assert ModelSpec.from_json(spec.to_json()) == spec
    assert hmetad.load_model("multitask", formula={"log_m": "1 + task"}).factors == ("task",)


@pytest.fixture
def study(tmp_path):
    """Trials of people in the tasks 1 and 2, a file of them, and their table."""
    people = np.repeat([1, 2, 3, 4], 2).tolist()
    trials = hmetad.simulate_trials(
        np.linspace(1, 2, 8), coords={"subject": people, "task": [1, 2] * 4}, trials=100, seed=1
    )
    trials.to_csv(tmp_path / "trials.csv", index=False)
    return tmp_path, hmetad.count_trials(trials, by=["subject", "task"])


@pytest.mark.integration
def test_the_command_line_reads_the_tasks_1_and_2_as_python_does(study):
    folder, counts = study
    run(folder, "fit trials.csv --by subject,task --model multitask --seed 1 --draws 20 -o fit.nc")
    alone = hmetad.fit(counts, "multitask", draws=20, **QUIET)
    fits = hmetad.load_fit(folder / "fit.nc"), as_saved(alone)
    # Coordinates of the cells are text in the one and numbers in the other.
    found, own = (fit["posterior"].to_dataset().drop_vars(["task", "subject"]) for fit in fits)
    for name in ("log_m_task", "log_m_task|subject_corr", "dprime"):
        xr.testing.assert_equal(found[name], own[name])


@pytest.mark.parametrize("formula", ["1 + task", "0 + task", "1 + (0 + task | subject)"])
def test_codes_alone_in_a_formula_of_the_command_line_are_refused(study, formula):
    folder, counts = study
    line = f"fit trials.csv --by subject,task --formula '{formula}' -o fit.nc"
    assert "'task' alone, whose values are numbers: 1, 2" in refused(folder, line)
    assert "C(task), a value for each level, or scale(task), a slope" in refused(folder, line)
    if "0" in formula:
        with pytest.raises(InputError, match=r"C\(task\)"):
            hmetad.fit(counts, formula=formula)
    # A level that a coding lacks.
    line = "fit trials.csv --by subject,task --formula '1 + T(task, ref=9)' -o fit.nc"
    assert "quotation marks" in refused(folder, line)
