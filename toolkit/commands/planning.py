"""The command that plans a survey: its size, its privacy, and its precision."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from toolkit.commands import Options, Subparsers, add_command, add_json_option, echo, echo_json
from toolkit.core.checks import reject


def add(commands: Subparsers) -> None:
    about = "compute the sample size, the privacy or the precision of a survey from the other two"
    _plan_options(add_command(commands, "plan", _plan, about, with_database=False, examples=_EXAMPLES))


_EXAMPLES = """\
Give two of --n, --epsilon and --margin; the third is computed. With --detect, give two of --n, --epsilon
and --power.

How many people must answer to estimate a share near 20 % to within 3 points?
  toolkit plan warner --prevalence 0.2 --epsilon 1 --margin 0.03

How private can the design be with 2,000 people?
  toolkit plan warner --prevalence 0.2 --n 2000 --margin 0.05

How precise is the mean of a number from 0 to 80?
  toolkit plan one_bit bounds=0,80 --prevalence 30 --n 2000 --epsilon 1

How many people does a test need to detect a share of 10 %, with a die (1: no, 6: yes, otherwise the truth)?
  toolkit plan forced yes=1/6 no=1/6 --prevalence 0 --detect 0.1 --power 0.8
"""
# A deck and a matrix cannot be typed in a shell, and square_wave has no formula for its error.
_UNSUPPORTED_DESIGNS = ("additive", "multiplicative", "matrix", "square_wave")
_QUANTITY_OPTIONS = {
    "prevalence": "your guess of the true share, such as 0.2; for several options a share each, such as "
    "0.5,0.3,0.2; for numbers their mean",
    "epsilon": "the privacy loss of one person: each report is at most e^epsilon times as likely for one true answer "
    "as for another",
    "margin": "half the width of the confidence interval: 0.03 is 3 percentage points; for a mean, in the "
    "unit of the mean",
    "level": "the confidence level of the interval; a test has size 1 - level (default: 0.95)",
    "detect": "the alternative that a test must distinguish from the prevalence, in the same format",
    "power": "the power of this test, such as 0.8",
    "sd": "for a mean, your guess of the standard deviation of the true answers (default: the largest possible)",
    "subgroup": "the share of the smallest subgroup that needs this precision, such as 0.25 (default: 1, everybody)",
    "response": "the share of invited people who answer, such as 0.4; more people are then invited (default: 1)",
}
_COUNT_OPTIONS = {
    "n": "the number of people who answer",
    "population": "the size of the population, for the finite population correction (default: infinite)",
    "questions": "the number of such questions that each person answers, which share epsilon (default: 1)",
}


def _plan_options(parser: argparse.ArgumentParser) -> None:
    from toolkit.local.catalogue import makers, parameter_requirements

    free = [
        name
        for name, maker in makers().items()
        if name not in _UNSUPPORTED_DESIGNS and "epsilon" in parameter_requirements(maker)
    ]
    about = f"a design with an epsilon: {', '.join(free)}; or any other design with its arguments"
    parser.add_argument("design", help=about)
    example = "the arguments of the design, for example forced yes=1/6 no=1/6, k_ary options=4, one_bit bounds=0,80"
    parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help=example)
    for name, words in _QUANTITY_OPTIONS.items():
        parser.add_argument(f"--{name}", help=words, required=name == "prevalence", type=_values_from_text)
    for name, words in _COUNT_OPTIONS.items():
        parser.add_argument(f"--{name}", type=int, help=words)
    sides = "2 for a two-sided test (default), or 1 for a test only in the direction of --detect"
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
        reject("numbers must be below 1e308", "a larger number", "use a smaller one")
    if options.json:
        names = ("epsilon", "n", "invited", "margin", "level", "se", "prevalence", "detect", "power", "bias", "notes")
        echo_json({"design": solution.design.name} | {name: getattr(solution, name) for name in names})
        return
    echo(repr(solution), f"invite {solution.invited:,} people", *solution.notes)


def _design(name: str, arguments: Sequence[str]) -> Any:
    """Return a design from the catalogue, or the function that makes it if epsilon is unknown."""
    from toolkit.local.catalogue import check_arguments, makers, parameter_requirements

    families = {key: maker for key, maker in makers().items() if key not in _UNSUPPORTED_DESIGNS}
    if name not in families:
        reject(f"`design` must be one of {', '.join(families)}", repr(name)[:40], "try warner")
    pairs = [argument.partition("=") for argument in arguments]
    for key, sign, _ in pairs:
        if not sign:
            reject(
                "the arguments of a design must be written as NAME=VALUE",
                repr(key)[:40],
                "for example forced yes=1/6 no=1/6",
            )
    filled = {key: _values_from_text(value, whole=True) for key, _, value in pairs}
    takes = parameter_requirements(families[name])
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
