"""Widgets for notebooks: an answer card, and live views of a collection and of a ledger."""

from toolkit.show.widgets.answer_card import AnswerCard, answer_card
from toolkit.show.widgets.collector_view import watch
from toolkit.show.widgets.ledger_view import show_ledger

__all__ = ["AnswerCard", "answer_card", "show_ledger", "watch"]
