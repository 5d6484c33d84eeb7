"""Sensitivity and criterion of the decision as parameters and quantities: the same everywhere."""

from hmetad.likelihood.priors import Prior
from hmetad.likelihood.records import Parameter, Quantity

__all__ = ["DPRIME", "EVIDENCE", "TYPE1", "TYPE1_QUANTITIES", "C"]

EVIDENCE = "SD of the S1 evidence"
DPRIME = Parameter("dprime", "sensitivity d′", Prior("Normal", mu=1, sigma=1))
C = Parameter("c", "criterion c", Prior("Normal", mu=0, sigma=1))
TYPE1 = (DPRIME, C)
TYPE1_QUANTITIES = (
    Quantity("dprime", "sensitivity d′", EVIDENCE, parameter="dprime"),
    Quantity("c", "criterion c", EVIDENCE, parameter="c"),
)
