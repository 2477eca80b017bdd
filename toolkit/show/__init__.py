"""Pictures and widgets: the only part of the toolkit that imports matplotlib, ipywidgets and anywidget.

Widgets are in `widgets`. Figures of designs and estimates are in `plots`, those of plans in `tradeoffs` and `designing`, those of
attacks in `breaches` and `auditing`, those of the definition in `promises`.
"""

from toolkit.show import auditing, breaches, designing, promises, tradeoffs
from toolkit.show.plots import design_matrix, estimate_intervals, posterior, repeated_estimates
from toolkit.show.widgets import (
    AnswerCard,
    BudgetExplorer,
    CollectorView,
    CompositionExplorer,
    DesignExplorer,
    LedgerView,
    MechanismExplorer,
    ReconstructionGame,
    TradeoffExplorer,
    answer_card,
    explore_budget,
    explore_composition,
    explore_design,
    explore_mechanism,
    explore_tradeoff,
    reconstruction_game,
    show_ledger,
    watch,
)

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
