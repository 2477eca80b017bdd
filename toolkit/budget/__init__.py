"""A budget that a ledger enforces: what may be spent in all, and what was spent on what."""

from toolkit.budget.charges import BudgetError, RecordError
from toolkit.budget.ledger import Ledger

__all__ = ["BudgetError", "Ledger", "RecordError"]
