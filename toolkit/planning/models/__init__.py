"""Sample sizes for differences between groups, slopes, models of two groups, and lists."""

from toolkit.planning.models.differences import DifferencePlan, plan_difference
from toolkit.planning.models.lists import ListPlan, plan_item_sum, plan_list_experiment
from toolkit.planning.models.slopes import SlopePlan, plan_slope
from toolkit.planning.models.two_groups import TwoGroupPlan, plan_two_groups

__all__ = [
    "DifferencePlan",
    "ListPlan",
    "SlopePlan",
    "TwoGroupPlan",
    "plan_difference",
    "plan_item_sum",
    "plan_list_experiment",
    "plan_slope",
    "plan_two_groups",
]
