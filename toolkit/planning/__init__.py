"""Survey planning: the number of people, privacy, precision, and what an observer learns from a report."""

from toolkit.planning.disclosure import Posterior, bet, guess_rate, learned, roc_limit
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
from toolkit.planning.survey_size import PeopleNeeded, plan_survey

__all__ = [
    "DifferencePlan",
    "ListPlan",
    "PeopleNeeded",
    "Plan",
    "Posterior",
    "SimulatedPlan",
    "SlopePlan",
    "Split",
    "TwoGroupPlan",
    "bet",
    "budget_for",
    "guess_rate",
    "learned",
    "plan",
    "plan_by_simulation",
    "plan_difference",
    "plan_item_sum",
    "plan_list_experiment",
    "plan_slope",
    "plan_survey",
    "plan_two_groups",
    "roc_limit",
]
