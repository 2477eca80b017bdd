"""The field: a survey of randomized questions, collected on phones or paper, and its results."""

from toolkit.collecting import collect
from toolkit.survey.background import CollectError
from toolkit.survey.collector import Collector
from toolkit.survey.question import Question
from toolkit.survey.results import Results, estimate, tally
from toolkit.survey.spec import Survey
from toolkit.survey.store import StoreError
from toolkit.survey.writing.problem import SurveyError

__all__ = [
    "CollectError",
    "Collector",
    "Question",
    "Results",
    "StoreError",
    "Survey",
    "SurveyError",
    "collect",
    "estimate",
    "tally",
]
