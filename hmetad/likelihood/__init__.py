"""Models of confidence ratings as records, and how to bring one's own."""

from hmetad.base.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
