"""Figures and widgets for designs, estimates, plans, surveys and ledgers.

Figures of designs and estimates are in `plots`, figures of plans in `tradeoffs` and `designing`, of audits in
`auditing`, of fitted models in `fits`, of running totals in `stream`, and of released tables in `tables`. Figures of
the definition of privacy are in `promises`, and figures of sensitivity, influence and private learners in `robust`.
Figures that only the course needs are in `toolkit.teaching`.
"""

from toolkit.core.extras import check_extras

check_extras("matplotlib", "anywidget", "pandas")  # raises a clear error before any of them is imported

from toolkit.show import auditing, designing, fits, promises, robust, stream, tables, tradeoffs
from toolkit.show.plots import design_matrix, estimate_intervals, posterior, repeated_estimates
from toolkit.show.widgets import AnswerCard, answer_card, show_ledger, watch

__all__ = [
    "AnswerCard",
    "answer_card",
    "auditing",
    "design_matrix",
    "designing",
    "estimate_intervals",
    "fits",
    "posterior",
    "promises",
    "repeated_estimates",
    "robust",
    "show_ledger",
    "stream",
    "tables",
    "tradeoffs",
    "watch",
]
