"""Measures of a count table or of trials, each alone; `hmetad.measure` gives all of a table."""

from hmetad.base.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
