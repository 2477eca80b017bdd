"""Pictures and widgets: the only part of the toolkit that imports matplotlib, ipywidgets and anywidget."""

from toolkit.show.plots import design_matrix, estimate_intervals, posterior, repeated_estimates
from toolkit.show.widgets import DesignExplorer, explore_design

__all__ = ["DesignExplorer", "design_matrix", "estimate_intervals", "explore_design", "posterior", "repeated_estimates"]
