"""Ask sensitive questions privately, and publish statistics privately.

A design is a matrix, a mechanism is a noise law, a loss is a value, an estimate is a number with its error;
the ledger is the only thing that remembers.

    >>> from toolkit import warner
    >>> design = warner(p="3/4")  # with probability 3/4 the truth, else the opposite
    >>> design.estimate_counts([60, 40]).value  # 60 said no, 40 said yes
    0.3

Rooms: `toolkit.local` (each person randomizes), `toolkit.central` (a curator adds noise), `toolkit.analysis`
(from reports to findings), `toolkit.planning` (before anybody is asked), `toolkit.budget` (ledger and
curator), `toolkit.survey` (collect and read), `toolkit.attacks` (why, and whether it holds), `toolkit.show`
(pictures and widgets), `toolkit.core` (losses, estimates, exact noise).
"""

from toolkit.budget import MISSING, BudgetError, Curator, Ledger, RecordError, between
from toolkit.central import Exponential, Gaussian, Laplace
from toolkit.core import Approx, Estimate, Interval, Pure, Zcdp, compose, subsampled
from toolkit.local import (
    Design,
    crosswise,
    forced,
    forced_options,
    k_ary,
    kuk,
    mangat,
    shuffled,
    triangular,
    unrelated,
    warner,
)
from toolkit.planning import plan
from toolkit.survey import CollectError, Question, StoreError, Survey, SurveyError, collect

__all__ = [
    "MISSING",
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
    "between",
    "collect",
    "compose",
    "crosswise",
    "forced",
    "forced_options",
    "k_ary",
    "kuk",
    "mangat",
    "plan",
    "shuffled",
    "subsampled",
    "triangular",
    "unrelated",
    "warner",
]
__version__ = "0.2.0"
