"""Options of the readers of logs and tables: one record, of which each reader has a part.

Kind of log and options → `Choices`, checked once.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_type_hints

from hmetad.base.arguments import of_type
from hmetad.base.checks import finite, with_submit
from hmetad.base.errors import NumberError, UnknownError, nearest
from hmetad.counts.columns import Codes
from hmetad.logs.kinds import READERS
from hmetad.logs.limits import LIMITS, Limits, as_limits
from hmetad.logs.stated import Scale
from hmetad.logs.statements import Wording, compile_pattern, stated_wording
from hmetad.logs.trials import Meaning

Decimal = Literal["comma", "point"]
Runs = Literal["latest", "all"]
Normalise = Literal["none", "characters", "bytes"]
Source = Literal["completion", "score", "metadata", "store", "logprobs"]

# What has a check elsewhere.
CHECKED = ("limits", "missing_codes")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the caller chose; `read_log` and the readers describe each option.

    Examples
    --------
    >>> Choices(field="confidence").place, Choices().place
    ('completion', 'logprobs')
    """

    task: str | None = None
    runs: Runs | None = None
    metric: str | Mapping[str, str] | None = None
    threshold: float | None = None
    grades: Mapping[str, Meaning] | None = None
    normalise: Normalise = "none"
    answer_pattern: str | None = None
    answer_filter: str | Mapping[str, str] | None = None
    scorer: str | None = None
    source: Source | None = None
    field: str | None = None
    pattern: str | None = None
    words: Mapping[str, float] | None = None
    scale: Scale | None = None
    columns: Mapping[str, str] | None = None
    path_columns: str | None = None
    delimiter: str | None = None
    decimal: Decimal | None = None
    missing_codes: Codes = ()
    limits: Limits = LIMITS
    executor: Any = None

    @property
    def is_stated(self) -> bool:
        """Whether an option says how confidence is stated."""
        return any(x is not None for x in (self.field, self.pattern, self.words, self.scale))

    @property
    def place(self) -> str:
        """Where confidence is read from."""
        return self.source or ("completion" if self.is_stated else "logprobs")

    @cached_property
    def wording(self) -> Wording | None:
        """How confidence is stated; None where log-probabilities give it."""
        found = stated_wording(field=self.field, pattern=self.pattern, words=self.words)
        return None if self.place == "logprobs" else found

    @cached_property
    def answer(self) -> re.Pattern[str] | None:
        """Expression of the answer in a response."""
        return compile_pattern(self.answer_pattern, "answer_pattern")


def make_choices(kind: str, given: Mapping[str, Any]) -> Choices:
    """Options of a kind of log, checked once.

    Parameters
    ----------
    kind : str
        A name of ``READERS``.
    given : mapping of str to value
        Options by name.

    Returns
    -------
    Choices
        What was given, and the defaults.

    Raises
    ------
    InputError
        If the kind does not have an option, or an option is unusable.

    Examples
    --------
    >>> make_choices("helm", {"task": "sums"}).task
    'sums'
    """
    hints, own = get_type_hints(Choices), READERS[kind].options
    for name, value in given.items():
        if name not in own:
            got, allowed = f"an option that {kind!r} does not have", f"an option of {kind!r}"
            raise UnknownError(name, got, allowed, nearest(name, own))
        if name == "executor":
            with_submit(name, value)
        elif name not in CHECKED:
            of_type(hints[name])(name, value)
    choices = Choices(**{**given, "limits": as_limits(given.get("limits"))})
    if choices.threshold is not None:
        finite("threshold", choices.threshold)
    if choices.source == "logprobs" and choices.is_stated:
        got = "'logprobs' with a field, a pattern, words or a scale"
        raise NumberError("source", got, "log-probabilities, or stated confidence")
    # Expressions and words are checked before a file is read.
    _ = choices.wording, choices.answer
    return choices


def of_task(choice: str | Mapping[str, str] | None, task: str) -> str | None:
    """What the caller chose for a task: the same for all, or one of a mapping.

    Examples
    --------
    >>> of_task({"gsm8k": "strict-match"}, "gsm8k"), of_task("none", "arc"), of_task({}, "arc")
    ('strict-match', 'none', None)
    """
    return choice.get(task) if isinstance(choice, Mapping) else choice
