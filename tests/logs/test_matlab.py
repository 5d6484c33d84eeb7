"""Matlab's files in the forms that HMeta-d's users have, and what is none of them."""

import numpy as np
import pytest
from command_line import run
from scipy.io import savemat

import hmetad
from hmetad import InputError
from hmetad.logs import read_log, read_matlab

FIRST, SECOND = [36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39]


def cell(*parts):
    made = np.empty(len(parts), dtype=object)
    made[:] = parts
    return made


def counted(trials, **by):
    return hmetad.count_trials(trials, ratings=4, **by)


@pytest.mark.parametrize(
    "variables",
    [
        {"nR_S1": FIRST, "nR_S2": SECOND},
        {"data": {"nR_S1": np.array([FIRST]), "nR_S2": np.array([SECOND])}},
        {"nR_S1": cell(FIRST), "nR_S2": cell(SECOND)},
        {"nR_S1": np.transpose([FIRST]), "nR_S2": np.transpose([SECOND])},
    ],
)
def test_counts_of_one_person(variables, tmp_path):
    savemat(tmp_path / "one.mat", variables)
    expected = hmetad.from_nr(FIRST, SECOND)
    np.testing.assert_array_equal(counted(read_matlab(tmp_path / "one.mat")), expected)


@pytest.mark.parametrize("as_cells", [True, False])
def test_counts_of_people(as_cells, tmp_path):
    people = [[FIRST, SECOND[::-1]], [SECOND, FIRST[::-1]]]
    first, second = (cell(*one) if as_cells else np.array(one) for one in people)
    savemat(tmp_path / "group.mat", {"nR_S1": first, "nR_S2": second})
    found = counted(read_matlab(tmp_path / "group.mat"), by="subject")
    expected = hmetad.from_nr(*people, subject=[1, 2])
    np.testing.assert_array_equal(found, expected)
    assert found["subject"].values.tolist() == [1, 2]
    run(tmp_path, "import group.mat -o trials.csv")
    np.testing.assert_array_equal(counted(tmp_path / "trials.csv", by="subject"), expected)


def test_counts_of_several_tasks(tmp_path):
    one = np.array([({},), ({},)], dtype=[("counts", object)])
    one["counts"][0], one["counts"][1] = cell(FIRST, SECOND), cell(SECOND, FIRST)
    two = np.array([({},), ({},)], dtype=[("counts", object)])
    two["counts"][0], two["counts"][1] = cell(SECOND, FIRST), cell(FIRST, SECOND)
    savemat(tmp_path / "tasks.mat", {"nR_S1": one, "nR_S2": two})
    found = counted(read_matlab(tmp_path / "tasks.mat"), by=["subject", "task"])
    assert found.sizes["cell"] == 4
    at = found.sel(cell=(found["subject"] == 2) & (found["task"] == 1))
    np.testing.assert_array_equal(at[0], hmetad.from_nr(SECOND, FIRST)[0])


def trial_vectors(number=40, seed=1):
    rng = np.random.default_rng(seed)
    stimulus = np.arange(number) % 2
    response = np.where(rng.random(number) < 0.8, stimulus, 1 - stimulus)
    return {"stimID": stimulus, "response": response, "rating": 1 + np.arange(number) // 2 % 4}


def test_a_struct_for_each_person_and_a_vector_of_people(tmp_path):
    parts = cell(trial_vectors(seed=1), trial_vectors(20, seed=2))
    savemat(tmp_path / "structs.mat", {"DATA": parts})
    trials = read_matlab(tmp_path / "structs.mat")
    assert trials["subject"].value_counts().to_dict() == {1: 40, 2: 20}
    own = {**trial_vectors(), "subj": np.repeat([7, 9], 20), "rt": np.linspace(0.3, 2, 40)}
    savemat(tmp_path / "b.mat", {**own, "name": "x"})
    trials = read_matlab(tmp_path / "b.mat")
    assert trials.columns.tolist() == ["subject", "stimulus", "response", "confidence", "rt"]
    assert trials["confidence"].tolist() == own["rating"].tolist()
    assert set(trials["subject"]) == {7, 9}


def test_names_of_ones_own_and_a_folder_with_a_file_for_each_person(tmp_path):
    own = trial_vectors()
    named = {"direction": own["stimID"], "choice": own["response"], "slider": own["rating"]}
    for name in ("p1", "p2"):
        savemat(tmp_path / f"{name}.mat", named)
    columns = {"stimulus": "direction", "response": "choice", "confidence": "slider"}
    trials = read_matlab(tmp_path, columns=columns)
    assert trials["subject"].value_counts().to_dict() == {"p1": 40, "p2": 40}
    assert read_log("auto", tmp_path, columns=columns).equals(trials)
    with pytest.raises(InputError, match=r"Expected nR_S1.*direction \(1×40\)"):
        read_matlab(tmp_path / "p1.mat")


COUNTS = {"nR_S1": FIRST, "nR_S2": SECOND}
NEWER = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM\x89HDF\r\n\x1a\n" + bytes(400)


@pytest.mark.parametrize(
    ("held", "options", "says"),
    [
        ({"x": [1, 2]}, {}, r"x \(1×2\)"),
        ({"nR_S1": [1, 2, 3], "nR_S2": [1, 2, 3]}, {}, "2K counts"),
        ({"nR_S1": [1.125, 2], "nR_S2": [1, 2]}, {}, "padding moves M"),
        ({"nR_S1": [-1, 2], "nR_S2": [1, 2]}, {}, "no whole numbers"),
        *(
            ({"nR_S1": [number, 2.0], "nR_S2": [1, 2]}, {}, "counts that are no whole numbers")
            for number in (np.inf, -np.inf, np.nan)
        ),
        ({"nR_S1": [1e12, 2], "nR_S2": [1, 2]}, {}, r"'cells'.*got 3,000,000,000,015 values"),
        ({"nR_S1": [1e308, 1e308], "nR_S2": [1, 2]}, {}, "got inf values"),
        ({"nR_S1": np.full((40, 2), 2.0**40), "nR_S2": np.ones((40, 2))}, {}, "limit 'cells'"),
        ({"nR_S1": [[1, 2]] * 2, "nR_S2": [[1, 2]] * 3}, {}, "2 rows of nR_S1 beside 3"),
        ({"stimID": [0, 1], "response": [0, 1, 1], "rating": [1, 2, 1]}, {}, "different lengths"),
        (b"MATLAB 5.0 MAT-file, cut off", {}, "cannot be read"),
        (NEWER, {}, "version 7.3"),
        (COUNTS, {"limits": {"unpacked": 100}}, "unpacked"),
        (COUNTS, {"columns": {"stim": "x"}}, r"columns: .*got 'stim'"),
    ],
)
def test_what_is_none_of_them_is_refused(held, options, says, tmp_path):
    if isinstance(held, bytes):
        (tmp_path / "bad.mat").write_bytes(held)
    else:
        savemat(tmp_path / "bad.mat", held)
    with pytest.raises(InputError, match=says):
        read_matlab(tmp_path / "bad.mat", **options)
    with pytest.raises(InputError, match="no such file"):
        read_matlab(tmp_path / "none.mat")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder without them"):
        read_matlab(tmp_path / "empty")
