"""hmetad notices: what the codes of notices mean and what to do, or what fits say of themselves.

Codes, or none for all → a table; the registry, `hmetad/base/notices.toml`, has the texts. Fits →
their notices, whole.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmetad.base.errors import UnknownError, nearest
from hmetad.base.notice_registry import codes
from hmetad.commands.answer import SEVERITIES, Answer, Listing, give
from hmetad.commands.fits import fit_notices, read_fits
from hmetad.commands.options import PrintOptions

if TYPE_CHECKING:
    from hmetad.base.notice import Notice

__all__ = ["notices"]

SHOWN = {"code": "code", "severity": "severity", "means": "meaning", "shell_do": "what to do"}
OF_FITS = {"code": "code", "notice": "notice"}
Codes = Annotated[list[str] | None, typer.Argument(metavar="[CODE|FILE]...", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class NoticeOptions(PrintOptions):
    """Codes to explain, or fits whose notices are printed whole.

    Parameters
    ----------
    names : CODE|FILE
        Codes as they stand in brackets after a notice; or fits and draws (.nc), whose own notices
        are printed whole. Default: all codes.
    """

    names: Codes = None


def notices(asked: NoticeOptions) -> None:
    """Explain notices: what a code means, and what to do about it.

    For fits and draws (.nc), print their notices in full.

    Examples
    --------
    hmetad notices few-trials rhat
    hmetad notices fit.nc
    hmetad notices --format markdown
    """
    names = asked.names or ()
    known = {name: code for name, code in codes().items() if code.texts}
    if names and all(name not in known and Path(name).exists() for name in names):
        fits = read_fits({name: Path(name) for name in names})
        found = [row_of(one) for one in fit_notices(fits)]
        found.sort(key=lambda row: SEVERITIES.index(row["severity"]))
        give(Answer((Listing(found, OF_FITS),)), asked.format)
        return
    for name in names:
        if name not in known:
            allowed = "a code of a notice, or the file of a fit"
            raise UnknownError("CODE", repr(name), allowed, nearest(name, known))
    rows = [
        {
            "code": name,
            "severity": min((x.severity for x in known[name].texts.values()), key=SEVERITIES.index),
            "means": known[name].means,
            "do": known[name].do,
            "shell_do": known[name].shell_do,
        }
        for name in names or known
    ]
    give(Answer((Listing(rows, SHOWN),)), asked.format)


def row_of(notice: "Notice") -> dict[str, Any]:
    """A notice whole, with its cells, in one text and in parts."""
    cells = f" Cells: {', '.join(notice.cells)}." if notice.cells else ""
    step = notice.shell_step or notice.next_step
    text = f"{notice.severity}: {notice.message} {step}".rstrip() + cells
    return {"code": notice.code, "notice": text, **asdict(notice)}
