"""Two groups asked with different odds: an innocuous question of unknown prevalence, people who do not
follow the instructions, and lists with and without the sensitive item.
"""

from toolkit.analysis.twogroup.lists import double_list, item_sum, list_experiment, list_with_direct
from toolkit.analysis.twogroup.models import cheater_detection, extended_crosswise, lie_detector, unknown_question

__all__ = [
    "cheater_detection",
    "double_list",
    "extended_crosswise",
    "item_sum",
    "lie_detector",
    "list_experiment",
    "list_with_direct",
    "unknown_question",
]
