"""What an explorer asks before it shows the truth, and the code of what it shows, to copy."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolkit.show.widgets.kit.words import figure

VERDICT = "You guessed {guess} {unit}; at this setting it is {truth}."
QUESTION = "\n".join(
    [
        "from toolkit import Question, warner",
        'Question("name", "Have you ever …?", design=warner(epsilon={epsilon}))',
    ]
)
"""Warner's design as a question, for explorers whose epsilon is that of one answer."""


@dataclass(frozen=True)
class Asked:
    """What is to be predicted of the setting that the sliders have, and in which unit."""

    question: str
    unit: str


def plain(value: float) -> str:
    """A number as somebody typed it: thousands apart, at most three decimals, no idle zeros.

    >>> plain(4.0), plain(0.25), plain(14000.0), plain(0.0)
    ('4', '0.25', '14,000', '0')
    """
    text = figure(value, 3)
    return text.rstrip("0").rstrip(".")


def verdict(asked: Asked, guess: float, truth: str) -> str:
    """What was guessed, and what it is.

    >>> verdict(Asked("How wide is the margin?", "points"), 3.0, "5.9")
    'You guessed 3 points; at this setting it is 5.9.'
    """
    return VERDICT.format(guess=plain(guess), unit=asked.unit, truth=truth)


def call(maker: str, names: Sequence[str]) -> str:
    """Code that makes a widget anew, with a gap for each setting.

    >>> print(call("explore_design", ["epsilon", "n"]))
    from toolkit import show
    show.explore_design(epsilon={epsilon}, n={n})
    """
    settings = ", ".join(f"{name}={{{name}}}" for name in names)
    return f"from toolkit import show\nshow.{maker}({settings})"


def filled(code: str, settings: Mapping[str, Any]) -> str:
    """Code with its gaps filled by numbers and names; the browser does the same.

    >>> filled("show.explore_mechanism(law={law}, epsilon={epsilon})", {"law": "laplace", "epsilon": 0.5})
    'show.explore_mechanism(law="laplace", epsilon=0.5)'
    """
    return code.format(**{name: json.dumps(value) for name, value in settings.items()})
