"""Argument checks: the one place that words errors, also those of a call that no signature fits.

Every message states the rule, what was received, and the consequence. What was received is always a
*parameter* that the analyst wrote; a respondent's answer is never quoted, only counted.
"""

import functools
import math
import re
import threading
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NewType, NoReturn, SupportsFloat, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Number: TypeAlias = int | float | Fraction | str | SupportsFloat
if not TYPE_CHECKING:  # `help` shows the name
    Number = NewType("Number", object)

Result = TypeVar("Result")
DENOMINATOR_LIMIT = 2**32
"""Probabilities are multiples of 1/denominator, with the denominator at most this: one 32-bit word draws a report."""

LARGEST_POWER = 10_000
"""Of ten, in a number that is written as text: far more than a float can have."""

_POWER = re.compile(r"[eE]([+-]?[0-9_]+)\s*$")

NEIGHBORS = ("replace", "add_remove")
_ALSO = {"bounded": "replace", "substitute": "replace", "change": "replace", "swap": "replace"}
_ALSO |= {"unbounded": "add_remove", "add-remove": "add_remove", "add/remove": "add_remove"}
ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What ends a program. All else is a failure, also a panic of polars, which is no `Exception`."""
Called = TypeVar("Called", bound=Callable[..., Any])


def refuse(rule: str, received: object, consequence: str, error: Callable[[str], Exception] = ValueError) -> NoReturn:
    """Raise `error` with a message of the form rule, received, consequence; what holds more than two things may be
    data in a wrong place, and is not quoted.
    """
    many = hasattr(received, "__len__") and not isinstance(received, str) and len(received) > 2
    raise error(f"{rule}, got {type(received).__name__ if many else received}: {consequence}.")


def untold(
    read: Callable[[], Result],
    rule: str = "data must be readable",
    received: str = "a failure that is not told",
    consequence: str = "its words may quote a person",
    error: type[Exception] = RuntimeError,
) -> Result:
    """What is read, without a warning; of what fails nothing is told but the rule, and nothing is chained."""
    try:
        with _SILENCE, np.errstate(all="ignore"):
            return read()
    except ENDS:
        raise
    except BaseException:  # noqa: S110  (said below, where nothing is chained)
        pass
    refuse(rule, received, consequence, error)


class _Silence:
    """No warnings, in the whole process, as their filters are those of all threads: the first that enters puts them
    aside, the last that leaves puts them back. If each did, one would put back the silence of another.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._filters.__exit__(None, None, None)


_SILENCE = _Silence()


def floats(values: Any, name: str) -> npt.NDArray[np.float64]:
    """Values as floats; of what is no number nothing is quoted, as it may be a person's."""

    def read() -> npt.NDArray[np.float64]:
        array = np.asarray(values)
        return array.astype(np.float64, casting="same_kind" if array.dtype.kind == "c" else "unsafe", copy=False)

    return untold(read, f"`{name}` must be numbers", "what cannot be read as such", "it is not quoted", TypeError)


def read_shares(values: Any, name: str) -> npt.NDArray[np.float64]:
    """Return shares as floats; what leaves [0, 1] by no more than rounding becomes 0 or 1.

    A share that was computed as a sum may be 1 + 2e-16 on one processor and 1 on another.
    """
    given = floats(values, name)
    return np.where((given >= -1e-9) & (given <= 1 + 1e-9), np.clip(given, 0, 1), given)


def exact(value: Number, name: str) -> Fraction:
    """The exact number that was written: a fraction, an integer, "2/3", "0.1", or a float read by its decimal digits:
    0.1 as one tenth, rather than as the binary double just above it, is what makes 0.1 + 0.2 fit in 0.3.
    """
    if isinstance(value, bool | np.bool_):
        refuse(f"`{name}` must be a number", value, "a truth value is not a quantity", TypeError)
    if isinstance(value, str):
        if (power := _POWER.search(value)) and abs(float(power.group(1))) > LARGEST_POWER:
            rule = f"`{name}` must have a power of ten from -{LARGEST_POWER} to {LARGEST_POWER}"
            refuse(rule, repr(value)[:60], "its digits would fill the memory")
        try:
            return Fraction(value.strip())
        except (ValueError, ZeroDivisionError):
            consequence = "it cannot be read as one"
            refuse(f"`{name}` must be a number or a fraction such as '2/3'", repr(value)[:60], consequence)
    if isinstance(value, int | np.integer | Fraction):
        return Fraction(int(value)) if not isinstance(value, Fraction) else value
    if isinstance(value, float | np.floating):
        number = float(value)
        if not math.isfinite(number):
            refuse(f"`{name}` must be a finite number", number, "it has no exact value")
        return Fraction(repr(number))
    refuse(f"`{name}` must be a number", type(value).__name__, "it has no exact value", TypeError)


