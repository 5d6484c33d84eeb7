"""Model cards map one to one onto the frozen record."""

import pytest

from hmetad.bayes.spec import ModelSpec, Prior, card_names, load_model, with_changes
from hmetad.errors import InputError

HEAVY = Prior("StudentT", nu=1, mu=0, sigma=1)


def test_the_cards_of_the_package_are_listed():
    assert card_names() == [
        "crossed_items",
        "dmc",
        "group",
        "group_comparison",
        "hmetad_group",
        "hmetad_single",
        "individual",
        "multitask",
        "regression",
        "response_conditional",
        "unequal_variance",
        "within_subject",
    ]


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
    sds = {name: prior.parameters["sigma"] for name, prior in spec.priors.items()}
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
    assert spec.priors == {"m": Prior("Normal", mu=1, sigma=0.5)}


@pytest.mark.parametrize("name", card_names())
def test_the_spec_survives_as_json(name):
    spec = load_model(name)
    assert ModelSpec.from_json(spec.to_json()) == spec


def test_priors_are_replaced_by_name():
    spec = with_changes(load_model("individual"), priors={"log_m": HEAVY})
    assert spec.priors == {"log_m": HEAVY}


def test_a_text_alone_is_the_formula_of_m():
    for scale in ("log_m", "m"):
        spec = with_changes(load_model("individual", scale=scale), formula="1 + task")
        assert spec.formula == {scale: "1 + task"}


def test_a_change_of_type1_takes_its_formulas_and_priors_along():
    spec = load_model("hmetad_group", type1="plug_in")
    assert set(spec.formula) == {"log_m"}
    assert set(spec.priors) == {"mu_log_m", "sigma_log_m", "mu_c2", "sigma_c2"}


def test_a_new_formula_leaves_the_cards_priors_of_that_parameter_behind():
    spec = with_changes(load_model("hmetad_group"), formula={"c": "1"})
    assert "mu_c" not in spec.priors
    assert "mu_d1" in spec.priors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: load_model("individul"), "Did you mean 'individual'"),
        (lambda: load_model("nowhere.toml"), "no file"),
        (lambda: load_model("individual", kappa="absolute"), "meta_criterion"),
        (lambda: load_model("individual", meta_criterion="both"), "'relative' or 'absolute'"),
        (lambda: ModelSpec("x", scale="logm"), "'log_m' or 'm' or 'meta_d'"),
        (lambda: ModelSpec("x", formula={"logm": "1"}), "Did you mean 'log_m'"),
        (lambda: load_model("group", formula={"log_s": "1"}), "dprime, c, log_m, log_gap"),
        (lambda: load_model("hmetad_single", formula={"meta_d": "1"}), "dprime, c"),
        (lambda: Prior("Norml", mu=0, sigma=1), "Did you mean 'Normal'"),
        (lambda: Prior("Normal", mu=0), "mu, sigma"),
        (lambda: Prior("Normal", mu=0, sigma=-1), "above 0"),
        (lambda: Prior("Normal", mu=float("nan"), sigma=1), "finite"),
        (lambda: with_changes(load_model("individual"), priors={"c": {"mu": 0}}), "priors"),
        (lambda: with_changes(load_model("hmetad_single"), priors={"criteria": HEAVY}), "Normal"),
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
