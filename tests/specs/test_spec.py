"""Model cards map one to one onto the frozen record."""

import operator
import pickle
from copy import copy, deepcopy
from dataclasses import asdict, replace

import pytest

from hmetad.base.errors import InputError
from hmetad.bayes.fit import fit
from hmetad.counts.vectors import from_nr
from hmetad.specs.loading import card_names, load_model, names_with_prior
from hmetad.specs.spec import (
    ModelSpec,
    Prior,
    refuse_unknown_priors,
    with_changes,
)

HEAVY = Prior("StudentT", nu=1, mu=0, sigma=1)
NORMAL = '{dist = "Normal", mu = 0, sigma = 1}'


def card_of(folder, text):
    """Path of a card with this text."""
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", card_names())
def test_every_card_says_what_it_is_and_is_the_same_wherever_it_went(name):
    spec = load_model(name)
    assert spec.name == name
    assert all((spec.title, spec.question, spec.reference, spec.example))
    refuse_unknown_priors(spec, names_with_prior(spec))
    sent = pickle.loads(pickle.dumps(spec))
    others = [load_model(name), sent, copy(spec), deepcopy(spec), replace(spec)]
    assert {spec: name} == dict.fromkeys([*others, ModelSpec.from_json(spec.to_json())], name)
    assert spec not in {replace(spec, priors={"log_m": HEAVY})}
    assert asdict(spec)["formula"] == {**spec.formula}


def test_hmetad_single_has_the_priors_of_the_jags_model():
    spec = load_model("hmetad_single")
    sds = {name: prior.parameters["sigma"] for name, prior in spec.priors.items()}
    # Precisions in JAGS: c1 2, d1 .5, meta_d .5, criteria 2.
    precisions = {name: round(sd**-2, 9) for name, sd in sds.items()}
    assert precisions == {"dprime": 0.5, "c": 2, "meta_d": 0.5, "criteria": 2}
    assert spec.choices["meta_criterion"] == "absolute"


def test_a_card_can_be_any_toml_file(tmp_path):
    text = 'scale = "m"\n[priors]\nm = {dist = "Normal", mu = 1, sigma = 0.5}\n'
    spec = load_model(card_of(tmp_path, text))
    assert (spec.name, spec.choices["scale"]) == ("mine", "m")
    assert spec.priors == {"m": Prior("Normal", mu=1, sigma=0.5)}


@pytest.mark.parametrize("field", ["formula", "names", "priors", "example"])
def test_no_table_of_a_model_can_be_changed(field):
    given = {"names": {"log_gap": "mine"}, "priors": {"log_m": HEAVY}}
    given |= {"formula": {"c": "1"}, "example": {"coords": {"x": [1, 2]}, "dprime": [1.0, 2.0]}}
    spec = ModelSpec("mine", **given)
    kept = deepcopy(spec)
    table = getattr(spec, field)
    changes = (operator.setitem, "x", 1), (dict.__setitem__, "x", 1), (operator.ior, {"x": 1})
    for change, *arguments in (*changes, (operator.delitem, next(iter(table)))):
        with pytest.raises(TypeError):
            change(table, *arguments)
    given[field].clear()
    assert spec == kept
    assert hash(spec) == hash(kept)


def test_an_example_that_is_nested_too_deeply_is_refused():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match=r"example: .*got lists or objects nested too deeply"):
        ModelSpec("mine", example={"dprime": deep})


def test_a_prior_cannot_be_changed_and_hashes():
    prior = Prior("Normal", mu=0, sigma=1)
    with pytest.raises(TypeError):
        prior.parameters["sigma"] = 2.0
    assert {prior, Prior("Normal", sigma=1, mu=0), pickle.loads(pickle.dumps(prior))} == {prior}
    assert prior != Prior("Normal", mu=0, sigma=2)


def test_changes_replace_what_they_name_and_leave_the_priors_of_what_went():
    assert with_changes(load_model("individual"), priors={"log_m": HEAVY}).priors == {
        "log_m": HEAVY
    }
    # A text alone is the formula of every parameter.
    for scale in ("log_m", "m"):
        spec = with_changes(load_model("individual", scale=scale), formula="1 + task")
        assert spec.formula == dict.fromkeys(("dprime", "c", scale, "log_gap"), "1 + task")
    spec = load_model("hmetad_group", type1="plug_in")
    assert set(spec.formula) == {"log_m"}
    assert set(spec.priors) == {"mu_log_m", "sigma_log_m", "mu_c2", "sigma_c2"}
    spec = with_changes(load_model("hmetad_group"), formula={"c": "1"})
    assert "mu_c" not in spec.priors
    assert "mu_d1" in spec.priors
    # Priors keep their names when variables are named otherwise.
    named = ModelSpec("x", names={"log_gap": "d"}, priors={"d": HEAVY})
    assert with_changes(named, names={}).priors == {"d": HEAVY}


