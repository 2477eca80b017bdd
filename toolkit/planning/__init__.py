"""Before anybody is asked: how many people, how private, how precise, with which device, and what an observer
would learn.
"""

from toolkit.planning.disclosure import Learned, bet, guess_rate, learned, people_at_equal_epsilon, roc_limit
from toolkit.planning.families import Snapped, snap
from toolkit.planning.fieldwork import Field
from toolkit.planning.four_ways import Way
from toolkit.planning.models import (
    DifferencePlan,
    ListPlan,
    SlopePlan,
    TwoGroupPlan,
    plan_difference,
    plan_item_sum,
    plan_list_experiment,
    plan_slope,
    plan_two_groups,
)
from toolkit.planning.planner import Plan, plan
from toolkit.planning.simulation import SimulatedPlan, plan_by_simulation
from toolkit.planning.split import Split, budget_for
from toolkit.planning.survey_size import Needed, PeopleNeeded, plan_survey

__all__ = [
    "DifferencePlan",
    "Field",
    "Learned",
    "ListPlan",
    "Needed",
    "PeopleNeeded",
    "Plan",
    "SimulatedPlan",
    "SlopePlan",
    "Snapped",
    "Split",
    "TwoGroupPlan",
    "Way",
    "bet",
    "budget_for",
    "guess_rate",
    "learned",
    "people_at_equal_epsilon",
    "plan",
    "plan_by_simulation",
    "plan_difference",
    "plan_item_sum",
    "plan_list_experiment",
    "plan_slope",
    "plan_survey",
    "plan_two_groups",
    "roc_limit",
    "snap",
]
