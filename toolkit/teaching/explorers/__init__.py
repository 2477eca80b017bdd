"""Widgets of the course; each answers one question while the user moves sliders."""

from toolkit.core.extras import check_extras

check_extras("matplotlib", "anywidget", "pandas")  # raises a clear error before any of them is imported

from toolkit.teaching.explorers.budget_explorer import budget
from toolkit.teaching.explorers.composition_explorer import composition
from toolkit.teaching.explorers.design_explorer import design
from toolkit.teaching.explorers.learning_explorer import learning
from toolkit.teaching.explorers.mechanism_explorer import mechanism
from toolkit.teaching.explorers.outlier_explorer import outlier
from toolkit.teaching.explorers.reconstruction_game import reconstruction
from toolkit.teaching.explorers.tradeoff_explorer import tradeoff
from toolkit.teaching.explorers.weeks_explorer import weeks

__all__ = ["budget", "composition", "design", "learning", "mechanism", "outlier", "reconstruction", "tradeoff", "weeks"]