@pytest.mark.parametrize("name", ["group", "group_comparison", "within_subject", "hmetad_group"])
def test_m_on_another_scale_keeps_its_formula_unless_that_scale_has_none(name):
    on_log = load_model(name)
    on_m = load_model(name, scale="m")
    rest = {key: text for key, text in on_log.formula.items() if key != "log_m"}
    assert on_m.formula == {**rest, "m": on_log.formula["log_m"]}
    assert not any("log_m" in prior for prior in on_m.priors)
    assert load_model(name, scale="m", formula={"m": "1"}).formula["m"] == "1"
    assert load_model(name, scale="meta_d").formula == rest


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: load_model("individul"), "Did you mean 'individual'"),
        (lambda: load_model(3), "a card's name, or its path"),
        (lambda: load_model("individual", kappa="absolute"), "meta_criterion"),
        (lambda: ModelSpec("x", scale="logm"), "'log_m' or 'm' or 'meta_d'"),
        (lambda: ModelSpec("x", formula={"logm": "1"}), "Did you mean 'log_m'"),
        (lambda: load_model("hmetad_single", formula={"meta_d": "1"}), "dprime, c"),
        (lambda: Prior("Norml", mu=0, sigma=1), "Did you mean 'Normal'"),
        (lambda: Prior("Normal", mu=0, sigma=-1), "above 0"),
        (lambda: with_changes(load_model("individual"), priors={"c": {"mu": 0}}), "priors"),
        (lambda: with_changes(load_model("hmetad_single"), priors={"criteria": HEAVY}), "Normal"),
        (
            lambda: load_model("group", names={"log_m_Intercpt": "mu"}),
            r"names: .* 'log_m_Intercept'.*got 'log_m_Intercpt'",
        ),
        # A prior of a model that is written in Python is looked at by the fit.
        (
            lambda: fit(
                from_nr([36, 24, 1, 4], [1, 4, 10, 30]), ModelSpec("x", priors={"logm": HEAVY})
            ),
            "Did you mean 'log_m'",
        ),
    ],
)
def test_unknown_words_list_the_legal_ones(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_prior_that_only_the_cells_could_refuse_is_left_to_the_fit(tmp_path):
    text = '[formula]\nlog_m = "1 + (0 + age | subject)"\n[priors]\n'
    lkj = '"log_m_age|subject_corr" = {dist = "LKJ", eta = 3}\n'
    assert set(load_model(card_of(tmp_path, text + lkj)).priors) == {"log_m_age|subject_corr"}


def test_a_formula_that_replaces_the_cards_takes_its_priors_along(tmp_path):
    text = f'[formula]\nlog_m = "1 + age"\n[priors]\nlog_m_age = {NORMAL}\ndprime = {NORMAL}\n'
    spec = with_changes(load_model(card_of(tmp_path, text)), formula={"log_m": "1 + task"})
    assert set(spec.priors) == {"dprime"}


@pytest.mark.parametrize(
    ("name", "criteria", "left"),
    [
        ("hmetad_group", "sorted_normal", {"mu_log_m", "sigma_log_m"}),
        ("hmetad_single", "group_sorted_normal", {"dprime", "c", "meta_d"}),
    ],
)
def test_other_criteria_leave_the_priors_of_the_cards_criteria_behind(name, criteria, left):
    spec = load_model(name, criteria=criteria)
    assert set(spec.priors) >= left
    assert not set(spec.priors) & {"mu_c2", "sigma_c2", "criteria"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('formula = "1 + task"', r"formula: .*a table: \[formula\] in a card.*got"),
        ("[formula]\nlog_m = 1", "formula of log_m: .*Expected text.*, got 1"),
        ('[priors]\nlog_m = {dist = "Normal", mu = "a", sigma = 1}', "mu of Normal: .*got 'a'"),
        ('[priors]\nlog_m = {dist = "Normal", mu = 0, self = 1}', "parameters of Normal"),
        ('[names]\ndprim = "d1"', "names: Did you mean 'dprime'.*got 'dprim'"),
        (
            '[formula]\nlog_m = "1 + (1|subject)"\n[names]\n"log_m_1|subjects" = "own"',
            r"Did you mean 'log_m_1\|subject'",
        ),
        ("title = 3", "title: .*Expected text.*, got 3"),
        ('titel = "x"', "Did you mean 'title'"),
        # Priors of no variable.
        *[
            (
                f'formula.log_m = "{formula}"\npriors."{prior}" = {NORMAL}',
                f"priors: .*{message}",
            )
            for formula, prior, message in [
                ("1 + (1|subject)", "log_m_Intercpt", "Did you mean 'log_m_Intercept'"),
                ("1 + (1|subject)", "log_m_1|subjct_sigma", r"mean 'log_m_1\|subject_sigma'"),
                ("1 + S(a)*S(b)", "log_m_S(b):S(a)", r"Did you mean 'log_m_S\(a\):S\(b\)'"),
                ("1 + (1|subject)", "log_m_1|subject_corr", r"log_m_1\|subject_sigma"),
            ]
        ],
        (f"priors.logm = {NORMAL}", "priors: .*Did you mean 'log_m'"),
    ],
)
def test_what_a_card_may_not_say_is_named_with_the_card(tmp_path, text, message):
    with pytest.raises(InputError, match=f"model 'mine'.*{message}"):
        load_model(card_of(tmp_path, text))


@pytest.mark.parametrize("content", [b"scale = ", b'title = "\xff"'])
def test_a_card_that_is_no_toml_is_refused(tmp_path, content):
    (tmp_path / "broken.toml").write_bytes(content)
    with pytest.raises(InputError, match="no TOML"):
        load_model(tmp_path / "broken.toml")
