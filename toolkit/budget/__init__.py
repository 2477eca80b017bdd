"""A budget that a ledger enforces: what may be spent in all, and what was spent on what."""

from toolkit.budget.charges import BudgetError, Entry, RecordError
from toolkit.budget.ledger import Ledger
from toolkit.budget.report import Report

__all__ = ["BudgetError", "Entry", "Ledger", "RecordError", "Report"]
