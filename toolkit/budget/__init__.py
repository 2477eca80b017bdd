"""A budget that a ledger enforces, and a curator who spends it on statistics of a frame."""

from toolkit.budget.chain import RecordError
from toolkit.budget.charges import BudgetError
from toolkit.budget.curator import Curator
from toolkit.budget.frames.conditions import MISSING, between
from toolkit.budget.ledger import Ledger

__all__ = [
    "MISSING",
    "BudgetError",
    "Curator",
    "Ledger",
    "RecordError",
    "between",
]
