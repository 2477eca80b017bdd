"""Ask sensitive questions privately, and publish statistics privately.

A design is a matrix, a mechanism is a noise law, a loss is a value, an estimate is a number with its error;
the ledger is the only thing that remembers.

    >>> from toolkit import warner
    >>> design = warner(p="3/4")  # with probability 3/4 the truth, else the opposite
    >>> design.estimate_counts({"no": 60, "yes": 40}).value
    0.3

Rooms: `toolkit.local` (each person randomizes), `toolkit.central` (a curator adds noise), `toolkit.frames` (any table),
`toolkit.budget` (the ledger), `toolkit.curator` (statistics of a confidential table), `toolkit.analysis` (from reports
to findings), `toolkit.planning` (before anybody is asked), `toolkit.learning` (classifiers that pay for what they
learn), `toolkit.survey` (collect and read), `toolkit.attacks` (why, and whether it holds), `toolkit.show` (pictures and
widgets), `toolkit.core` (losses, estimates, exact noise).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolkit.budget import BudgetError, Ledger, RecordError
from toolkit.central import Exponential, Gaussian, Laplace
from toolkit.core import Approx, Estimate, Interval, Pure, Zcdp, compose, subsampled
from toolkit.curator import Curator
from toolkit.frames import MISSING, OTHER, bands, between
from toolkit.local import (
    Design,
    crosswise,
    forced,
    forced_options,
    k_ary,
    kuk,
    likert,
    mangat,
    shuffled,
    triangular,
    unrelated,
    warner,
)

if TYPE_CHECKING:  # the upper floors are loaded when somebody asks for them
    from toolkit.analysis import estimates, logistic
    from toolkit.planning import plan
    from toolkit.survey import CollectError, Question, StoreError, Survey, SurveyError, collect, rehearse

__all__ = [
    "MISSING",
    "OTHER",
    "Approx",
    "BudgetError",
    "CollectError",
    "Curator",
    "Design",
    "Estimate",
    "Exponential",
    "Gaussian",
    "Interval",
    "Laplace",
    "Ledger",
    "Pure",
    "Question",
    "RecordError",
    "StoreError",
    "Survey",
    "SurveyError",
    "Zcdp",
    "__version__",
    "bands",
    "between",
    "collect",
    "compose",
    "crosswise",
    "estimates",
    "forced",
    "forced_options",
    "k_ary",
    "kuk",
    "likert",
    "logistic",
    "mangat",
    "plan",
    "rehearse",
    "shuffled",
    "subsampled",
    "triangular",
    "unrelated",
    "warner",
]
__version__ = "0.2.0"

_LATER = {
    "estimates": "analysis",
    "logistic": "analysis",
    "plan": "planning",
    **dict.fromkeys(
        ["CollectError", "Question", "StoreError", "Survey", "SurveyError", "collect", "rehearse"], "survey"
    ),
}
_ROOMS = ("analysis", "attacks", "learning", "planning", "show", "survey")


def __getattr__(name: str) -> Any:
    """A room of an upper floor, or a name from one."""
    if name in _ROOMS:
        return import_module(f"toolkit.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'toolkit' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"toolkit.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "budget", "central", "core", "curator", "frames", "local"]
