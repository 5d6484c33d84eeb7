"""Reasons of withheld verdicts are words to a reader, whichever room they come from."""

import ast
from inspect import getsource

from hmetad.compare import ranking, savage_dickey, verdicts
from hmetad.notice_registry import codes
from hmetad.report.contents.tables import codes_in_words


def own_codes():
    """Codes that comparisons give beside those of notices."""
    reasons = ast.walk(ast.parse(getsource(verdicts.reasons)))
    yield from (key.value for node in reasons if isinstance(node, ast.Dict) for key in node.keys)
    for node in ast.walk(ast.parse(getsource(ranking.untrusted))):
        if isinstance(node, ast.Return):
            yield from (x.value for x in ast.walk(node.value) if is_text(x))
    for node in ast.walk(ast.parse(getsource(savage_dickey))):
        if isinstance(node, ast.Dict):
            named = zip(node.keys, node.values, strict=True)
            yield from (
                part.value
                for key, value in named
                if getattr(key, "value", "") == "reason"
                for part in ast.walk(value)
                if is_text(part)
            )


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


def test_every_reason_that_a_comparison_finds_itself_is_in_the_table_of_codes():
    reasons = {name for name, code in codes().items() if not code.texts}
    assert {"undefined", "constant", "few-draws", "alone", "outside"} <= set(own_codes())
    assert {*own_codes(), "cuts-of-pairs", "unsettled"} == {*reasons, "rhat"}


def test_codes_are_words_to_a_reader_each_once_and_unknown_ones_stay():
    found = codes_in_words("rhat, ess, few-draws, of-another-package")
    assert found == "R̂ above 1.01; few effective draws; of-another-package"
