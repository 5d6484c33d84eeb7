"""Quantities of which more, or less, is better.

Name of a quantity → whether its largest value is the first.
"""

__all__ = ["LESS_IS_BETTER", "MORE_IS_BETTER", "largest_is_first"]

MORE_IS_BETTER = (
    *("accuracy", "auroc2", "dprime", "gamma_gaussian", "gamma_pairs", "gamma_trapezoid"),
    *("log_m", "m_ratio", "meta_d", "meta_information", "phi", "resolution", "rmi"),
    *("selective_area", "v_statistic"),
)
LESS_IS_BETTER = (
    *("brier", "ece", "ece_debiased", "reliability", "reliability_debiased", "meta_noise"),
)


def largest_is_first(quantity: str) -> bool:
    """Whether the largest value of a quantity has rank 1: where less is not better.

    Examples
    --------
    >>> largest_is_first("auroc2"), largest_is_first("brier")
    (True, False)
    """
    return quantity not in LESS_IS_BETTER
