"""Before anybody is asked: how many people, how private, how precise, with which device, and what an observer
would learn.
"""

from toolkit.planning.conditions import Field
from toolkit.planning.disclosure import Learned, bet, guess_rate, learned, people_at_equal_epsilon, roc_limit
from toolkit.planning.groups import DifferencePlan, plan_difference
from toolkit.planning.nearest_device import Snapped, snap
from toolkit.planning.planner import plan
from toolkit.planning.slopes import SlopePlan, plan_slope
from toolkit.planning.solution import Plan
from toolkit.planning.split import Split, budget_for

__all__ = [
    "DifferencePlan",
    "Field",
    "Learned",
    "Plan",
    "SlopePlan",
    "Snapped",
    "Split",
    "bet",
    "budget_for",
    "guess_rate",
    "learned",
    "people_at_equal_epsilon",
    "plan",
    "plan_difference",
    "plan_slope",
    "roc_limit",
    "snap",
]
