"""hmetad notices: what the codes of notices mean and what to do, or what fits say of themselves.

Codes, or none for all → a table; the registry, `hmetad/notices.toml`, has the texts. Fits → their
notices, whole.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

import hmetad
from hmetad.commands.answer import SEVERITIES, Answer, Listing, give
from hmetad.commands.fits import named_fits, read_fits
from hmetad.commands.options import PrintOptions
from hmetad.errors import InputError, nearest
from hmetad.notice_registry import codes

__all__ = ["notices"]

SHOWN = {"code": "code", "severity": "severity", "means": "meaning", "do": "what to do"}
OF_FITS = {"code": "code", "severity": "severity", "message": "message", "next_step": "what to do"}
OF_FITS |= {"cells": "cells"}
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
    """Explain notices: what a code means, and what to do about it; or print those of a fit.

    Examples
    --------
    hmetad notices few-trials rhat
    hmetad notices fit.nc
    hmetad notices --format markdown
    """
    files = [name for name in asked.names or () if Path(name).exists()]
    if files and len(files) == len(asked.names or ()):
        found = sorted(
            (one for fit in read_fits(named_fits(files)).values() for one in hmetad.notices(fit)),
            key=lambda one: SEVERITIES.index(one.severity),
        )
        of_fits = [{**asdict(one), "cells": ", ".join(one.cells)} for one in found]
        give(Answer((Listing(of_fits, OF_FITS),)), asked.format)
        return
    known = {name: code for name, code in codes().items() if code.texts}
    for name in asked.names or ():
        if name not in known:
            allowed = "a code of a notice, or the file of a fit"
            raise InputError("CODE", repr(name), allowed, nearest(name, known))
    rows = [
        {
            "code": name,
            "severity": min((x.severity for x in known[name].texts.values()), key=SEVERITIES.index),
            "means": known[name].means,
            "do": known[name].do,
        }
        for name in asked.names or known
    ]
    give(Answer((Listing(rows, SHOWN),)), asked.format)
