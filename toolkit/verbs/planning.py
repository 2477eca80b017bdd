"""The verb that plans: how many people, how private or how precise."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from toolkit.core.checks import refuse
from toolkit.verbs.common import Options, Verbs, add_verb, say


def add(verbs: Verbs) -> None:
    _plan_options(add_verb(verbs, "plan", _plan, "how many people, how private or how precise: leave one out", database=False))


_UNPLANNED = ("additive", "multiplicative", "matrix", "square_wave")  # a deck and a matrix are not written in a shell; no formula
_PLAN = {
    "prevalence": "a guess of the truth: a share, shares as 0.5,0.3,0.2, or a mean",
    "epsilon": "what one person may lose",
    "margin": "half the width of the interval: 0.03 is 3 percentage points",
    "level": "of the interval; a test has the size 1 - level (default 0.95)",
    "detect": "another truth, to be told from the prevalence",
    "power": "the probability to tell it",
    "sd": "of a mean, the standard deviation of the answers",
    "subgroup": "share of the smallest subgroup that needs this precision",
    "response": "share of the invited who answer",
}


def _plan_options(parser: argparse.ArgumentParser) -> None:
    from toolkit.local.catalogue import makers, parameters

    free = [name for name, maker in makers().items() if name not in _UNPLANNED and "epsilon" in parameters(maker)]
    told = f"with --epsilon, or to solve for it: {', '.join(free)}; all others with arguments of their own"
    parser.add_argument("design", help=told)
    example = "what the design takes besides: forced yes=1/6 no=1/6, k_ary options=4, one_bit bounds=0,80"
    parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help=example)
    for name, words in _PLAN.items():
        parser.add_argument(f"--{name}", help=words, required=name == "prevalence", type=_listed)
    for name, words in (
        ("n", "people whose reports arrive"),
        ("population", "its size"),
        ("questions", "asked of the same people"),
    ):
        parser.add_argument(f"--{name}", type=int, help=words)
    parser.add_argument("--sides", type=int, choices=(1, 2), help="of the test (default 2)")


def _plan(options: Options) -> None:
    from toolkit.planning.planner import plan

    known = (*_PLAN, "n", "population", "questions", "sides")
    given = {name: getattr(options, name) for name in known if getattr(options, name) is not None}
    try:
        found = plan(_design(options.design, options.arguments), **given)
    except TypeError as problem:  # here everything was written in a shell: an argument of the wrong kind is a wrong argument
        raise ValueError(str(problem)) from problem
    except OverflowError:
        refuse("numbers must be below 1e308", "a larger one", "nothing can be computed with it")
    say(repr(found), f"invite {found.invited:,} people", *found.notes)


def _design(name: str, arguments: Sequence[str]) -> Any:
    """A design of the catalogue that survey files use, or the family of those that wait for their epsilon."""
    from toolkit.local.catalogue import check_arguments, makers, parameters

    known = {key: maker for key, maker in makers().items() if key not in _UNPLANNED}
    if name not in known:
        refuse(f"`design` must be one of {', '.join(known)}", repr(name)[:40], "try warner")
    pairs = [argument.partition("=") for argument in arguments]
    for key, sign, _ in pairs:
        if not sign:
            refuse("what a design takes must be written as NAME=VALUE", repr(key)[:40], "for example forced yes=1/6 no=1/6")
    filled = {key: _listed(value, whole=True) for key, _, value in pairs}
    takes = parameters(known[name])
    waits = "epsilon" in takes and "epsilon" not in filled and (takes["epsilon"] or not filled)
    own = " ".join(f"{key}=…" for key in takes if key != "epsilon")
    check_arguments(known[name], [*filled, "epsilon"] if waits else filled, said=name, example=f"write toolkit plan {name} {own}")
    return partial(known[name], **filled) if waits else known[name](**filled)


def _listed(text: str, *, whole: bool = False) -> Any:
    """Text as it was written, or a list where there are commas; whole numbers as such, where things are counted."""
    if "," in text:
        return [_listed(part.strip(), whole=whole) for part in text.split(",")]
    return int(text) if whole and text.isdecimal() else text
