"""The catalogue of all randomizers by name, for survey files, the command line and saved data."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolkit.core.checks import reject
from toolkit.local import numeric, oracles, questions
from toolkit.local.design import Design
from toolkit.local.numeric.bounded import Hybrid, OneBit, Piecewise
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.local.numeric.scrambling import Scrambled
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.local.oracles.hashing import LocalHash
from toolkit.local.oracles.random_box import RandomBox
from toolkit.local.oracles.subset import Subset
from toolkit.local.oracles.ticks import CappedBoxes
from toolkit.local.oracles.unary import Unary
from toolkit.local.protocol import Randomizer

Maker: TypeAlias = Callable[..., Randomizer]


@dataclass(frozen=True)
class NamedMaker:
    """A named randomizer factory: a function, example arguments, and the classes other than `Design` that it makes.

    `title` and `description` are for people who choose a design in the studio, which offers only designs with a title.
    """

    maker: Maker
    example: Mapping[str, Any]
    classes: tuple[type[Any], ...] = ()
    title: str = ""
    description: str = ""


_EIGHT_OPTIONS: dict[str, Any] = {"options": 8, "epsilon": 1.0}
_HOURS_ARGUMENTS: dict[str, Any] = {"bounds": [0, 80], "epsilon": 1.0}

CATALOGUE: dict[str, NamedMaker] = {
    "warner": NamedMaker(
        questions.warner,
        {"p": "2/3"},
        title="The phone, by chance",
        description="With some probability the phone reverses the answer.",
    ),
    "forced": NamedMaker(
        questions.forced,
        {"yes": "1/6", "no": "1/6"},
        title="A die",
        description="Some numbers of a die force a yes or a no; otherwise people tell the truth.",
    ),
    "unrelated": NamedMaker(questions.unrelated, {"p": "7/10", "prevalence": "1/4"}),
    "mangat": NamedMaker(questions.mangat, {"p": "2/3"}),
    "kuk": NamedMaker(questions.kuk, {"p_yes": "4/5", "p_no": "1/5"}),
    "crosswise": NamedMaker(
        questions.crosswise,
        {"p": "1/4"},
        title="A birthday",
        description="People compare two answers: theirs, and whether somebody's birthday is in some months. "
        "No device is needed.",
    ),
    "triangular": NamedMaker(questions.triangular, {"p": "1/4"}),
    "k_ary": NamedMaker(
        questions.k_ary,
        {"options": ["never", "once", "often"], "epsilon": 1.0},
        title="The phone, by chance",
        description="The true answer is likelier to be sent than any other.",
    ),
    "forced_options": NamedMaker(questions.forced_options, {"options": 3, "probabilities": ["1/6", "1/6", "1/6"]}),
    "best": NamedMaker(oracles.best, _EIGHT_OPTIONS),
    "subset": NamedMaker(oracles.subset, _EIGHT_OPTIONS, (Subset,)),
    "unary": NamedMaker(oracles.unary, _EIGHT_OPTIONS, (Unary,)),
    "optimized_unary": NamedMaker(oracles.optimized_unary, _EIGHT_OPTIONS, (Unary,)),
    "local_hash": NamedMaker(oracles.local_hash, _EIGHT_OPTIONS, (LocalHash,)),
    "tick_boxes": NamedMaker(
        oracles.tick_boxes,
        _EIGHT_OPTIONS,
        (RandomBox, CappedBoxes),
        title="The phone, by chance",
        description="All boxes together are hidden.",
    ),
    "one_bit": NamedMaker(
        numeric.one_bit,
        _HOURS_ARGUMENTS,
        (OneBit,),
        title="One bit",
        description="Only a yes or no leaves the phone; the mean is estimated.",
    ),
    "piecewise": NamedMaker(
        numeric.piecewise,
        _HOURS_ARGUMENTS,
        (Piecewise,),
        title="A window around the number",
        description="A number near the true one is likelier; the mean is estimated.",
    ),
    "hybrid": NamedMaker(
        numeric.hybrid,
        _HOURS_ARGUMENTS,
        (Hybrid,),
        title="Window or bit, by chance",
        description="Precise for large epsilon; the mean is estimated.",
    ),
    "local_laplace": NamedMaker(
        numeric.local_laplace,
        _HOURS_ARGUMENTS,
        (LocalLaplace,),
        title="Noise is added",
        description="A random number is added; the mean is estimated.",
    ),
    "additive": NamedMaker(
        numeric.additive, {"bounds": [0, 20], "noise": {"-3": "1/4", "0": "1/2", "3": "1/4"}}, (Scrambled,)
    ),
    "multiplicative": NamedMaker(
        numeric.multiplicative, {"bounds": [1, 30], "noise": {"1/2": "1/2", "3/2": "1/2"}}, (Scrambled,)
    ),
    "square_wave": NamedMaker(
        numeric.square_wave,
        _HOURS_ARGUMENTS,
        (SquareWave,),
        title="The whole distribution",
        description="The distribution of the numbers is estimated, not only their mean.",
    ),
    "matrix": NamedMaker(Design.from_matrix, {"matrix": [["3/4", "1/4"], ["1/4", "3/4"]], "options": ["no", "yes"]}),
}
"""All randomizer factories by name; `matrix` is for custom designs. A new randomizer is registered only here."""


def makers() -> dict[str, Maker]:
    return {name: entry.maker for name, entry in CATALOGUE.items()}


def make_example(name: str) -> Randomizer:
    return CATALOGUE[name].maker(**CATALOGUE[name].example)


def parameter_requirements(maker: Maker) -> dict[str, bool]:
    """Map each parameter of a maker to whether it is required."""
    return {
        name: parameter.default is parameter.empty for name, parameter in inspect.signature(maker).parameters.items()
    }


def check_arguments(maker: Maker, given_names: Collection[str], *, display_name: str, example: str) -> None:
    """Check for unknown and missing arguments; messages call the maker `display_name` and show `example`."""
    accepted = parameter_requirements(maker)
    for name in given_names:
        if name not in accepted:
            reject(f"`{display_name}` takes {', '.join(accepted)}", repr(name)[:40], "check its spelling")
    for name, needed in accepted.items():
        if needed and name not in given_names:
            reject(
                f"`{display_name}` needs {name}",
                f"only {', '.join(given_names)}" if given_names else "nothing",
                example,
            )


def restore(data: dict[str, Any]) -> Randomizer:
    """Read the randomizer that `to_dict` wrote; data without a kind describes a design."""
    if not isinstance(data, dict):
        reject("a randomizer's data must be a dictionary", type(data).__name__, "write it with to_dict()", TypeError)
    if "kind" not in data:
        return Design.from_dict(data)
    classes = {cls.name: cls for entry in CATALOGUE.values() for cls in entry.classes}
    for name, cls in classes.items():
        if name == data["kind"]:
            randomizer: Randomizer = cls.from_dict(data)
            return randomizer
    reject(f"`kind` must be one of {', '.join(sorted(classes))}", repr(data["kind"])[:40], "other kinds do not exist")
