"""Every text that people get, for a catalogue of surveys, read back: no claim that is not so, no factor below
the truth, every number readable, no gap left open and no mark twice.
"""

import re

EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 3.01, 5.0, 9.2, 9.3, 13.0)
FORBIDDEN = {
    "en": r"can know|cannot know|nobody can learn|anonymous survey|completely|100 % (safe|private)|no risk|"
    r"Yes” always",
    "de": r"wissen, was Ihre|wirkliche Antwort|kann .* wissen\.|malgenommen|anonymer Schein|Bericht",
    "fr": r"par hasard|au hasard avant|fois plus probable|vous seul|les chercheurs|rapport\b| [;:?!»]|« ",
    "es": r"puede saber|casi siempre|veces más probable|usted mismo|los investigadores|informe",
    "ar": r"بالصدفة|الصدفة|رقمك|أضعاف|تقرير|استطلاع",
}
"""What was said once, and was untrue or read wrongly: language by language."""
CLAIMS_SECRECY = ("head_all", "head_one", "head_some", "head_each")
MARKS = re.compile(
    r"[{}]|\.\.|,,|;;|\?\?|“{2}|”{2}|„{2}|«{2}|»{2}| {2}|\bNone\b|\bnan\b|\binf\b|Fraction|Decimal|"
    r"\de\+|\de-|\d\^\d"
)
"""Gaps, doubled marks, and numbers that nobody reads."""
