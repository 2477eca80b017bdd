"""Questionnaires: each person answers a few randomly chosen questions out of several.

Answering all d questions divides the budget: each gets epsilon / d, and variances grow like d**2. Answering one random
question spends the whole budget on it; each question has n / d answers, and variances grow like d. Survey researchers
call this a split questionnaire. Fake answers to the other questions are not offered: they would hide which question was
asked, but a whole record would then cost more than epsilon. For a Likert scale, either the whole distribution or only
the mean can be estimated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, check_integer, explain_call, reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.digits import concise
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng, below, check_rng
from toolkit.local.calibration import checked_epsilon
from toolkit.local.catalogue import restore
from toolkit.local.design import Design
from toolkit.local.matrix.tables import TABLE_LIMIT
from toolkit.local.numeric import one_bit
from toolkit.local.numeric.bounded import OneBit
from toolkit.local.protocol import Randomizer, Respondents, convert_to_integers
from toolkit.local.questions import k_ary

RandomizerMaker = Callable[[Fraction], Randomizer]
"""A function that makes a question's randomizer from an epsilon."""


@dataclass(frozen=True, repr=False)
class Questionnaire:
    """Several questions with their randomizers; each person answers `asked` of them, drawn at random.

    To draw a person's reports, draw `asked` of the d questions by Floyd's algorithm. For j = d-asked, …, d-1, draw a
    uniform integer t below j + 1 and take t, or j if t is already taken. Then draw a report for each drawn question in
    order.

    Parameters
    ----------
    questions : tuple of pair of str and Randomizer
        The name and the randomizer of each question.
    asked : int
        The number of questions per person.

    Examples
    --------
    >>> from toolkit import warner
    >>> survey = questionnaire({name: lambda e: warner(epsilon=e) for name in ("cheated", "lied")}, 1.0)
    >>> reports = survey.randomize({"cheated": ["no"] * 100, "lied": ["yes"] * 100})
    >>> sum(map(len, reports.values()))
    100
    """

    questions: tuple[tuple[str, Randomizer], ...]
    asked: int

    def __post_init__(self) -> None:
        if not self.questions or len(dict(self.questions)) < len(self.questions):
            consequence = "reports are looked up by name"
            reject("a questionnaire must have questions with different names", len(self.questions), consequence)
        convert_to_integers(self, asked=1)
        if self.asked > len(self.questions):
            consequence = "nobody is asked a question twice"
            reject(f"`asked` must be at most {len(self.questions)}, the number of questions", self.asked, consequence)

    @property
    def loss(self) -> Pure:
        """The largest loss of one person: the sum of the largest losses of questions that can be asked together."""
        costliest = sorted((question.loss.amount for _, question in self.questions), reverse=True)[: self.asked]
        return Pure(sum(costliest, Fraction(0)))

    @property
    def epsilon(self) -> float:
        """The epsilon of a whole record, whichever questions are asked."""
        return self.loss.epsilon

    def randomize(self, answers: Mapping[str, Any], rng: Rng = None) -> dict[str, Any]:
        """Randomize all answers and drop the answers to questions that were not asked.

        Parameters
        ----------
        answers : mapping or frame
            The answers of all people to all questions, one column per question.
        rng : numpy.random.Generator, optional
            A generator for simulations. Leave it out for real answers, which use the operating system's randomness.

        Returns
        -------
        dict
            The reports of the people who were asked, by question.
        """
        generator = check_rng(rng)
        self._check_names(answers)
        reports_to_all = {
            name: np.atleast_1d(question.randomize(answers[name], generator)) for name, question in self.questions
        }
        people = {len(reports) for reports in reports_to_all.values()}
        if len(people) != 1:
            consequence = "drop incomplete rows"
            reject("every question must have an answer from every person", "columns of different lengths", consequence)
        is_asked = self._draw_asked_questions(people.pop(), generator)
        return {name: reports_to_all[name][is_asked[:, number]] for number, (name, _) in enumerate(self.questions)}

    def _check_names(self, names: Mapping[str, Any]) -> None:
        missing = [name for name, _ in self.questions if name not in names]
        if missing:
            reject("every question must be present", f"none called {', '.join(missing)}", "they are looked up by name")

    def _draw_asked_questions(self, n_people: int, rng: Rng) -> npt.NDArray[np.bool_]:
        """Draw a boolean table of the questions that each person is asked, by the first steps of a shuffle."""
        d, row = len(self.questions), np.arange(n_people)
        order = np.tile(np.arange(d), (n_people, 1))
        for column in range(self.asked if self.asked < d else 0):
            other = column + below(d - column, n_people, rng).astype(np.int64)
            order[row, column], order[row, other] = order[row, other], order[row, column].copy()
        is_asked = np.zeros((n_people, d), dtype=bool)
        is_asked[row[:, None], order[:, : self.asked]] = True
        return is_asked

    def estimate(self, reports: Mapping[str, Any]) -> dict[str, Estimate]:
        """Compute an estimate for each question from its reports.

        Parameters
        ----------
        reports : mapping
            The reports by question, as returned by `randomize`.

        Returns
        -------
        dict
            An estimate for each question.
        """
        self._check_names(reports)
        return {name: question.estimate(reports[name]) for name, question in self.questions}

    def variance(
        self, truths: Mapping[str, Any], n: int, *, respondents: Respondents = "sample"
    ) -> dict[str, float | Array]:
        """Compute each question's variance if n people take part and each question is asked n * asked / d times.

        Parameters
        ----------
        truths : mapping of str to value
            For each question, the true value that its randomizer's `variance` requires: a prevalence, shares, or a
            mean.
        n : int
            The number of people who take part.
        respondents : {"sample", "fixed"}
            As for a design; the choice of questions is random even if the people are fixed.

        Returns
        -------
        dict
            For each question, one variance, or one for each estimated quantity.
        """
        self._check_names(truths)
        people = Fraction(check_integer(n, "n") * self.asked, len(self.questions))
        return {
            name: self._variance(question, truths[name], people, n, respondents) for name, question in self.questions
        }

    def _variance(
        self, question: Randomizer, truth: ArrayLike, n_answers: Fraction, n: int, respondents: Respondents
    ) -> float | Array:
        near = max(1, round(n_answers))
        survey = question.variance(truth, near) * float(near / n_answers)
        if respondents == "sample":
            return survey
        # With fixed people the sampling variance of the n people is removed, but not the variance due to the choice of
        # who is asked.
        sampling = question.variance(truth, near) - question.variance(truth, near, respondents=respondents)
        return survey - sampling * (near / n)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON.

        Returns
        -------
        dict
            The data that `from_dict` reads.
        """
        questions = {name: question.to_dict() for name, question in self.questions}
        return {"kind": "questionnaire", "asked": self.asked, "questions": questions}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Questionnaire":
        """Read the questionnaire that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            Data as returned by `to_dict`.

        Returns
        -------
        Questionnaire
            An equal questionnaire.
        """
        if not isinstance(data, dict) or set(data) != {"kind", "asked", "questions"} or data["kind"] != "questionnaire":
            consequence = "write it with to_dict()"
            reject("a questionnaire must have the fields kind, asked and questions", "others", consequence)
        return cls(tuple((name, restore(question)) for name, question in data["questions"].items()), data["asked"])

    def __repr__(self) -> str:
        return f"<Questionnaire of {len(self.questions)} questions, {self.asked} asked: epsilon {self.epsilon:.4g}>"


_CALL = 'questionnaire({"cheated": lambda e: warner(epsilon=e)}, epsilon=1.0)'


@explain_call(_CALL)
def questionnaire(makers: Mapping[str, RandomizerMaker], epsilon: Number, *, asked: int = 1) -> Questionnaire:
    """Make a questionnaire that asks each person random questions, with a loss of at most epsilon per person.

    Parameters
    ----------
    makers : mapping of str to callable
        Functions that make a randomizer from an epsilon, by the name of the question.
    epsilon : number
        The largest loss of one person; each question that is asked gets epsilon / asked.
    asked : int
        The number of questions per person. With 1, one random question gets the whole budget; if every question is
        asked, they share it.

    Returns
    -------
    Questionnaire
        The questionnaire.

    References
    ----------
    T. T. Nguyên et al., Collecting and analyzing data from smart device users with local differential privacy (2016).

    Examples
    --------
    >>> from toolkit import warner
    >>> from toolkit.local.oracles import best
    >>> makers = {"cheated": lambda e: warner(epsilon=e), "drug": lambda e: best(30, e)}
    >>> questionnaire(makers, 1.0)
    <Questionnaire of 2 questions, 1 asked: epsilon 1>
    """
    if not isinstance(makers, Mapping) or not all(callable(make) for make in makers.values()):
        received = "designs" if isinstance(makers, Mapping) else type(makers).__name__
        consequence = f"the epsilon of each follows from their number; write {_CALL}"
        reject("`makers` must be functions of an epsilon, by question", received, consequence, TypeError)
    total, count = checked_epsilon(epsilon), check_integer(asked, "asked")
    each = checked_epsilon(total / count)
    return Questionnaire(tuple((name, make(each)) for name, make in makers.items()), count)


def compare(
    makers: Mapping[str, RandomizerMaker], epsilon: Number, truths: Mapping[str, Any], n: int
) -> dict[str, dict[str, Any]]:
    """Compare asking one random question with asking all and splitting the budget.

    Parameters
    ----------
    makers : mapping of str to callable
        As for `questionnaire`.
    epsilon : number
        The largest loss of one person.
    truths : mapping of str to value
        For each question, the true value that its randomizer's `variance` requires: a prevalence, shares, or a mean.
    n : int
        The number of people who take part.

    Returns
    -------
    dict
        For each question, its variances under "one question" and "split budget".

    Examples
    --------
    >>> from toolkit import warner
    >>> makers = {name: lambda e: warner(epsilon=e) for name in ("cheated", "lied", "stole", "copied")}
    >>> table = compare(makers, 1.0, dict.fromkeys(makers, 0.1), n=1000)
    >>> {method: round(variance, 4) for method, variance in table["cheated"].items()}
    {'one question': 0.004, 'split budget': 0.016}
    """
    single = questionnaire(makers, epsilon).variance(truths, n)
    split = questionnaire(makers, epsilon, asked=len(makers)).variance(truths, n)
    return {name: {"one question": single[name], "split budget": split[name]} for name in makers}


@dataclass(frozen=True)
class Likert:
    """Two randomizers with the same epsilon for a scale of points 1 … k, as returned by `likert`.

    Parameters
    ----------
    distribution : Design
        The randomizer for the shares of all points.
    mean : OneBit
        The randomizer for the mean alone.
    saving_spread : float
        The number of respondents needed to estimate the mean with `distribution`, divided by the number needed with
        `mean`, if answers are evenly spread over the points.
    saving_ends : float
        The same ratio if half of the answers are at each end, which is the worst case.

    Examples
    --------
    >>> round(likert(5, 1.0).saving_spread, 2)
    1.63
    """

    distribution: Design
    mean: OneBit
    saving_spread: float
    saving_ends: float

    __repr__ = concise

    def advice(self) -> str:
        """Recommend one of the two randomizers.

        Returns
        -------
        str
            One sentence.
        """
        if self.saving_spread > 1:
            gain = f"{self.saving_spread:.1f} to {self.saving_ends:.1f} times fewer respondents"
            return f"Use k_ary for the share of each point; for the mean alone use one_bit, which needs {gain}."
        return (
            "Use k_ary: it gives each point's share and, unless answers crowd at the ends, the mean as "
            "precisely as one_bit."
        )


@explain_call("likert(5, epsilon=1.0)")
def likert(points: int, epsilon: Number) -> Likert:
    """Make randomizers for a Likert question: `k_ary` for all shares, and `one_bit` for the mean alone.

    The mean of the distribution is the sum of points times shares. Respondents are a random sample.

    Parameters
    ----------
    points : int
        The number k of points, at least 2; the points are 1 … k.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Likert
        Both randomizers, with the ratios of the required numbers of respondents.

    Examples
    --------
    >>> likert(5, 1.0).mean
    <OneBit on 1 to 5: epsilon 1>
    """
    k = check_integer(points, "points", minimum=2, maximum=TABLE_LIMIT)
    scores = np.arange(1, k + 1)
    design, bit = k_ary(scores.tolist(), epsilon=epsilon), one_bit((1, k), epsilon)
    spread, ends = np.full(k, 1 / k), np.where((scores == 1) | (scores == k), 0.5, 0)
    middle = bit.variance((k + 1) / 2, 1)  # the variance of one bit depends on the mean alone
    savings = [float(scores @ design.covariance(shares, 1) @ scores) / middle for shares in (spread, ends)]
    return Likert(design, bit, *savings)
