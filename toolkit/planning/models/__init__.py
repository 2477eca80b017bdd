"""People for what an analysis will compare: two groups, a slope, two groups with different odds."""

from toolkit.planning.models.differences import DifferencePlan, plan_difference
from toolkit.planning.models.slopes import SlopePlan, plan_slope
from toolkit.planning.models.two_groups import TwoGroupPlan, plan_two_groups

__all__ = [
    "DifferencePlan",
    "SlopePlan",
    "TwoGroupPlan",
    "plan_difference",
    "plan_slope",
    "plan_two_groups",
]
