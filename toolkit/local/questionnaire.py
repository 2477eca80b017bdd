"""Several questions to the same people: ask each person a few of them, drawn at random, and hide those answers well.

Answering all d questions shares the budget: each gets epsilon / d, and variances grow like d**2. Answering one random
question keeps the whole budget for it; a d-th of the people answer each, and variances grow like d. Survey people know
the second as a split questionnaire. Filling up the questions not asked with invented answers is not offered: it hides
which question was asked, but then costs more than epsilon when whole records are compared. A Likert
scale may be asked for all shares, or for its mean alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import Number, explain_call, reject, whole
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
from toolkit.local.protocol import Randomizer, Respondents, keep_whole
from toolkit.local.questions import k_ary

Maker = Callable[[Fraction], Randomizer]
"""What makes a question's randomizer, given the epsilon that it may cost."""


@dataclass(frozen=True, repr=False)
class Questionnaire:
    """Each person is asked `asked` of the questions, an even choice, and answers each by its own randomizer.

    To draw a person's reports: the numbers of the questions, `asked` of d, by Floyd's rule: for j = d-asked, …, d-1 a
    uniform integer t below j + 1; take t, or j if t was taken before. Then each question in order by its own rule.

    Parameters
    ----------
    questions : tuple of pair of str and Randomizer
        Each question's name, and what hides its answers.
    asked : int
        Questions per person.

    Examples
    --------
    >>> from toolkit import warner
    >>> made = questionnaire({name: lambda e: warner(epsilon=e) for name in ("cheated", "lied")}, 1.0)
    >>> reports = made.randomize({"cheated": ["no"] * 100, "lied": ["yes"] * 100})
    >>> sum(map(len, reports.values()))
    100
    """

    questions: tuple[tuple[str, Randomizer], ...]
    asked: int

    def __post_init__(self) -> None:
        if not self.questions or len(dict(self.questions)) < len(self.questions):
            consequence = "reports go by name"
            reject("a questionnaire must have questions, each with a name of its own", len(self.questions), consequence)
        keep_whole(self, asked=1)
        if self.asked > len(self.questions):
            consequence = "nobody is asked twice"
            reject(f"`asked` must be at most {len(self.questions)}, the number of questions", self.asked, consequence)

    @property
    def loss(self) -> Pure:
        """What one person spends at most: the losses of the costliest questions that can be asked together."""
        costliest = sorted((question.loss.amount for _, question in self.questions), reverse=True)[: self.asked]
        return Pure(sum(costliest, Fraction(0)))

    @property
    def epsilon(self) -> float:
        """That of any two people's whole records, whichever questions are asked."""
        return self.loss.epsilon

    def randomize(self, answers: Mapping[str, Any], rng: Rng = None) -> dict[str, Any]:
        """Randomize the answers of all; what was not asked for is then forgotten, and leaves no trace.

        Parameters
        ----------
        answers : mapping or frame
            Everybody's answers to every question, a column a question.
        rng : numpy.random.Generator, optional
            For simulation; real answers use none, which is the operating system's randomness.

        Returns
        -------
        dict
            For each question the reports of those who were asked.
        """
        generator = check_rng(rng)
        self._refuse_other_names(answers)
        drawn = {name: np.atleast_1d(question.randomize(answers[name], generator)) for name, question in self.questions}
        people = {len(reports) for reports in drawn.values()}
        if len(people) != 1:
            consequence = "drop the incomplete"
            reject("every question must have an answer of every person", "columns of different lengths", consequence)
        choices = self._choices(people.pop(), generator)
        return {name: drawn[name][choices[:, number]] for number, (name, _) in enumerate(self.questions)}

    def _refuse_other_names(self, names: Mapping[str, Any]) -> None:
        missing = [name for name, _ in self.questions if name not in names]
        if missing:
            reject("every question must be there", f"none called {', '.join(missing)}", "they go by name")

    def _choices(self, people: int, rng: Rng) -> npt.NDArray[np.bool_]:
        """Who is asked what: `asked` questions a row, by the first steps of a shuffle."""
        d, row = len(self.questions), np.arange(people)
        order = np.tile(np.arange(d), (people, 1))
        for place in range(self.asked if self.asked < d else 0):
            other = place + below(d - place, people, rng).astype(np.int64)
            order[row, place], order[row, other] = order[row, other], order[row, place].copy()
        choices = np.zeros((people, d), dtype=bool)
        choices[row[:, None], order[:, : self.asked]] = True
        return choices

    def estimate(self, reports: Mapping[str, Any]) -> dict[str, Estimate]:
        """Estimate each question from the reports to it.

        Parameters
        ----------
        reports : mapping
            By question, as `randomize` returns them.

        Returns
        -------
        dict
            An estimate for each question.
        """
        self._refuse_other_names(reports)
        return {name: question.estimate(reports[name]) for name, question in self.questions}

    def variance(
        self, truths: Mapping[str, Any], n: int, *, respondents: Respondents = "sample"
    ) -> dict[str, float | Array]:
        """Compute the variance of each question's estimate when n people take part, so that n * asked / d answer it.

        Parameters
        ----------
        truths : mapping of str to value
            Each question's answers as its own `variance` takes them: a prevalence, shares, or a mean.
        n : int
            How many people take part.
        respondents : {"sample", "fixed"}
            As for a design; even of fixed people chance decides who is asked what.

        Returns
        -------
        dict
            A variance for each question, or one for each thing that is estimated.
        """
        self._refuse_other_names(truths)
        people = Fraction(whole(n, "n") * self.asked, len(self.questions))
        return {
            name: self._variance(question, truths[name], people, n, respondents) for name, question in self.questions
        }

    def _variance(
        self, question: Randomizer, truth: ArrayLike, people: Fraction, n: int, respondents: Respondents
    ) -> float | Array:
        near = max(1, round(people))
        survey = question.variance(truth, near) * float(near / people)
        if respondents == "sample":
            return survey
        chosen = question.variance(truth, near) - question.variance(truth, near, respondents=respondents)
        return survey - chosen * (near / n)  # choosing whom to ask stays, choosing the n people falls away

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        questions = {name: question.to_dict() for name, question in self.questions}
        return {"kind": "questionnaire", "asked": self.asked, "questions": questions}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Questionnaire":
        """Make the questionnaire that was written.

        Parameters
        ----------
        data : dict
            As `to_dict` returns it.

        Returns
        -------
        Questionnaire
            An equal one.
        """
        if not isinstance(data, dict) or set(data) != {"kind", "asked", "questions"} or data["kind"] != "questionnaire":
            consequence = "write it with to_dict()"
            reject("a questionnaire must have the fields kind, asked and questions", "others", consequence)
        return cls(tuple((name, restore(question)) for name, question in data["questions"].items()), data["asked"])

    def __repr__(self) -> str:
        return f"<Questionnaire of {len(self.questions)} questions, {self.asked} asked: epsilon {self.epsilon:.4g}>"


