"""Models of confidence that are compared, and what each would mean for M-ratio.

family.toml → Candidate records by name.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hmetad.errors import InputError, nearest
from hmetad.specs.loading import load_model
from hmetad.specs.spec import ModelSpec

__all__ = ["Candidate", "candidates", "chosen_models", "same_models"]

TABLE = Path(__file__).with_name("family.toml")


@dataclass(frozen=True)
class Candidate:
    """A model of confidence.

    Parameters
    ----------
    name, card, title : str
        Its name in tables, the card that is fitted, and what a page calls it.
    means, m_ratio : str
        What it says of confidence, and what it would mean for M-ratio if it were right.
    changes : mapping of str to str
        Choices of the card that are made otherwise.
    levels : bool
        Whether it needs several difficulties that share c and criteria.
    slow : bool
        Whether hierarchical comparisons leave it out unless it is asked for.
    same_as : str
        A model of the list with the same likelihood, or one that contains it.

    Examples
    --------
    >>> candidates()["sdt"].means
    'Confidence rates the evidence of the decision itself: nothing is lost or added.'
    """

    name: str
    card: str
    title: str
    means: str
    m_ratio: str
    changes: Mapping[str, str] = field(default_factory=dict)
    levels: bool = False
    slow: bool = False
    same_as: str = ""

    @property
    def spec(self) -> ModelSpec:
        """The card, with its changes."""
        return load_model(self.card, **self.changes)


@cache
def candidates() -> Mapping[str, Candidate]:
    """Models of confidence that are compared.

    Returns
    -------
    mapping of str to Candidate
        By name.

    Examples
    --------
    >>> candidates()["wev"].title, candidates()["casandre"].same_as
    ('Evidence and visibility', 'lognormal_noise')
    """
    with TABLE.open("rb") as file:
        return {name: Candidate(name=name, **own) for name, own in tomllib.load(file).items()}


def chosen_models(names: Sequence[str] | None, *, has_levels: bool, quick: bool) -> list[Candidate]:
    """Candidates of these names; by default those that the table can tell and time allows.

    Parameters
    ----------
    names : sequence of str, optional
        Of `candidates`.
    has_levels : bool
        Whether there are several difficulties.
    quick : bool
        Whether models are fitted by maximum likelihood, which takes seconds.

    Returns
    -------
    list of Candidate

    Raises
    ------
    InputError
        If a name is unknown or there are fewer than two.

    Examples
    --------
    >>> [one.name for one in chosen_models(["sdt", "wev"], has_levels=True, quick=True)]
    ['sdt', 'wev']
    """
    known = candidates()
    if names is None:
        return [
            one
            for one in known.values()
            if (has_levels or not one.levels) and not (one.same_as or (one.slow and not quick))
        ]
    for name in names:
        if name not in known:
            raise InputError("models", repr(name), ", ".join(known), nearest(name, known))
    if len(set(names)) < 2:
        raise InputError("models", ", ".join(names) or "none", "two different ones at least")
    return [known[name] for name in dict.fromkeys(names)]


def same_models(models: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Pairs of models that are the same in other units, or one of which contains the other.

    Examples
    --------
    >>> same_models(chosen_models(["casandre", "lognormal_noise"], has_levels=True, quick=True))
    [('casandre', 'lognormal_noise')]
    """
    names = {one.name for one in models}
    return [(one.name, one.same_as) for one in models if one.same_as in names]
