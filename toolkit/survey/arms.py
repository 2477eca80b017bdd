"""The same question asked in two ways, each of some people whom chance chose: what the two ways found."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from toolkit.core.estimate import Estimate
from toolkit.core.inference.special import ndtr, ndtri
from toolkit.survey.question import Question


@dataclass(frozen=True)
class ArmDifference:
    """What one way of asking found above another.

    Parameters
    ----------
    first : str
        The question that the other is compared with.
    second : str
        The other question.
    answer : str
        The answer whose share is compared.
    values : pair of float
        The two shares.
    value : float
        The second share minus the first.
    error : float
        Its standard error; the people of two arms are not the same, so both errors add up.

    Examples
    --------
    >>> ArmDifference("direct", "randomized", "yes", (0.1, 0.25), 0.15, 0.05).interval()
    (0.052..., 0.247...)
    """

    first: str
    second: str
    answer: str
    values: tuple[float, float]
    value: float
    error: float

    @property
    def p_value(self) -> float:
        """How often two ways that find the same differ by so much, by the normal approximation, on either side."""
        return float(2 * ndtr(-abs(self.value) / self.error)) if self.error > 0 else math.nan

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval of the difference, by the normal approximation.

        Parameters
        ----------
        level : float
            Its level.

        Returns
        -------
        tuple of float
            Its limits.
        """
        margin = float(ndtri(0.5 + level / 2)) * self.error
        return self.value - margin, self.value + margin

    def __str__(self) -> str:
        low, high = self.interval()
        shares = f"{self.second} {self.values[1]:.3f}, {self.first} {self.values[0]:.3f}"
        sentence = f"{self.answer}: {shares}, difference {self.value:+.3f} (95 % interval {low:+.3f} to {high:+.3f}, "
        return f"{sentence}p = {self.p_value:.2g}). More is better only if nobody admits what is not so."


def pairs(questions: Sequence[Question]) -> list[tuple[Question, Question]]:
    """Return the questions with one text and the same answers that are asked in different arms, the plain one first."""
    by_arm = [one for one in questions if one.arms and one.kind == "choice"]
    ordered = sorted(by_arm, key=lambda one: one.randomized)
    return [
        (first, second)
        for first, second in combinations(ordered, 2)
        if first.text == second.text and first.options == second.options and not set(first.arms) & set(second.arms)
    ]


def differences(
    questions: Sequence[Question], estimate_of: Callable[[str], Estimate | None]
) -> tuple[ArmDifference, ...]:
    """Return for each pair, and each answer but the first, what the second way found above the first."""
    contrasts = []
    for first, second in pairs(questions):
        one, other = estimate_of(first.name), estimate_of(second.name)
        if one is None or other is None:
            continue
        for place in range(1, len(first.options)):
            (low, low_error), (high, high_error) = (_share(estimate, place) for estimate in (one, other))
            error = math.hypot(low_error, high_error)
            named = str(first.options[place])
            contrasts.append(ArmDifference(first.name, second.name, named, (low, high), high - low, error))
    return tuple(contrasts)


def _share(estimate: Estimate, place: int) -> tuple[float, float]:
    """An answer's share and its standard error: of two answers only the last is estimated."""
    values, errors = ([float(one) for one in _listed(part)] for part in (estimate.value, estimate.se))
    at = 0 if len(values) == 1 else place
    return values[at], errors[at]


def _listed(part: object) -> list[float]:
    return list(part) if hasattr(part, "__len__") else [part]  # type: ignore[call-overload, list-item]
