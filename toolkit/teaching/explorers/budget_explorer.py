"""An explorer of what epsilon means for one person: odds, guesses, beliefs and bets, over questions and years.

Python composes the losses and sends the factor by which the odds may shift. The browser only multiplies odds by this
factor (Bayes' rule), and a test compares the result with `Design.posterior`.
"""

import itertools
import math
import operator
from functools import lru_cache
from pathlib import Path
from typing import Any

import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.core.loss import Pure
from toolkit.local.questions import warner
from toolkit.planning.disclosure import bet
from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION
from toolkit.show.widgets.explorer import (
    QUESTION,
    BoundedFloat,
    BoundedInt,
    Explorer,
    PredictionQuestion,
    browser_code,
    document_widget,
    draw_icons,
)
from toolkit.texts.figures import (
    fill_templates,
    format_chance,
    format_factor,
    format_lower_chance,
    format_upper_chance,
    round_for_browser,
)

STATIC = Path(__file__).parent / "static"

EPSILONS = (
    *(0.01, 0.02, 0.03, 0.05, 0.07),
    *(i / 20 for i in range(2, 21)),
    *(i / 10 for i in range(11, 21)),
    *(2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0),
)
QUESTIONS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50)
YEARS = tuple(range(1, 11))
PRIORS = tuple(i / 100 for i in (1, 2, 3, 5, 7, *range(10, 100, 5), 99))

SENTENCES = {
    "icons": "Of 100 guesses between two equally likely secrets, on average at most {right} come out right; "
    "without the releases, 50.",
    "odds": "The odds between any two secrets shift by a factor of up to {factor} (limits are rounded up).",
    "belief": "A belief of {prior} % before becomes at least {low} % and at most {high} % after.",
    "bet": "A bet of 1 € on the secret that was fair before is worth up to {stake} € after.",
    "total": "Questions per year: {questions}; years: {years}; answers in total: {answers}. Together they cost "
    "ε\u00a0=\u00a0{total}.",
    "each": "For the odds to shift by a factor of at most 3 in total, as with two coins, each answer may cost "
    "ε\u00a0=\u00a0{each}.",
}

_MIN_EPSILON, _MAX_EPSILON = EPSILONS[0], EPSILONS[-1]
_EPSILON_CAP = 100.0  # above it nothing is hidden, and the factor would overflow
_TWO_COINS_EPSILON = warner("3/4").epsilon


