"""Public docstrings are whole: every parameter, what comes back, and an example that runs."""

import tomllib
from pathlib import Path

import pytest
from public_names import PUBLIC_NAMES

validate = pytest.importorskip("numpydoc.validate", reason="uv sync --group docs").validate
SETTINGS = Path(__file__).parents[1] / "pyproject.toml"
if not SETTINGS.is_file():
    pytest.skip("no pyproject.toml beside the tests", allow_module_level=True)
LEFT_OUT = set(
    tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["tool"]["numpydoc_validation"]["checks"]
)
# Several parameters described together, "As in `resample`", need no type of their own, and may
# stand in another order than in the signature.
TOGETHER = {"PR03", "PR04"}
# What needs a fit or a file, or is a whole report: more than a doctest should do.
WITHOUT_EXAMPLE = {
    "load_fit",
    "logs.read_table",
    "plots.decisions",
    "plots.fit",
    "report.combine_reports",
    "report.convergence_record",
    "report.crossed_sentences",
    "report.crossed_table",
    "report.fit_report",
    "report.moved_populations",
    "report.selection_report",
    "save_fit",
    "select.Selection",
}


# What a likelihood is made of has its example in docs/likelihoods.md.
FUNCTIONS = [name for name in PUBLIC_NAMES if not name.startswith("likelihood.")]


def test_docstrings_are_whole():
    assert "all" in LEFT_OUT
    lacking = []
    for name in FUNCTIONS:
        found = validate(path_of(name))
        allowed = LEFT_OUT | ({"EX01"} if name in WITHOUT_EXAMPLE else set())
        allowed |= TOGETHER if describes_together(found["docstring"]) else set()
        lacking += [f"{name}: {code} {x}" for code, x in found["errors"] if code not in allowed]
    assert lacking == []


def test_no_exception_is_made_for_nothing():
    for name in WITHOUT_EXAMPLE:
        codes = [c for c, _ in validate(path_of(name))["errors"]]
        assert "EX01" in codes


def path_of(name):
    """Where a public name is defined."""
    return f"{PUBLIC_NAMES[name]}.{name.rpartition('.')[2]}"


def describes_together(docstring):
    """Whether a line names several parameters at once."""
    section = docstring.split("Parameters\n")[-1].split("Returns\n")[0]
    return any("," in line.split(":")[0] for line in section.splitlines() if line[:1].strip())
