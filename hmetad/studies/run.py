"""Running a study by its name, and leaving its results as files.

Name of a study and a folder → comparison.csv and report.html in it, and tables that a study adds.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmetad.base.errors import ChoiceError, UnknownError, nearest
from hmetad.base.files import write_together
from hmetad.text.cells import csv_frame

if TYPE_CHECKING:
    import pandas as pd

STUDIES = {
    "servajean2026": "Servajean & Servajean (2026), Measuring the metacognition of AI",
    "meyen2025": "Meyen et al. (2025), Relative metainformation",
    "wang2025": "Wang et al. (2025), DMC: decoupling metacognition from cognition",
    "higham2018": "Higham & Higham (2018), New improved gamma",
    "cacioli2026": "Cacioli (2026), Do LLMs know what they know? (withdrawn by its author)",
    "atlas2026": "Cacioli (2026), A 33-model atlas: AUROC2 by domain, and M of four alternatives",
}
# Those that draw from a posterior, and take options of sampling; those that take deposited data;
# and further tables that one has, each written to a file of its name.
SAMPLED = ("servajean2026", "atlas2026")
FROM_DATA = ("cacioli2026", "atlas2026")
TABLES = {"atlas2026": ("models",)}


def reproduce(name: str, out: Path, **options: Any) -> "pd.DataFrame":
    """Run a study, write its comparison with print and its report, and return the comparison.

    Options go on to the study: seed; draws and options of `hmetad.fit`, if it samples; and data,
    the path of its deposit or data set, if it reads one.
    """
    check_study(name)
    for key, takers in (("data", FROM_DATA), ("draws", SAMPLED)):
        if key in options and name not in takers:
            step = f"Studies that take {key}: {', '.join(takers)}."
            raise ChoiceError(key, f"{options[key]} for {name}", "none", step)
    if name not in SAMPLED:
        options = {key: value for key, value in options.items() if key in ("seed", "data")}
    # What a study and its page need is imported when one is run.
    study, pages = (import_module(f"hmetad.studies.{part}") for part in (name, "report"))
    results = study.analyse(**options)
    comparison: pd.DataFrame
    comparison, report = pages.compare_and_report(study, results)
    files = {"comparison.csv": csv_frame(comparison), "report.html": report.html()}
    files |= {f"{one}.csv": csv_frame(getattr(results, one)) for one in TABLES.get(name, ())}
    write_together({out / place: content for place, content in files.items()})
    return comparison


def check_study(name: str) -> None:
    """Raise if there is no study of that name."""
    if name not in STUDIES:
        raise UnknownError("study", repr(name), ", ".join(STUDIES), nearest(name, STUDIES))