def probability(value: Number, name: str) -> Fraction:
    """A probability as an exact fraction.

    A float that is the nearest double to a simple fraction is read as that fraction (2/3, not 0.6666666666666666); any
    other float with many digits is rounded to a multiple of 2**-32.
    """
    number = exact(value, name)
    if not 0 <= number <= 1:
        percent = f": of {value} percent write {float(number / 100):g}" if 1 < number <= 100 else ""
        refuse(f"`{name}` must lie between 0 and 1", value, f"it is a probability{percent}")
    if isinstance(value, float | np.floating) and number.denominator > DENOMINATOR_LIMIT:
        simple = number.limit_denominator(10**6)
        if float(simple) == float(value):
            return simple
        return Fraction(round(number * DENOMINATOR_LIMIT), DENOMINATOR_LIMIT)
    return number


def positive(value: Number, name: str, consequence: str = "only a positive number has a meaning here") -> Fraction:
    """A finite number above zero, exact."""
    number = exact(value, name)
    if number <= 0:
        refuse(f"`{name}` must be above 0", value, consequence)
    return number


def limits(
    pair: Any, name: str = "bounds", consequence: str = "values are clamped to them; write bounds=(0, 100)"
) -> tuple[Fraction, Fraction]:
    """Two exact numbers, the lower first; a list of more may be data, and is not quoted."""
    received = repr(pair) if isinstance(pair, tuple | list) and len(pair) <= 2 else type(pair).__name__
    try:
        low, high = (exact(limit, name) for limit in (() if isinstance(pair, str) else pair))
    except (TypeError, ValueError):
        refuse(f"`{name}` must be two finite numbers", received, consequence)
    if low >= high:
        refuse(f"the lower of `{name}` must be below the upper", received, consequence)
    return low, high


def level(value: Number) -> float:
    if type(value) is float and 0 < value < 1:  # as nearly always: no fraction is needed to see that
        return value
    number = exact(value, "level")
    if not 0 < number < 1:
        refuse("`level` must lie strictly between 0 and 1", value, "0.95 asks for a 95 % interval")
    return float(number)


def whole(value: object, name: str, *, least: int = 1, most: int | None = None) -> int:
    """A whole number from `least` to `most`, where that limits a size; no truth value, no fraction."""
    number = int(value) if isinstance(value, int | np.integer | float | np.floating) and value == value // 1 else None
    if number is None or isinstance(value, bool | np.bool_):
        refuse(f"`{name}` must be a whole number", _shown(value), "it counts things", TypeError)
    if number < least:
        refuse(f"`{name}` must be at least {least}", number, "fewer make no sense here")
    if most is not None and number > most:
        received = number if number < 10**20 else "a number of more than 20 digits"
        refuse(f"`{name}` must be at most {most:,}", received, "more would be of no use, and fill the memory")
    return number


