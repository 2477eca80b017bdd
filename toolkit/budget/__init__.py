"""A budget that a ledger enforces, and a curator who spends it on statistics of a frame."""

from toolkit.budget.chain import RecordError
from toolkit.budget.charges import BudgetError
from toolkit.budget.curator import Curator
from toolkit.budget.frames.asked import MISSING, OTHER, bands, between
from toolkit.budget.ledger import Ledger

__all__ = [
    "MISSING",
    "OTHER",
    "BudgetError",
    "Curator",
    "Ledger",
    "RecordError",
    "bands",
    "between",
]
