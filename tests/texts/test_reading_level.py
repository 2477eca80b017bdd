"""How hard the English texts are to read: the school grade by Flesch and Kincaid, each text by itself.

Kincaid et al. (1975), Derivation of new readability formulas for Navy enlisted personnel: 0.39 words a
sentence + 11.8 syllables a word - 15.59. A colon and a semicolon end a sentence, too. Syllables are counted
as groups of vowels; a silent e is none.
"""

import re
import tomllib
from pathlib import Path
from string import Formatter

import pytest

import toolkit

FILE = Path(toolkit.__file__).parent / "texts/languages/en.toml"
FILLED = {
    "guess": "75 times in 100",
    "limit": "96 times in 100",
    "factor": "3",
    "often": "3 times in 4",
    "rarely": "1 time in 4",
    "received": "we receive “Yes” 3 times in 4",
    "otherwise": "we still receive “Yes” 1 time in 4",
    "reports": "“Yes” 3 times in 4 and “No” 1 time in 4",
    "questions": "“Have you cheated?”",
    "question": "“Do you work?”",
    "window": "The number that we receive is drawn by chance.",
    "bit": "Chance turns your number into a single yes or no.",
}
FOR_THE_LINTER = ("refusing", "found_out", "claims")
HARDEST = 8


def syllables(word: str) -> int:
    letters = re.sub(r"[^a-z]", "", word.lower())
    spoken = re.sub(r"(?<![^aeiouy]l)(?<=[^aeiouy])e(?=$|ly$|less|ful|where)", "", letters)
    spoken = re.sub(r"(?<=[^aeioucgszxh])es$|(?<=[^aeioutd])ed$", "", spoken)
    return max(1, len(re.findall(r"[aeiouy]+", spoken)))


def grade(text: str) -> float:
    words = re.findall(r"[\w’-]+", text)
    sentences = [one for one in re.split(r"[.:;?!]+(?:[\s”)]|$)", text) if re.search(r"\w", one)]
    return 0.39 * len(words) / len(sentences) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def english() -> dict[str, str]:
    """Every text of eight words and more that respondents or interviewers read, filled in; officers read the rest."""
    found = {}
    for table, texts in tomllib.loads(FILE.read_text(encoding="utf-8")).items():
        for name, text in texts.items():
            gaps = {gap: FILLED.get(gap, "4") for _, gap, _, _ in Formatter().parse(text) if gap}
            if table != "assessment" and name not in FOR_THE_LINTER and len(text.split()) >= 8:
                found[f"{table}: {name}"] = text.format(**gaps)
    return found


@pytest.mark.parametrize(
    ("word", "count"),
    [("answer", 2), ("receive", 2), ("likely", 2), ("protected", 3), ("names", 1), ("used", 1), ("people", 2)],
)
def test_syllables_are_counted_as_they_are_spoken(word: str, count: int) -> None:
    assert syllables(word) == count


def test_no_english_text_asks_for_more_than_eight_years_of_school() -> None:
    hard = {name: round(grade(text), 1) for name, text in english().items() if grade(text) >= HARDEST}
    assert set(hard) <= {"promise: ratio", "promise: ratio_weak"}, hard  # for codebooks: no person is told these
    assert len(english()) > 90


def test_a_sentence_for_lawyers_would_be_noticed() -> None:
    assert grade("Notwithstanding anonymization, identification of participants cannot be excluded.") > 20
