"""Count tables beyond `hmetad.count_trials` and `hmetad.count_correct`."""

from hmetad.base.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
