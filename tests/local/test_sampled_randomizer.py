"""A new randomizer defines how a report is drawn and how it is scored; the base class provides the rest."""

import inspect
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from toolkit import Estimate, Question
from toolkit.core.loss import Pure
from toolkit.core.randomness import below
from toolkit.local.catalogue import CATALOGUE, make_example
from toolkit.local.protocol import Randomizer, ReportDrawer, ReportEstimator, is_code
from toolkit.local.sampled_randomizer import ExactOddsRandomizer
from toolkit.survey.questions.question import accepts


@dataclass(frozen=True)
class Toy(ExactOddsRandomizer):
    truth: int
    lie: int

    name = "toy"
    answer_kind = "choice"
    options = ("no", "yes")

    @property
    def _odds(self) -> Fraction:
        return Fraction(self.truth, self.lie)

    def _draw_report(self, truth: int, draw: Any) -> int:
        return truth if draw(self.truth + self.lie) < self.truth else 1 - truth

    def _accepts(self, report: object) -> bool:
        return is_code(report, 2)

    def scores(self, reports: Any, option: Any = None) -> Any:  # noqa: ARG002
        return (np.asarray(reports) * (self.truth + self.lie) - self.lie) / (self.truth - self.lie)

    def variance(self, truth: float, n: int, *, respondents: str = "sample") -> float:
        raise NotImplementedError

    def estimate(self, reports: Any, *, times: Any = None) -> Estimate:
        raise NotImplementedError

    def _encode_answers(self, answers: Any) -> tuple[Any, bool]:
        return np.atleast_1d(answers), np.ndim(answers) == 0

    def _draw(self, truths: Any, rng: Any) -> Any:
        return truths ^ (below(self.truth + self.lie, len(truths), rng) >= self.truth)


def test_epsilon_loss_and_what_a_curator_needs_follow() -> None:
    assert Toy(3, 1).epsilon == math.log(3)
    assert Toy(3, 1).loss == Pure(math.log(3))
    assert (Toy(3, 1)._sensitivity, Toy(3, 1).bounds, Toy(3, 1).matrix) == (1.0, None, None)


def test_plain_data_and_back() -> None:
    assert Toy.from_dict(json.loads(json.dumps(Toy(5, 2).to_dict()))) == Toy(5, 2)
    assert Toy(5, 2)._browser_data() == {"kind": "toy", "truth": 5, "lie": 2}
    with pytest.raises(ValueError, match="must have that kind"):
        Toy.from_dict({"kind": "other", "truth": 5, "lie": 2})


def test_one_answer_has_one_report_and_scores_average_to_the_truth() -> None:
    rng = np.random.default_rng(1)
    assert Toy(3, 1).randomize(1, rng) in (0, 1)
    reports = Toy(3, 1).randomize([1] * 3000 + [0] * 7000, rng)
    assert abs(Toy(3, 1).scores(reports).mean() - 0.3) < 0.05
    assert np.array_equal(Toy(3, 1)._scores_of_raw_reports(reports.tolist()), Toy(3, 1).scores(reports))


def test_a_question_takes_a_randomizer_and_its_reports() -> None:
    question = Question("x", "X?", design=Toy(3, 1))
    assert [accepts(question, report) for report in (0, 1, 2, True, "yes")] == [True, True, False, False, False]


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_randomizer_draws_estimates_and_documents_each_method(name: str) -> None:
    """Every public method of every randomizer has a docstring."""
    made = type(make_example(name))
    assert issubclass(made, ReportDrawer)
    assert issubclass(made, ReportEstimator)
    verbs = [verb for verb in dir(Randomizer) if verb[0] != "_"]
    assert [verb for verb in verbs if not inspect.getdoc(getattr(made, verb))] == []
