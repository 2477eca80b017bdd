"""What a randomizer does and what its reports prove, in plain words: one source for all texts that say so."""

from toolkit.local.wording.odds import USUAL, describe, epsilon_bound, sentences
from toolkit.local.wording.phrases import LANGUAGES, odds_phrases
from toolkit.local.wording.voice import Voice, frequency, quotable, times_in

__all__ = [
    "LANGUAGES",
    "USUAL",
    "Voice",
    "describe",
    "epsilon_bound",
    "frequency",
    "odds_phrases",
    "quotable",
    "sentences",
    "times_in",
]
