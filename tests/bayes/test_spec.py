"""Model cards map one to one onto the frozen record."""

import json

import pytest

from hmetad.bayes.spec import DEFAULT_PRIORS, ModelSpec, Prior, card_names, load_model, with_priors
from hmetad.errors import InputError

HEAVY = Prior("StudentT", nu=1, mu=0, sigma=1)


def test_the_cards_of_the_package_are_listed():
    assert card_names() == ["hmetad_single", "individual"]


@pytest.mark.parametrize("name", card_names())
def test_every_card_says_what_it_is(name):
    spec = load_model(name)
    assert spec.name == name
    assert spec.title
    assert spec.question
    assert spec.reference
    assert spec.example


def test_hmetad_single_has_the_priors_of_the_jags_model():
    spec = load_model("hmetad_single")
    sds = {name: spec.prior(name).parameters["sigma"] for name in spec.parameters}
    # Precisions in JAGS: c1 2, d1 .5, meta_d .5, criteria 2.
    precisions = {name: round(sd**-2, 9) for name, sd in sds.items()}
    assert precisions == {"dprime": 0.5, "c": 2, "meta_d": 0.5, "criteria": 2}
    assert spec.meta_criterion == "absolute"


def test_fields_can_be_changed_while_loading():
    assert load_model("hmetad_single", type1="plug_in").parameters == ("meta_d", "criteria")


def test_a_card_can_be_any_toml_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('scale = "m"\n[priors]\nm = {dist = "Normal", mu = 1, sigma = 0.5}\n')
    spec = load_model(path)
    assert (spec.name, spec.scale) == ("mine", "m")
    assert spec.prior("m") == Prior("Normal", mu=1, sigma=0.5)
    assert spec.prior("c") == DEFAULT_PRIORS["c"]


def test_the_spec_survives_as_json_with_every_prior_spelled_out():
    record = json.loads(load_model("individual").to_json())
    assert set(record["priors"]) == {"dprime", "c", "log_m", "log_gap"}
    assert record["priors"]["dprime"] == {"dist": "Normal", "mu": 1.0, "sigma": 1.0}
    assert record["meta_criterion"] == "relative"


def test_priors_are_replaced_by_name():
    spec = with_priors(load_model("individual"), {"log_m": Prior("StudentT", nu=3, mu=0, sigma=1)})
    assert spec.prior("log_m").dist == "StudentT"
    assert spec.prior("c") == DEFAULT_PRIORS["c"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: load_model("individul"), "Did you mean 'individual'"),
        (lambda: load_model("nowhere.toml"), "no file"),
        (lambda: load_model("individual", kappa="absolute"), "meta_criterion"),
        (lambda: load_model("individual", meta_criterion="both"), "'relative' or 'absolute'"),
        (lambda: ModelSpec("x", scale="logm"), "'log_m' or 'm' or 'meta_d'"),
        (lambda: ModelSpec("x", priors={"logm": Prior("HalfNormal", sigma=1)}), "'log_m'"),
        (lambda: Prior("Norml", mu=0, sigma=1), "Did you mean 'Normal'"),
        (lambda: Prior("Normal", mu=0), "mu, sigma"),
        (lambda: Prior("Normal", mu=0, sigma=-1), "above 0"),
        (lambda: Prior("Normal", mu=float("nan"), sigma=1), "finite"),
        (lambda: with_priors(load_model("individual"), {"c": {"mu": 0}}), "priors"),
        (lambda: with_priors(load_model("hmetad_single"), {"criteria": HEAVY}), "Normal"),
    ],
)
def test_unknown_words_list_the_legal_ones(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_card_that_is_no_toml_is_refused(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("scale = ")
    with pytest.raises(InputError, match="no TOML"):
        load_model(path)
