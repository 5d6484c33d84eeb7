"""hmetad notices: what the codes of notices mean, and what to do.

Codes, or none for all → a table; the registry, `hmetad/notices.toml`, has the texts.
"""

from dataclasses import dataclass
from typing import Annotated

import typer

from hmetad.commands.answer import SEVERITIES, Answer, Listing, give
from hmetad.commands.options import PrintOptions
from hmetad.errors import InputError, nearest
from hmetad.notice_registry import codes

__all__ = ["notices"]

SHOWN = {"code": "code", "severity": "severity", "means": "meaning", "do": "what to do"}
Codes = Annotated[list[str] | None, typer.Argument(metavar="[CODE]...", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class NoticeOptions(PrintOptions):
    """Codes to explain.

    Parameters
    ----------
    names : CODE
        Codes as they stand in brackets after a notice. Default: all.
    """

    names: Codes = None


def notices(asked: NoticeOptions) -> None:
    """Explain notices: what a code means, and what to do about it.

    Examples
    --------
    hmetad notices few-trials rhat
    hmetad notices --format markdown
    """
    known = {name: code for name, code in codes().items() if code.texts}
    for name in asked.names or ():
        if name not in known:
            raise InputError("CODE", repr(name), "a code of a notice", nearest(name, known))
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
