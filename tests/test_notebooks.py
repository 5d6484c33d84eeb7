"""Every notebook runs, answers the question it opens with, and is kept clean."""

import ast
import gzip
import re
import shutil
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="uv sync --group notebooks")
nbformat = pytest.importorskip("nbformat", reason="uv sync --group notebooks")

FOLDER = Path(__file__).parents[1] / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
# Enough for every cell to run; what is concluded rests on the draws of the committed outputs.
DRAWS = "100"
# Of four processes in sixteen people each draw takes some tenths of a second.
FEWER_DRAWS = {"10_which_process": "30"}
SECONDS_A_CELL = 600
LARGEST = 600_000
WIDEST = 88
MACHINE = re.compile(r"/(?:work|home|tmp|root|Users)/|file://|<ipython-input|[A-Z]:\\\\")

# Notebook → data set that it loads, and its files beside the checkout, which may be gzipped.
DATA = {
    "10_which_process": ("hellmann2023", "hellmann2023_maskori/MaskOri.RData"),
    "11_multiple_choice": ("cacioli2026_atlas", "cacioli2026_profile_atlas/raw/*.csv.gz"),
}

of_every_notebook = pytest.mark.parametrize("name", NAMES)


def read_notebook(name):
    """Notebook as committed, checked against the format."""
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    return notebook


def code_cells(notebook):
    """Cells of code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def rich_outputs(cell):
    """Kinds of what a cell shows, apart from text that it prints."""
    shown = [out for out in cell.outputs if out.output_type in ("execute_result", "display_data")]
    return [sorted(out.data) for out in shown]


def prints(cell):
    """Whether the code of a cell prints in any case, and not only in a loop over what there is."""
    code = re.sub(r"^%.*$", "", cell.source, flags=re.MULTILINE)
    calls = [step.value for step in ast.parse(code).body if isinstance(step, ast.Expr)]
    return any(ast.unparse(call).startswith("print(") for call in calls)


def printed(cell):
    """What a cell wrote to stdout."""
    return "".join(out.text for out in cell.outputs if out.get("name") == "stdout")


def complaints(cell):
    """What a cell wrote to stderr, and its errors."""
    return [x for x in cell.outputs if x.output_type == "error" or x.get("name") == "stderr"]


def install_data(name, pattern, source, cache):
    """Put the files of a data set where hmetad keeps what it fetched."""
    (cache / name).mkdir()
    for path in source.glob(pattern):
        if path.suffix == ".gz":
            (cache / name / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        else:
            shutil.copy(path, cache / name)


@pytest.mark.integration
@of_every_notebook
def test_it_runs_quietly_and_shows_what_is_committed(name, monkeypatch, tmp_path, request):
    monkeypatch.setenv("HMETAD_DRAWS", FEWER_DRAWS.get(name, DRAWS))
    if name in DATA:
        install_data(*DATA[name], request.getfixturevalue("shared") / "data", tmp_path)
        monkeypatch.setenv("HMETAD_DATA", str(tmp_path))
    # Kernels that start side by side must not share a history.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    committed = code_cells(read_notebook(name))
    where = {"timeout": SECONDS_A_CELL, "resources": {"metadata": {"path": str(tmp_path)}}}
    client = nbclient.NotebookClient(read_notebook(name), kernel_name="python3", **where)
    ran = code_cells(client.execute())
    assert [complaints(cell) for cell in ran] == [[] for _ in ran]
    assert list(map(rich_outputs, ran)) == list(map(rich_outputs, committed))


@of_every_notebook
def test_it_opens_with_a_question_and_ends_with_conclusions(name):
    first, second, *_, last = read_notebook(name).cells
    assert first.cell_type == last.cell_type == "markdown"
    assert re.match(r"# \S.*\n\n(?s:.)*\?", first.source)
    assert re.match(r"## What to conclude\n\n(?s:.)+", last.source)
    assert second.cell_type == "code"
    assert 'os.environ.get("HMETAD_DRAWS", "1000")' in second.source


@of_every_notebook
def test_outputs_are_those_of_one_run_from_top_to_bottom_without_a_complaint(name):
    cells = code_cells(read_notebook(name))
    counts = [cell.execution_count for cell in cells]
    assert counts == list(range(1, len(cells) + 1))
    results = [out for cell in cells for out in cell.outputs if "execution_count" in out]
    assert {out.execution_count for out in results} <= set(counts)
    assert [complaints(cell) for cell in cells] == [[] for _ in cells]
    assert [cell.source for cell in cells if prints(cell) and not printed(cell)] == []


@of_every_notebook
def test_it_is_small_in_the_current_format_and_says_nothing_of_the_machine_and_the_hour(name):
    notebook, path = read_notebook(name), FOLDER / f"{name}.ipynb"
    assert MACHINE.findall(path.read_text(encoding="utf-8")) == []
    assert path.stat().st_size < LARGEST
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert {key for cell in notebook.cells for key in cell.metadata} <= {"tags"}
    lines = [line for cell in code_cells(notebook) for line in cell.source.splitlines()]
    assert [line for line in lines if len(line) > WIDEST] == []


def test_the_readme_lists_every_notebook_in_order():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[[^]]+\]\((\w+)\.ipynb\) \|", text, flags=re.MULTILINE) == NAMES
