"""The explorers, the game, the views and the answer card: each answers one question, drawn in the browser,
computed in Python.
"""

from toolkit.show.widgets.answer_card import AnswerCard, answer_card
from toolkit.show.widgets.budget_explorer import BudgetExplorer, explore_budget
from toolkit.show.widgets.collector_view import CollectorView, watch
from toolkit.show.widgets.composition_explorer import CompositionExplorer, explore_composition
from toolkit.show.widgets.design_explorer import DesignExplorer, explore_design
from toolkit.show.widgets.learning_explorer import LearningExplorer, explore_learning
from toolkit.show.widgets.ledger_view import LedgerView, show_ledger
from toolkit.show.widgets.mechanism_explorer import MechanismExplorer, explore_mechanism
from toolkit.show.widgets.outlier_explorer import OutlierExplorer, explore_outlier
from toolkit.show.widgets.reconstruction_game import ReconstructionGame, reconstruction_game
from toolkit.show.widgets.tradeoff_explorer import TradeoffExplorer, explore_tradeoff
from toolkit.show.widgets.weeks_explorer import WeeksExplorer, explore_weeks

__all__ = [
    "AnswerCard",
    "BudgetExplorer",
    "CollectorView",
    "CompositionExplorer",
    "DesignExplorer",
    "LearningExplorer",
    "LedgerView",
    "MechanismExplorer",
    "OutlierExplorer",
    "ReconstructionGame",
    "TradeoffExplorer",
    "WeeksExplorer",
    "answer_card",
    "explore_budget",
    "explore_composition",
    "explore_design",
    "explore_learning",
    "explore_mechanism",
    "explore_outlier",
    "explore_tradeoff",
    "explore_weeks",
    "reconstruction_game",
    "show_ledger",
    "watch",
]
