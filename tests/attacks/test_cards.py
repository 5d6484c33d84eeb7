"""Model cards from strangers are refused in one line, or are models."""

import re
from datetime import date

import pytest
from hypothesis import strategies as st

import hmetad
from hmetad.base.errors import InputError
from hmetad.specs.loading import MAX_BYTES, MAX_LINE, card_names, models_folder
from hmetad.specs.spec import MAX_TEXT

CARDS = [(models_folder() / f"{name}.toml").read_text(encoding="utf-8") for name in card_names()]
VALUES = ["3", "-1e400", "nan", "true", '""', '"cell"', '"a/b"', '"\\u0000"', "[]", "[[1], {}]"]
VALUES += ["{}", '{dist = "Normal", mu = 0, sigma = 1}', '{dist = "LKJ", eta = 2}', "1979-05-27"]
VALUES += ["'''\n'''", '"1 + (1|subject)"', '"__import__(1)"', f'"{"x" * 300}"', "0x" + "f" * 200]
BOTH = 'formula = {log_m = "1", c = "1"}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 3_900, "no TOML|nested too deeply"),
        ("a." * 1_900 + "x = 1", "fields: .*got 'a'"),
        ("a." * 3_000 + "x = 1", f"Expected at most {MAX_LINE}.*a line of 6005 characters"),
        ("#\n" * (MAX_BYTES // 2 + 1), f"at most {MAX_BYTES}"),
        (f'title = """{"x\n" * MAX_TEXT}"""', f"text of at most {MAX_TEXT} characters"),
        *[
            (f'[names]\ndprime = "{x}"', rf"name of dprime: .*got '{x}'")
            for x in ("cell", "a/b", "", "m_ratio")
        ],
        ('[names]\ndprime = "x\\u0000y"', r"name of dprime.*got"),
        (f'{BOTH}names = {{log_m_Intercept = "x", c_Intercept = "x"}}', "'x' for two variables"),
        (f'{BOTH}names = {{log_m_Intercept = "log_gap"}}', "'log_gap' for two variables"),
    ],
)
def test_what_no_model_may_say_is_named(tmp_path, text, message):
    path = tmp_path / "card.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        hmetad.load_model(path)


def test_a_column_as_a_name_and_an_example_that_cannot_be_written_are_refused():
    counts = hmetad.simulate_counts([1.5, 2.0], trials=100, coords={"model": ["a", "b"]}, seed=1)
    named = hmetad.load_model(
        "individual", formula={"log_m": "1"}, names={"log_m_Intercept": "model"}
    )
    with pytest.raises(InputError, match="'model', which is a coordinate of the cells"):
        hmetad.build_model(counts, named)
    with pytest.raises(hmetad.InputError, match=r"example: .*numbers, text.*got .*1979"):
        hmetad.ModelSpec("x", example={"coords": {"subject": date(1979, 5, 27)}})


@st.composite
def cards(draw):
    """A card of the package some of whose lines are others."""
    lines = draw(st.sampled_from(CARDS)).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["value", "key", "drop", "twice", "text"]))
        line = lines[place]
        if how == "value":
            lines[place] = re.sub(r"=.*", lambda _: f"= {draw(st.sampled_from(VALUES))}", line)
        elif how == "key":
            lines[place] = draw(st.sampled_from(["name", "names", '"a b"', "likelihood"])) + line
        elif how == "drop":
            lines[place] = ""
        elif how == "twice":
            lines.insert(place, line)
        else:
            lines[place] = draw(st.text(max_size=20))
    return "\n".join(lines)


def attack_in(folder):
    """What becomes of a card: refused in one line, or a model that says the same again."""
    path = folder / "card.toml"

    def attack(text):
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            spec = hmetad.load_model(path)
        except InputError as error:
            return "refused" if "\n" not in str(error) else str(error)
        return "a model" if hmetad.ModelSpec.from_json(spec.to_json()) == spec else text

    return attack


def test_any_card_is_refused_or_a_model(tally, tmp_path):
    ends = tally(cards(), attack_in(tmp_path), examples=150, minutes=2)
    assert set(ends) == {"refused", "a model"}
