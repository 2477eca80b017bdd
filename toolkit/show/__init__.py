"""Pictures and widgets: the only part of the toolkit that imports matplotlib, ipywidgets and anywidget.

Figures of designs and estimates are here; those of plans are in `tradeoffs`, those of attacks in `breaches`.
"""

from toolkit.show import breaches, tradeoffs
from toolkit.show.plots import design_matrix, estimate_intervals, posterior, repeated_estimates
from toolkit.show.widgets import DesignExplorer, explore_design

__all__ = [
    "DesignExplorer",
    "breaches",
    "design_matrix",
    "estimate_intervals",
    "explore_design",
    "posterior",
    "repeated_estimates",
    "tradeoffs",
]
