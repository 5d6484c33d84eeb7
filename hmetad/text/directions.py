"""Quantities that have a best end.

Nothing → names of quantities of which more, or less, is better.
"""

__all__ = ["LESS_IS_BETTER", "MORE_IS_BETTER"]

MORE_IS_BETTER = (
    *("accuracy", "auroc2", "dprime", "gamma_gaussian", "gamma_pairs", "gamma_trapezoid"),
    *("log_m", "m_ratio", "meta_d", "meta_information", "phi", "resolution", "rmi"),
    *("selective_area", "v_statistic"),
)
LESS_IS_BETTER = (
    *("brier", "ece", "ece_debiased", "reliability", "reliability_debiased", "meta_noise"),
)
