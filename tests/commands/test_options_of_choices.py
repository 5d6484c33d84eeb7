"""`hmetad measures` and `hmetad fit` of choices among more than two options."""

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run

import hmetad


@pytest.fixture(scope="module")
def choices(tmp_path_factory):
    """Folder with files of right and wrong answers, and of letters."""
    folder = tmp_path_factory.mktemp("choices")
    right = hmetad.simulate_trials(
        [1.5, 2.2], trials=500, seed=1, likelihood="alternatives", options=[3, 4],
        coords={"model": ["a", "b"]},
    )  # fmt: skip
    right.rename(columns={"options": "number"}).to_csv(folder / "right.csv", index=False)
    letters = hmetad.simulate_trials(
        1.8, trials=600, seed=1, likelihood="biased-alternatives", options=3, bias=[0.2, 0.0]
    )
    names = dict(zip("123", "ABC", strict=True))
    for column in ("stimulus", "response"):
        letters[column] = letters[column].map(names)
    letters.to_csv(folder / "letters.csv", index=False)
    return folder


@pytest.mark.parametrize("options", ["number", "4"])
def test_measures_of_right_and_wrong_have_m(choices, options):
    rows = run(choices, f"measures right.csv --by model --options {options} --json").answer["rows"]
    trials = pd.read_csv(choices / "right.csv")
    own = hmetad.count_correct(
        trials, by="model", options=options if options == "number" else int(options)
    )
    fitted = hmetad.fit_mle(own)
    for name in ("dprime", "m_ratio", "meta_d"):
        assert [row[name] for row in rows] == pytest.approx(fitted[name].values), name
    assert [row["auroc2"] for row in rows] == pytest.approx(hmetad.measures.auroc2(own).values)
    named = run(
        choices, f"measures right.csv --by model --correct correct --options {options} --json"
    )
    assert named.answer["rows"] == rows
    assert "M-ratio" in run(choices, f"measures right.csv --by model --options {options}").stdout


def test_items_are_found_where_a_file_has_numbers_of_options_as_text(choices):
    trials = pd.read_csv(choices / "right.csv")
    items = np.arange(len(trials)) % 100
    trials.assign(item=items, time=np.arange(len(trials)) // 100).to_csv(choices / "items.csv")
    answer = run(choices, "measures items.csv --by model --options number --json").answer
    assert "mixed-items" in {one["code"] for one in answer["notices"]}


@pytest.mark.parametrize("options", ["3", "A,B,C"])
def test_letters_make_the_full_table(choices, options):
    rows = run(choices, f"measures letters.csv --options {options} --json").answer["rows"]
    counts = hmetad.count_trials(pd.read_csv(choices / "letters.csv"), options=3)
    assert rows[0]["m_ratio"] == pytest.approx(hmetad.fit_mle(counts)["m_ratio"].item())


def test_fits_take_the_card_of_the_table(choices):
    done = run(choices, "fit right.csv --by model --options number --seed 1 --draws 200 -o a.nc")
    assert "M-ratio" in done.stdout
    fit = hmetad.load_fit(choices / "a.nc")
    assert fit.attrs["model"] == "alternatives"
    assert fit["posterior"]["options"].values.tolist() == [3, 4]
    run(choices, "fit letters.csv --options 3 --seed 1 --draws 200 -o b.nc")
    assert hmetad.load_fit(choices / "b.nc").attrs["model"] == "alternatives_biased"
    for name in ("a", "b"):
        run(choices, f"report {name}.nc -o {name}.html")
        assert "M-ratio" in (choices / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("measures right.csv --options 1", "got 1 in the argument"),
        ("measures letters.csv --options D", "A column of numbers of options goes with --correct"),
        ("measures letters.csv", "give --options 3"),
        ("measures right.csv --correct correct --meta-d", "with --options"),
        ("fit right.csv -o x.nc", "for M --options 4"),
        ("fit right.csv --correct correct -o x.nc", "give options="),
        ("fit right.csv --options 4 --covariates model -o x.nc", "--covariates"),
    ],
)
def test_what_cannot_be_is_refused(choices, line, said):
    assert said.replace("options=", "") in refused(choices, line).replace("options=", "")


def test_cells_are_headed_by_all_their_columns(choices):
    for by, heading in (("model", "model | number"), ("number,model", "number | model")):
        asked = f"measures right.csv --by {by} --correct correct --options number"
        done = run(choices, asked)
        assert heading in done.stdout
        first = run(choices, f"{asked} --json").answer["rows"][0]["cell"]
        assert first == {"model | number": "a | 3", "number | model": "3 | a"}[heading]


def test_items_drawn_whole_leave_what_is_said_of_all_items(choices):
    """Four in five wrong answers are one letter; the interval is over items."""
    rng = np.random.default_rng(1)
    n = 300
    target = np.resize([*"ABC"], n)
    shift = rng.integers(1, 3, n)
    other = np.array([*"ABC"])[(np.resize(range(3), n) + shift) % 3]
    is_right = rng.uniform(size=n) < 0.6
    answer = np.where(is_right, target, np.where(rng.uniform(size=n) < 0.8, "A", other))
    trials = pd.DataFrame({"item": range(n), "answer": answer, "target": target, "model": "x"})
    trials["correct"] = (answer == target).astype(int)
    trials["confidence"] = rng.integers(1, 4, n) - (1 - trials["correct"]) + 1
    trials.to_csv(choices / "items.csv", index=False)
    line = "measures items.csv --by model --correct correct --options 3 --ratings 4"
    done = run(choices, f"{line} --interval --cluster item --draws 20 --seed 1 --json").answer
    plain = run(choices, f"{line} --json").answer
    (row,) = done["rows"]
    assert (row["cell"], row["m_ratio"]) == ("x", pytest.approx(plain["rows"][0]["m_ratio"]))
    assert row["m_ratio_lower"] < row["m_ratio"] < row["m_ratio_upper"]
    for answer in (done, plain):
        assert "letters-uneven" in {one["code"] for one in answer["notices"]}
