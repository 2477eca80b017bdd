"""Privacy budgets enforced by a ledger, which records every charge and never exceeds its ceiling."""

from toolkit.budget.charges import BudgetError, Entry, RecordError
from toolkit.budget.ledger import Ledger
from toolkit.budget.report import Report

__all__ = ["BudgetError", "Entry", "Ledger", "RecordError", "Report"]
