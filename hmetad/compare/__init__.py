"""Comparisons beyond `hmetad.contrast` and `hmetad.decide`."""

from hmetad.base.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
