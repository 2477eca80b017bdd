"""Pictures and widgets: the only part of the toolkit that imports matplotlib, ipywidgets and anywidget.

Figures of designs and estimates are here; those of plans are in `tradeoffs` and `designing`, those of attacks in `breaches` and
`auditing`, those of the definition in `promises`.
"""

from toolkit.show import auditing, breaches, designing, promises, tradeoffs
from toolkit.show.answer_card import AnswerCard, answer_card
from toolkit.show.budget_explorer import BudgetExplorer, explore_budget
from toolkit.show.collector_view import CollectorView, watch
from toolkit.show.composition_explorer import CompositionExplorer, explore_composition
from toolkit.show.design_explorer import DesignExplorer, explore_design
from toolkit.show.ledger_view import LedgerView, show_ledger
from toolkit.show.mechanism_explorer import MechanismExplorer, explore_mechanism
from toolkit.show.plots import design_matrix, estimate_intervals, posterior, repeated_estimates
from toolkit.show.reconstruction_game import ReconstructionGame, reconstruction_game
from toolkit.show.tradeoff_explorer import TradeoffExplorer, explore_tradeoff

__all__ = [
    "AnswerCard",
    "BudgetExplorer",
    "CollectorView",
    "CompositionExplorer",
    "DesignExplorer",
    "LedgerView",
    "MechanismExplorer",
    "ReconstructionGame",
    "TradeoffExplorer",
    "answer_card",
    "auditing",
    "breaches",
    "design_matrix",
    "designing",
    "estimate_intervals",
    "explore_budget",
    "explore_composition",
    "explore_design",
    "explore_mechanism",
    "explore_tradeoff",
    "posterior",
    "promises",
    "reconstruction_game",
    "repeated_estimates",
    "show_ledger",
    "tradeoffs",
    "watch",
]
