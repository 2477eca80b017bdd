"""Local privacy: designs by which each person randomizes an answer, and estimates from the reports."""

from toolkit.local import numeric, oracles, waves
from toolkit.local.anchor import attention, corrected
from toolkit.local.birthdays import born
from toolkit.local.compliance import Compliance
from toolkit.local.design import Design
from toolkit.local.matrix.devices import Device
from toolkit.local.protocol import Randomizer
from toolkit.local.questionnaire import Likert, Questionnaire, likert, questionnaire
from toolkit.local.questionnaire import compare as compare_questionnaires
from toolkit.local.questions import crosswise, forced, forced_options, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.local.shuffling import Shuffled, shuffled

__all__ = [
    "Compliance",
    "Design",
    "Device",
    "Likert",
    "Questionnaire",
    "Randomizer",
    "Shuffled",
    "attention",
    "born",
    "compare_questionnaires",
    "corrected",
    "crosswise",
    "forced",
    "forced_options",
    "k_ary",
    "kuk",
    "likert",
    "mangat",
    "numeric",
    "oracles",
    "questionnaire",
    "shuffled",
    "triangular",
    "unrelated",
    "warner",
    "waves",
]