_CALL = 'questionnaire({"cheated": lambda e: warner(epsilon=e)}, epsilon=1.0)'


@explain_call(_CALL)
def questionnaire(makers: Mapping[str, Maker], epsilon: Number, *, asked: int = 1) -> Questionnaire:
    """Make a questionnaire of random questions that costs each person at most epsilon.

    Parameters
    ----------
    makers : mapping of str to callable
        For each question's name a function that makes its randomizer from an epsilon.
    epsilon : number
        What one person spends at most; each question that is asked gets epsilon / asked.
    asked : int
        Questions per person: 1 for one random question with the whole budget, all to split the budget.

    Returns
    -------
    Questionnaire
        Of all questions.

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
        consequence = f"what each may cost follows from their number; write {_CALL}"
        reject("`makers` must be functions of an epsilon, by question", received, consequence, TypeError)
    total, count = checked_epsilon(epsilon), whole(asked, "asked")
    each = checked_epsilon(total / count)
    return Questionnaire(tuple((name, make(each)) for name, make in makers.items()), count)


def compare(
    makers: Mapping[str, Maker], epsilon: Number, truths: Mapping[str, Any], n: int
) -> dict[str, dict[str, Any]]:
    """Compare asking one random question with asking all and splitting the budget.

    Parameters
    ----------
    makers : mapping of str to callable
        As for `questionnaire`.
    epsilon : number
        What one person spends at most.
    truths : mapping of str to value
        Each question's answers as its `variance` takes them: a prevalence, shares, or a mean.
    n : int
        How many people take part.

    Returns
    -------
    dict
        For each question its variance by "one question" and by "split budget".

    Examples
    --------
    >>> from toolkit import warner
    >>> makers = {name: lambda e: warner(epsilon=e) for name in ("cheated", "lied", "stole", "copied")}
    >>> table = compare(makers, 1.0, dict.fromkeys(makers, 0.1), n=1000)
    >>> {way: round(variance, 4) for way, variance in table["cheated"].items()}
    {'one question': 0.004, 'split budget': 0.016}
    """
    one, split = questionnaire(makers, epsilon), questionnaire(makers, epsilon, asked=len(makers))
    by_one, by_split = one.variance(truths, n), split.variance(truths, n)
    return {name: {"one question": by_one[name], "split budget": by_split[name]} for name in makers}


@dataclass(frozen=True)
class Likert:
    """Two ways to ask on points 1 … k at one epsilon, as `likert` returns them.

    Parameters
    ----------
    distribution : Design
        Keeps all shares.
    mean : OneBit
        Keeps the mean alone.
    saving_spread : float
        How many times the respondents the mean needs when it is taken from the distribution, if answers are spread
        evenly over the points.
    saving_ends : float
        The same if half of the answers are at either end, its worst case.

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
        """Tell which to use.

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
    """Prepare a Likert question: all shares by `k_ary`, and the mean alone by `one_bit`.

    The mean from the distribution is the sum of points times shares. Respondents are a random sample.

    Parameters
    ----------
    points : int
        At least 2: the points are 1 … k.
    epsilon : number
        What one report may cost.

    Returns
    -------
    Likert
        Both designs, and which needs fewer people.

    Examples
    --------
    >>> likert(5, 1.0).mean
    <OneBit on 1 to 5: epsilon 1>
    """
    k = whole(points, "points", least=2, most=TABLE_LIMIT)
    scores = np.arange(1, k + 1)
    design, bit = k_ary(scores.tolist(), epsilon=epsilon), one_bit((1, k), epsilon)
    spread, ends = np.full(k, 1 / k), np.where((scores == 1) | (scores == k), 0.5, 0)
    middle = bit.variance((k + 1) / 2, 1)  # whatever the spread, one bit's variance depends on the mean alone
    savings = [float(scores @ design.covariance(shares, 1) @ scores) / middle for shares in (spread, ends)]
    return Likert(design, bit, *savings)
