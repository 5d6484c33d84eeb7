"""Information that confidence transmits about the stimulus."""

from hmetad.base.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
