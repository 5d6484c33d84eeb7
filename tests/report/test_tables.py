"""Reasons of withheld verdicts are words to a reader, whichever room they come from."""

import ast
from importlib import import_module
from inspect import getsource
from itertools import pairwise
from pathlib import Path

import hmetad
from hmetad.compare import bayes_factor, decisions, ranking
from hmetad.report.contents.tables import REASONS

PACKAGE = Path(hmetad.__file__).parent


def error_codes(path):
    """Codes of the notices of severity "error" that a file raises."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call):
            continue
        if getattr(call.func, "id", "") == "threshold_notice":
            yield call.args[1].value
        for code, severity in pairwise(call.args):
            if getattr(severity, "value", "") != "error":
                continue
            if isinstance(code, ast.Constant):
                yield code.value
            elif code.id != "diagnostic":  # of `threshold_notice`, above
                yield getattr(import_module(name), code.id)


def own_codes():
    """Codes that comparisons give beside those of notices."""
    reasons = ast.walk(ast.parse(getsource(decisions.reasons)))
    yield from (key.value for node in reasons if isinstance(node, ast.Dict) for key in node.keys)
    for node in ast.walk(ast.parse(getsource(ranking.untrusted))):
        if isinstance(node, ast.Return):
            yield from (part.value for part in ast.walk(node.value) if is_text(part))
    for node in ast.walk(ast.parse(getsource(bayes_factor))):
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


def test_every_reason_for_which_a_verdict_can_be_withheld_has_words():
    raised = set().union(*map(error_codes, PACKAGE.rglob("*.py")))
    own = set(own_codes())
    assert {"rhat", "ess", "meta-d-sign", "response-is-confidence-cut", "partial"} <= raised
    assert {"undefined", "constant", "few-draws", "alone", "outside"} <= own
    assert raised | own | {"unsettled"} == set(REASONS)
