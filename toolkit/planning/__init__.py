"""Before anybody is asked: how many people, how private, how precise, with which device, and what an observer
would learn.
"""

from toolkit.planning.conditions import Field
from toolkit.planning.disclosure import Learned, bet, guess_rate, learned, people_at_equal_epsilon, roc_limit
from toolkit.planning.nearest_device import Snapped, snap
from toolkit.planning.planner import plan
from toolkit.planning.solution import Plan
from toolkit.planning.split import Split, budget_for

__all__ = [
    "Field",
    "Learned",
    "Plan",
    "Snapped",
    "Split",
    "bet",
    "budget_for",
    "guess_rate",
    "learned",
    "people_at_equal_epsilon",
    "plan",
    "roc_limit",
    "snap",
]
