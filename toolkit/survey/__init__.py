"""Surveys with randomized questions: specification, collection on phones or paper, and results."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolkit.survey.plan import PlannedQuestion, SurveyPlan
from toolkit.survey.questions.errors import SurveyError
from toolkit.survey.questions.question import Question
from toolkit.survey.questions.survey_fields import Panel
from toolkit.survey.spec import Survey
from toolkit.survey.storage import StoreError

if TYPE_CHECKING:
    from toolkit.survey.collector import Collector, Status, collect
    from toolkit.survey.exchange.books import write_codebook
    from toolkit.survey.exchange.importing import read_reports
    from toolkit.survey.exchange.web import write_web_module
    from toolkit.survey.exchange.web_forms import write_web_form
    from toolkit.survey.exchange.xlsform import from_xlsform, write_xlsform
    from toolkit.survey.rehearsal import rehearse
    from toolkit.survey.results import Results, estimate, tally
    from toolkit.survey.results.comparing import ArmDifference
    from toolkit.survey.results.registration import Registration, register
    from toolkit.survey.serving.background import CollectError

__all__ = [
    "ArmDifference",
    "CollectError",
    "Collector",
    "Panel",
    "PlannedQuestion",
    "Question",
    "Registration",
    "Results",
    "Status",
    "StoreError",
    "Survey",
    "SurveyError",
    "SurveyPlan",
    "collect",
    "estimate",
    "from_xlsform",
    "read_reports",
    "register",
    "rehearse",
    "tally",
    "write_codebook",
    "write_web_form",
    "write_web_module",
    "write_xlsform",
]

_LATER = {
    "ArmDifference": "toolkit.survey.results.comparing",
    "CollectError": "toolkit.survey.serving.background",
    "Collector": "toolkit.survey.collector",
    "Registration": "toolkit.survey.results.registration",
    "Results": "toolkit.survey.results",
    "Status": "toolkit.survey.collector",
    "collect": "toolkit.survey.collector",
    "estimate": "toolkit.survey.results",
    "from_xlsform": "toolkit.survey.exchange.xlsform",
    "read_reports": "toolkit.survey.exchange.importing",
    "register": "toolkit.survey.results.registration",
    "rehearse": "toolkit.survey.rehearsal",
    "tally": "toolkit.survey.results",
    "write_codebook": "toolkit.survey.exchange.books",
    "write_web_form": "toolkit.survey.exchange.web_forms",
    "write_web_module": "toolkit.survey.exchange.web",
    "write_xlsform": "toolkit.survey.exchange.xlsform",
}
"""Names that are imported at their first use, because a server starts faster without them."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'toolkit.survey' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