class BudgetExplorer(Explorer):
    """An explorer of what epsilon means for one person, for one answer and for many.

    The sentences bound what anybody can conclude from all releases, regardless of their background knowledge. The
    attributes `epsilon`, `questions`, `years`, `prior` and `loss` follow the sliders.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss of one answer, from 0.01 to 10; smaller values give more privacy.
    questions : int, default 1
        Number of answers that a person gives per year, up to 50.
    years : int, default 1
        Number of years, up to 10.
    prior : float, default 0.1
        An observer's belief in the secret before the answers, strictly between 0 and 1.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = BudgetExplorer(epsilon=0.5, questions=12)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "budget_explorer.js")
    function_name, question_code = "budget", QUESTION
    prediction_question = PredictionQuestion(
        "Of 100 guesses between two equally likely secrets, at most how many come out right on average?", "of 100"
    )

    epsilon = BoundedFloat(_MIN_EPSILON, _MAX_EPSILON, "below it nothing is learned, above it nothing is hidden")
    questions = BoundedInt(1, QUESTIONS[-1])
    years = BoundedInt(1, YEARS[-1])
    prior = BoundedFloat(0, 1, "a belief of 0 or 1 never changes", strict=True)

    def __init__(
        self, epsilon: float = 1.0, questions: int = 1, years: int = 1, prior: float = 0.1, *, guess: bool = False
    ) -> None:
        settings = {"epsilon": epsilon, "questions": questions, "years": years, "prior": prior}
        super().__init__(table=budget_table(), guess=guess, **settings)

    @property
    def loss(self) -> Pure:
        """The privacy loss of all answers together."""
        return _cumulative_losses(self.epsilon, self.questions * self.years)[-1]

    def right_answer(self) -> tuple[float, str]:
        right = 100 * updated_belief(0.5, self.row["factor"][self.years - 1])
        return math.ceil(right - 1e-9), format_upper_chance(right)

    def setting_text(self) -> str:
        return f"epsilon {self.epsilon:.4g}, questions {self.questions}, years {self.years}, prior {self.prior:.4g}"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table["words"], self.row, self.years, self.prior)

    def picture(self) -> Figure:
        row = self.row
        titles = {"people": "What can be learned about one person?", "years": "And if they are asked again?"}
        setting = f"epsilon {row['epsilon']:.3g} an answer, questions a year: {row['questions']}, years: {self.years}"
        canvas, panels = self._new_panels(
            4.1, setting, [["people", "years"], ["people", "words"]], [2.2, 1.3], **titles
        )
        draw_icons(panels["people"], int(self.right_answer()[0]))
        _draw_beliefs(panels["years"], row, self.years, self.prior)
        self._write_sentences(panels, people=("icons", "odds", "belief", "bet"), words=("total", "each"))
        return canvas

    @traitlets.observe("epsilon", "questions")
    def _update_row(self, _change: object) -> None:
        self.row = budget_row(self.epsilon, self.questions)


@document_widget(BudgetExplorer)
def budget(
    epsilon: float = 1.0, *, questions: int = 1, years: int = 1, prior: float = 0.1, guess: bool = False
) -> BudgetExplorer:
    """Explore what epsilon means for one person.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> explorers.budget(0.5, questions=3)
    <BudgetExplorer: epsilon 0.5, questions 3, years 1, prior 0.1>
    """
    return BudgetExplorer(epsilon, questions, years, prior, guess=guess)


@lru_cache(maxsize=1)
def budget_table() -> dict[str, Any]:
    """Return the total loss and the odds factor for each epsilon and each number of answers (questions times years)."""
    answers = sorted({questions * years for questions in QUESTIONS for years in YEARS})
    rows = [[_cumulative_losses(epsilon, answers[-1])[count - 1].epsilon for count in answers] for epsilon in EPSILONS]
    return {
        "epsilons": list(EPSILONS),
        "questions": list(QUESTIONS),
        "years": list(YEARS),
        "priors": list(PRIORS),
        "answers": answers,
        "total": [[round_for_browser(total) for total in row] for row in rows],
        "factor": [[round_for_browser(_odds_factor(total)) for total in row] for row in rows],
        "each": [_epsilon_per_answer(count) for count in answers],
        "words": SENTENCES,
    }


def budget_row(epsilon: float, questions: int) -> dict[str, Any]:
    """Return the total losses and odds factors after each year, for one epsilon and one number of questions."""
    counts = [questions * years for years in YEARS]
    totals = [_cumulative_losses(epsilon, counts[-1])[count - 1].epsilon for count in counts]
    return {
        "epsilon": epsilon,
        "questions": questions,
        "total": [round_for_browser(total) for total in totals],
        "factor": [round_for_browser(_odds_factor(total)) for total in totals],
        "each": [_epsilon_per_answer(count) for count in counts],
    }


def fill_sentences(templates: dict[str, str], row: dict[str, Any], years: int, prior: float) -> dict[str, str]:
    """Return the sentences of one setting; the browser fills the same templates with the same numbers."""
    factor = row["factor"][years - 1]
    highest = updated_belief(prior, factor)
    values = {
        "right": format_upper_chance(100 * updated_belief(0.5, factor)),
        "factor": format_factor(factor),
        "prior": format_chance(100 * prior),
        "low": format_lower_chance(100 * updated_belief(prior, 1 / factor)),
        "high": format_upper_chance(100 * highest),
        "stake": format_factor(highest / prior),
        "questions": row["questions"],
        "years": years,
        "answers": row["questions"] * years,
        "total": format_factor(row["total"][years - 1]),
        "each": row["each"][years - 1],
    }
    return fill_templates(templates, values)


def updated_belief(prior: float, factor: float) -> float:
    """Return the belief whose odds are the odds of `prior` times `factor`."""
    odds = prior / (1 - prior) * factor
    return odds / (1 + odds)


@lru_cache(maxsize=64)
def _cumulative_losses(epsilon: float, answers: int) -> tuple[Pure, ...]:
    """Return the total losses of 1, 2, … answers."""
    return tuple(itertools.accumulate(itertools.repeat(Pure(epsilon), answers), operator.add))


def _odds_factor(total: float) -> float:
    return bet(min(total, _EPSILON_CAP))


def _epsilon_per_answer(answers: int) -> str:
    """Return the epsilon of each answer if the total is the epsilon of two coins, rounded down to three digits."""
    share = _TWO_COINS_EPSILON / answers
    digits = 2 - math.floor(math.log10(share))
    return f"{math.floor(share * 10**digits) / 10**digits:.{digits}f}"


def _draw_beliefs(ax: Axes, row: dict[str, Any], marked_year: int, prior: float) -> None:
    """Draw the highest and the lowest belief by years, a dot at `marked_year`, and the prior as a dashed line."""
    high, low = ([100 * updated_belief(prior, factor**sign) for factor in row["factor"]] for sign in (1, -1))
    ax.plot(YEARS, high, color=BLUE, linewidth=2.5)
    ax.plot(YEARS, low, color=BLUE, linewidth=1.5, linestyle=":")
    ax.axhline(100 * prior, color=GREY, linestyle="--", linewidth=1.5)
    ax.text(10, 100 * prior + 2, "before", ha="right", va="bottom", color=INK, fontsize=9)
    ax.plot([marked_year], [high[marked_year - 1]], "o", color=VERMILLION, markersize=9)
    ax.set(ylim=(0, 104), ylabel="belief, %", xlabel="years (left: more private)", xticks=YEARS)
    ax.spines[["top", "right"]].set_visible(False)
