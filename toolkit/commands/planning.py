"""The command that plans a survey: its size, its privacy, and its precision."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from toolkit.commands import Options, Subparsers, add_command, add_json_option, echo, echo_json
from toolkit.core.checks import reject


def add(commands: Subparsers) -> None:
    about = "how many people, how private or how precise: leave one out"
    _plan_options(add_command(commands, "plan", _plan, about, with_database=False, examples=_EXAMPLES))


_EXAMPLES = """\
Of --n, --epsilon and --margin give two: the third is what you learn. With --detect, of --n, --epsilon
and --power.

How many people, so that a share near 20 % is known to 3 points?
  toolkit plan warner --prevalence 0.2 --epsilon 1 --margin 0.03

How private can it be with 2,000 people?
  toolkit plan warner --prevalence 0.2 --n 2000 --margin 0.05

How precise is the mean of a number from 0 to 80?
  toolkit plan one_bit bounds=0,80 --prevalence 30 --n 2000 --epsilon 1

How many people, so that a test tells 10 % from nobody, with a die (1: no, 6: yes, else the truth)?
  toolkit plan forced yes=1/6 no=1/6 --prevalence 0 --detect 0.1 --power 0.8
"""
# A deck and a matrix cannot be typed in a shell, and square_wave has no formula for its error.
_UNSUPPORTED_DESIGNS = ("additive", "multiplicative", "matrix", "square_wave")
_QUANTITY_OPTIONS = {
    "prevalence": "your guess of the truth, needed: a share such as 0.2; one share an option, as "
    "0.5,0.3,0.2; of a number its mean",
    "epsilon": "what one person may lose by answering: what is received is at most e^epsilon times as likely after one "
    "answer as after another",
    "margin": "how precise: half the width of the interval; 0.03 is 3 percentage points, of a mean it is in "
    "the mean's own unit",
    "level": "how often the interval holds the truth; a test has the size 1 - level (default 0.95)",
    "detect": "another truth, which a test shall tell from the prevalence; written like it",
    "power": "the probability that the test tells it, such as 0.8",
    "sd": "of a mean: your guess of the standard deviation of the true answers (default: the largest possible)",
    "subgroup": "share of the smallest subgroup that needs this precision, such as 0.25 (default 1: all together)",
    "response": "share of the invited who answer, such as 0.4 (default 1); more people are then invited",
}
_COUNT_OPTIONS = {
    "n": "people whose reports arrive",
    "population": "how many people there are in all: asking a large part of them leaves fewer to guess "
    "about (default: no end)",
    "questions": "how many such questions the same people answer: they share epsilon (default 1)",
}


def _plan_options(parser: argparse.ArgumentParser) -> None:
    from toolkit.local.catalogue import makers, parameters

    free = [
        name for name, maker in makers().items() if name not in _UNSUPPORTED_DESIGNS and "epsilon" in parameters(maker)
    ]
    about = f"with --epsilon, or to solve for it: {', '.join(free)}; all others with arguments of their own"
    parser.add_argument("design", help=about)
    example = "what the design takes besides: forced yes=1/6 no=1/6, k_ary options=4, one_bit bounds=0,80"
    parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help=example)
    for name, words in _QUANTITY_OPTIONS.items():
        parser.add_argument(f"--{name}", help=words, required=name == "prevalence", type=_values_from_text)
    for name, words in _COUNT_OPTIONS.items():
        parser.add_argument(f"--{name}", type=int, help=words)
    sides = "of the test: 2 (default), or 1 if only a truth on the side of --detect would be looked for"
    parser.add_argument("--sides", type=int, choices=(1, 2), help=sides)
    add_json_option(parser)


def _plan(options: Options) -> None:
    from toolkit.planning.planner import plan

    names = (*_QUANTITY_OPTIONS, *_COUNT_OPTIONS, "sides")
    values = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    try:
        solution = plan(_design(options.design, options.arguments), **values)
    except TypeError as problem:  # on the command line, an argument of the wrong type is an invalid value
        raise ValueError(str(problem)) from problem
    except OverflowError:
        reject("numbers must be below 1e308", "a larger one", "nothing can be computed with it")
    if options.json:
        names = ("epsilon", "n", "invited", "margin", "level", "se", "prevalence", "detect", "power", "bias", "notes")
        echo_json({"design": solution.design.name} | {name: getattr(solution, name) for name in names})
        return
    echo(repr(solution), f"invite {solution.invited:,} people", *solution.notes)


def _design(name: str, arguments: Sequence[str]) -> Any:
    """Return a design from the catalogue, or the function that makes it if epsilon is unknown."""
    from toolkit.local.catalogue import check_arguments, makers, parameters

    families = {key: maker for key, maker in makers().items() if key not in _UNSUPPORTED_DESIGNS}
    if name not in families:
        reject(f"`design` must be one of {', '.join(families)}", repr(name)[:40], "try warner")
    pairs = [argument.partition("=") for argument in arguments]
    for key, sign, _ in pairs:
        if not sign:
            reject(
                "what a design takes must be written as NAME=VALUE", repr(key)[:40], "for example forced yes=1/6 no=1/6"
            )
    filled = {key: _values_from_text(value, whole=True) for key, _, value in pairs}
    takes = parameters(families[name])
    waits = "epsilon" in takes and "epsilon" not in filled and (takes["epsilon"] or not filled)
    arguments_text = " ".join(f"{key}=…" for key in takes if key != "epsilon")
    check_arguments(
        families[name],
        [*filled, "epsilon"] if waits else filled,
        display_name=name,
        example=f"write toolkit plan {name} {arguments_text}",
    )
    return partial(families[name], **filled) if waits else families[name](**filled)


def _values_from_text(text: str, *, whole: bool = False) -> Any:
    """Return a text, or a list if the text has commas; with `whole`, whole numbers are converted to integers."""
    if "," in text:
        return [_values_from_text(part.strip(), whole=whole) for part in text.split(",")]
    return int(text) if whole and text.isdecimal() else text
