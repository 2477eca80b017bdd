"""Pictures and widgets: the only part of the toolkit that imports matplotlib, ipywidgets and anywidget.

Widgets are in `widgets`. Figures of designs and estimates are in `plots`, that of a survey's results in
`findings`, those of plans in `tradeoffs` and `designing`, those of attacks in `breaches` and `auditing`,
those of fitted models in `fits`, those of the definition in `promises`, those of sensitivity and influence in
`robust`, those of totals that are published every week in `stream`, that of a released table in `tables`,
those of private learners in `learning`.
"""

from toolkit.core.extras import check_extras

check_extras("matplotlib", "anywidget", "pandas")  # a sentence, before any of them is imported

from toolkit.show import auditing, breaches, designing, fits, promises, robust, stream, tradeoffs, widgets
from toolkit.show import bars as tables
from toolkit.show import robust as learning
from toolkit.show.plots import design_matrix, estimate_intervals, posterior, repeated_estimates
from toolkit.show.widgets import *  # noqa: F403 — all of them, and they are listed there

__all__ = [
    "auditing",
    "breaches",
    "design_matrix",
    "designing",
    "estimate_intervals",
    "fits",
    "learning",
    "posterior",
    "promises",
    "repeated_estimates",
    "robust",
    "stream",
    "tables",
    "tradeoffs",
    "widgets",
]
__all__ += widgets.__all__