def choice(value: object, name: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        near = next((one for one in allowed if one == str(value).strip().lower()), None)
        consequence = "nothing else is defined" if near is None else f"write {near!r}"
        refuse(f"`{name}` must be one of {', '.join(allowed)}", repr(value), consequence)
    return str(value)


def neighbors(value: object) -> str:
    """Whom a promise is about: "replace" (one record changes, n is public) or "add_remove" (one comes or goes)."""
    if isinstance(value, str) and value in _ALSO:
        refuse(f"`neighbors` must be one of {', '.join(NEIGHBORS)}", repr(value), f"here it is {_ALSO[value]!r}")
    return choice(value, "neighbors", NEIGHBORS)


def labels(values: object, name: str) -> tuple[str | int, ...]:
    """Distinct labels, strings or whole numbers, at least two."""
    if isinstance(values, str):
        refuse(f"`{name}` must be a list of labels", "one string", "its letters would become the options", TypeError)
    if isinstance(values, Set) or not isinstance(values, Iterable):
        remedy = "options have an order, and one has nothing to hide behind"
        refuse(f"`{name}` must be a list of labels", type(values).__name__, remedy, TypeError)
    names = tuple(values)
    if not {type(label) for label in names} <= {
        str,
        int,
    }:  # a million labels of the usual types are not looked at one by one
        names = tuple(int(v) if isinstance(v, np.integer) else v for v in names)
        for label in names:
            if isinstance(label, bool) or not isinstance(label, str | int):
                consequence = "labels are written to JSON"
                refuse(f"`{name}` must be strings or whole numbers", type(label).__name__, consequence, TypeError)
    if len(names) < 2:
        refuse(f"`{name}` must hold at least two labels", len(names), "one option has nothing to hide behind")
    mixed = len({isinstance(label, str) for label in names}) > 1  # then 1 and "1" are written alike
    if len(set(map(str, names) if mixed else names)) < len(names):
        consequence = "equal labels cannot be told apart"
        refuse(f"`{name}` must be distinct", f"{len(names)} labels with repetitions", consequence)
    return names


def is_missing(value: object) -> bool:
    """None, NaN, and what pandas calls NA and NaT, without importing pandas."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def fills(**shared: str) -> Callable[[Called], Called]:
    """A class in whose methods' docstrings a line %(name)s stands for what several methods share."""
    blocks = {
        f"%({name})s": [line.strip("\n") for line in text.strip("\n").splitlines()] for name, text in shared.items()
    }

    def filled(line: str) -> list[str]:
        block = blocks.get(line.strip())
        return [line] if block is None else [f"    {part}" if part else "" for part in block]

    def filling(called: Called) -> Called:
        for method in vars(called).values():
            if isinstance(method, types.FunctionType) and method.__doc__:
                method.__doc__ = "\n".join(part for line in method.__doc__.split("\n") for part in filled(line))
        return called

    return filling


def explains(example: str = "", /, **why: str) -> Callable[[Called], Called]:
    """Let a function, or the public methods of a class, answer a call that does not fit in words.

    Python's own answer names the private base class of a verb, and no reason. Signatures stay what they are, so that
    `help` and type checkers go on to show what must be given; a call that fits costs nothing. `example` is a call as it
    should be; `why` what is said where this argument is missing, or is not one: of any method by the argument's name
    alone, of one by `**{"method.argument": …}`, or of whatever a method does not take by its own name.
    """

    def answering(called: Called) -> Called:
        if not isinstance(called, type):
            return _answering(called, called.__name__, example, why)  # type: ignore[no-any-return]
        public = getattr(called, "_public_name", called.__name__)
        for name in ["__init__", *(name for name in dir(called) if not name.startswith("_"))]:
            kind = next((vars(base)[name] for base in called.__mro__ if name in vars(base)), None)
            function = kind.__func__ if isinstance(kind, classmethod) else kind
            if isinstance(function, types.FunctionType):
                answer = _answering(function, f"{public}.{name}", example, why)
                setattr(called, name, classmethod(answer) if isinstance(kind, classmethod) else answer)
        return called

    return answering


def _answering(function: Callable[..., Any], name: str, example: str, why: Mapping[str, str]) -> Any:
    answer = functools.partial(_refuse_call, function, name, example, why)

    def call(*positional: tuple[Any, ...], **named: Mapping[str, Any]) -> Any:
        try:
            return function(*positional, **named)
        except TypeError as error:
            # An error from inside of the function has a further frame: it is not about the call.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
        return answer(positional, named)

    # With the globals of the function's own module, by which doctest knows whose it is.
    wrapper = types.FunctionType(call.__code__, function.__globals__, name, None, call.__closure__)
    functools.update_wrapper(wrapper, function).__qualname__ = name
    return wrapper


def _refuse_call(
    function: Callable[..., Any],
    name: str,
    example: str,
    why: Mapping[str, str],
    positional: tuple[Any, ...],
    named: Mapping[str, Any],
) -> NoReturn:
    """Refuse a call that does not fit: what the function takes, what it got, why, and how it is written."""
    import difflib
    import inspect

    owner, _, verb = name.rpartition(".")
    public = owner if verb == "__init__" else name
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    taken = [one for one in inspect.signature(function).parameters.values() if one.kind not in variadic]
    taken, positional = (taken[1:], positional[1:]) if owner else (taken, positional)  # without `self`
    known, places = [one.name for one in taken], [one.name for one in taken if one.kind != one.KEYWORD_ONLY]
    unknown = [word for word in named if word not in known]
    there = (*named, *places[: len(positional)])
    missing = [one.name for one in taken if one.default is one.empty and one.name not in there]
    if unknown:
        rule, received = f"`{public}` takes {_listed(known) or 'nothing'}", _listed(unknown)
    elif len(positional) > len(places):
        rest = [word for word in known if word not in places]
        rule, received = f"`{public}` takes {_listed(places) or 'nothing'} by place", str(len(positional))
        rule += f" and {_listed(rest)} by name" if rest else ""
    elif missing:
        rule, received = f"`{public}` needs {_listed(missing)}", "neither" if len(missing) == 2 else "none"
    else:
        twice = [word for word in places[: len(positional)] if word in named]
        rule, received = f"`{public}` takes each argument once", f"{_listed(twice)} twice"
    reasons = []
    for word in (*unknown, *missing):
        reason = why.get(f"{verb}.{word}", why.get(word, ""))
        near = difflib.get_close_matches(word, known, 1) if word in unknown and not reason else []
        reasons += [f"`{near[0]}` may be meant" if near else reason or (why.get(verb, "") if word in unknown else "")]
    if example and (public != name or not owner or f"{public}(" in example):
        reasons.append(f"write {example}")
    reasons = list(dict.fromkeys(filter(None, reasons))) or [f"see help({public})"]
    refuse(rule, received, "; ".join(reasons), TypeError)


def _listed(names: Sequence[str]) -> str:
    words = [f"`{name}`" for name in names]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, int | float | str) else type(value).__name__
