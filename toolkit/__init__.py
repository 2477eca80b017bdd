"""Ask sensitive questions privately, and publish statistics privately.

A design is a matrix, a mechanism is a noise law, a loss is a value, and an estimate is a number with its error; only
the ledger has state.

    >>> from toolkit import warner
    >>> design = warner(p="3/4")  # with probability 3/4 the truth, else the opposite
    >>> design.estimate_counts({"no": 60, "yes": 40}).value
    0.3

Folders: `toolkit.local` (each person randomizes), `toolkit.central` (a curator adds noise), `toolkit.frames` (any
table), `toolkit.budget` (the ledger), `toolkit.curator` (statistics of a confidential table), `toolkit.analysis`
(from reports to findings), `toolkit.planning` (before anybody is asked), `toolkit.learning` (private learners),
`toolkit.survey` (collect and read), `toolkit.audit` (is a mechanism as private as it claims), `toolkit.show`
(pictures and widgets), `toolkit.core` (losses, estimates, exact noise), `toolkit.teaching` (the course).
"""

import lazy_loader

__version__ = "0.3.0.dev0"

# A folder is loaded when one of its names is first used; the names are in `__init__.pyi`.
__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
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
