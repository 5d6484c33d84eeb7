"""Public docstrings are whole: every parameter, what comes back, and an example that runs."""

import tomllib
from pathlib import Path

import pytest

import hmetad
from hmetad.lazy import homes_in

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
HOMES = homes_in(str(Path(hmetad.__file__).with_suffix(".pyi")))
# What needs a fit or a file, or is a whole report: more than a doctest should do.
WITHOUT_EXAMPLE = {
    "combine_reports",
    "convergence_record",
    "estimate_frame",
    "fit_report",
    "fits_report",
    "load_fit",
    "measures_report",
    "plot_decisions",
    "plot_fit",
    "read_table",
    "save_fit",
}


@pytest.mark.parametrize("name", hmetad.__all__)
def test_the_docstring_is_whole(name):
    assert "all" in LEFT_OUT
    found = validate(f"{HOMES[name]}.{name}")
    allowed = LEFT_OUT | ({"EX01"} if name in WITHOUT_EXAMPLE else set())
    allowed |= TOGETHER if describes_together(found["docstring"]) else set()
    assert [f"{code} {text}" for code, text in found["errors"] if code not in allowed] == []


def test_no_exception_is_made_for_nothing():
    for name in WITHOUT_EXAMPLE:
        codes = [c for c, _ in validate(f"{HOMES[name]}.{name}")["errors"]]
        assert "EX01" in codes


def describes_together(docstring):
    """Whether a line names several parameters at once."""
    section = docstring.split("Parameters\n")[-1].split("Returns\n")[0]
    return any("," in line.split(":")[0] for line in section.splitlines() if line[:1].strip())
