"""Cacioli (2026), "Do LLMs know what they know?", as published before its author withdrew it.

Printed tables, deposited counts where there are any, and seed → the withdrawn analysis and its
hypotheses → what is printed, computed. Correctness stands in it for the stimulus; simulated models
whose truth is known show what M-ratio then says. What the author put in its place is compared too.
Source: arXiv:2603.25112, first version; github.com/synthiumjp/sdt_calibration (MIT).
"""

from hmetad.studies.cacioli.comparison import compare
from hmetad.studies.cacioli.page import report
from hmetad.studies.cacioli.study import analyse

__all__ = ["analyse", "compare", "report"]
