"""Argument checks and their error messages, including messages for calls that do not match a signature.

Every message states the rule, what was received, and the consequence. A message quotes only *parameters* that the
analyst wrote; the answers of respondents are counted but never quoted.
"""

import functools
import math
import re
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from typing import Any, NoReturn, SupportsFloat, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Number: TypeAlias = int | float | Fraction | str | SupportsFloat
"""A number as users write it: 0.1, Fraction(1, 3) or "2/3"."""

Result = TypeVar("Result")
DENOMINATOR_LIMIT = 2**32
"""The largest common denominator of probabilities with which a single 32-bit word is enough to draw a report."""

LARGEST_POWER = 10_000
"""The largest power of ten in a number that is given as text; it is far beyond the range of floats."""

_POWER = re.compile(r"[eE]([+-]?[0-9_]+)\s*$")

NEIGHBORS = ("replace", "add_remove")
_SYNONYMS = {"bounded": "replace", "substitute": "replace", "change": "replace", "swap": "replace"}
_SYNONYMS |= {"unbounded": "add_remove", "add-remove": "add_remove", "add/remove": "add_remove"}
PROGRAM_EXITS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that end a program. All others are failures, including a panic of polars, which is not an `Exception`."""
Called = TypeVar("Called", bound=Callable[..., Any])


def reject(rule: str, received: object, consequence: str, error: Callable[[str], Exception] = ValueError) -> NoReturn:
    """Raise `error` with the message "rule, got received: consequence."

    For a collection with more than two entries, the message names only the type, because the entries may be data that
    were passed by mistake.
    """
    is_long = hasattr(received, "__len__") and not isinstance(received, str) and len(received) > 2
    raise error(f"{rule}, got {type(received).__name__ if is_long else received}: {consequence}.")


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn; the warning points to the line of the user's code that called the package."""
    frame, depth = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "toolkit":
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def quietly(
    read: Callable[[], Result],
    rule: str = "data must be readable",
    received: str = "an error that is not shown",
    consequence: str = "its message may quote a person",
    error: type[Exception] = RuntimeError,
) -> Result:
    """Call `read` without warnings; if it fails, raise an error that states the rule and has no `__cause__`."""
    try:
        with _SILENCE, np.errstate(all="ignore"):
            return read()
    except PROGRAM_EXITS:
        raise
    except BaseException:  # noqa: S110  (raised below, so that no cause is chained)
        pass
    reject(rule, received, consequence, error)


class _Silence:
    """A context manager that suppresses warnings in the whole process, because all threads share one list of filters.

    The first thread that enters saves the filters and the last that leaves restores them. If each thread did so, a
    thread could restore the suppressing filters of another.
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


def float_array(values: Any, name: str) -> npt.NDArray[np.float64]:
    """Return values as floats; an error message quotes no value, because it may be an answer."""

    def read() -> npt.NDArray[np.float64]:
        array = np.asarray(values)
        return array.astype(np.float64, casting="same_kind" if array.dtype.kind == "c" else "unsafe", copy=False)

    return quietly(read, f"`{name}` must be numbers", "values that are not", "they are not quoted", TypeError)


def read_shares(values: Any, name: str) -> npt.NDArray[np.float64]:
    """Return shares as floats; a value that is outside [0, 1] only by a rounding error becomes 0 or 1.

    A share that was computed as a sum may be 1 + 2e-16 on one processor and 1 on another.
    """
    given = float_array(values, name)
    return np.where((given >= -1e-9) & (given <= 1 + 1e-9), np.clip(given, 0, 1), given)


def exact_fraction(value: Number, name: str) -> Fraction:
    """Convert a fraction, an integer, a text such as "2/3" or "0.1", or a float to an exact fraction.

    A float stands for its decimal representation: 0.1 is one tenth and not the binary double just above it, so that a
    budget of 0.3 allows 0.1 and 0.2.
    """
    if isinstance(value, bool | np.bool_):
        reject(f"`{name}` must be a number", value, "a truth value is not a quantity", TypeError)
    if isinstance(value, str):
        if (power := _POWER.search(value)) and abs(float(power.group(1))) > LARGEST_POWER:
            rule = f"`{name}` must have a power of ten from -{LARGEST_POWER} to {LARGEST_POWER}"
            reject(rule, repr(value)[:60], "its digits would exhaust the memory")
        try:
            return Fraction(value.strip())
        except (ValueError, ZeroDivisionError):
            consequence = "it cannot be read as one"
            reject(f"`{name}` must be a number or a fraction such as '2/3'", repr(value)[:60], consequence)
    if isinstance(value, int | np.integer | Fraction):
        return Fraction(int(value)) if not isinstance(value, Fraction) else value
    if isinstance(value, float | np.floating):
        number = float(value)
        if not math.isfinite(number):
            reject(f"`{name}` must be a finite number", number, "it has no exact value")
        return Fraction(repr(number))
    reject(f"`{name}` must be a number", type(value).__name__, "it has no exact value", TypeError)


def check_probability(value: Number, name: str) -> Fraction:
    """Return a probability as an exact fraction.

    A float that is the nearest double to a simple fraction is read as that fraction (2/3, not 0.6666666666666666); any
    other float with many digits is rounded to a multiple of 2**-32.
    """
    number = exact_fraction(value, name)
    if not 0 <= number <= 1:
        percent = f": for {value} percent write {float(number / 100):g}" if 1 < number <= 100 else ""
        reject(f"`{name}` must lie between 0 and 1", value, f"it is a probability{percent}")
    if isinstance(value, float | np.floating) and number.denominator > DENOMINATOR_LIMIT:
        simple = number.limit_denominator(10**6)
        if float(simple) == float(value):
            return simple
        return Fraction(round(number * DENOMINATOR_LIMIT), DENOMINATOR_LIMIT)
    return number


def check_positive(value: Number, name: str, consequence: str = "only a positive number makes sense here") -> Fraction:
    """Return a finite number above zero as an exact fraction."""
    number = exact_fraction(value, name)
    if number <= 0:
        reject(f"`{name}` must be above 0", value, consequence)
    return number


def check_bounds(
    pair: Any, name: str = "bounds", consequence: str = "values are clamped to them; write bounds=(0, 100)"
) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper limit as exact fractions; messages do not quote longer lists, which may be data."""
    received = repr(pair) if isinstance(pair, tuple | list) and len(pair) <= 2 else type(pair).__name__
    try:
        low, high = (exact_fraction(limit, name) for limit in (() if isinstance(pair, str) else pair))
    except (TypeError, ValueError):
        reject(f"`{name}` must be two finite numbers", received, consequence)
    if low >= high:
        reject(f"the lower limit in `{name}` must be below the upper limit", received, consequence)
    return low, high


def check_level(value: Number) -> float:
    """Check that a confidence level lies strictly between 0 and 1, and return it as a float."""
    # Nearly every level is a float, whose range can be checked without the cost of a fraction.
    if type(value) is float and 0 < value < 1:
        return value
    number = exact_fraction(value, "level")
    if not 0 < number < 1:
        reject("`level` must lie strictly between 0 and 1", value, "write 0.95 for a 95 % interval")
    return float(number)


def check_integer(value: object, name: str, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return a whole number from `minimum` to `maximum`; reject booleans and fractions."""
    number = int(value) if isinstance(value, int | np.integer | float | np.floating) and value == value // 1 else None
    if number is None or isinstance(value, bool | np.bool_):
        reject(f"`{name}` must be a whole number", _quoted(value), "it is a count", TypeError)
    if number < minimum:
        reject(f"`{name}` must be at least {minimum}", number, "fewer make no sense here")
    if maximum is not None and number > maximum:
        received = number if number < 10**20 else "a number of more than 20 digits"
        reject(f"`{name}` must be at most {maximum:,}", received, "more would be useless and would exhaust the memory")
    return number


def check_choice(value: object, name: str, allowed: Sequence[str]) -> str:
    """Check that a value is one of the allowed texts, and return the value."""
    if value not in allowed:
        normalized = str(value).strip().lower()
        consequence = f"write {normalized!r}" if normalized in allowed else "nothing else is defined"
        reject(f"`{name}` must be one of {', '.join(allowed)}", repr(value), consequence)
    return str(value)


def check_neighbors(value: object) -> str:
    """Return the neighbor relation: "replace" (a record changes) or "add_remove" (a record is added or removed)."""
    if isinstance(value, str) and value in _SYNONYMS:
        reject(f"`neighbors` must be one of {', '.join(NEIGHBORS)}", repr(value), f"here it is {_SYNONYMS[value]!r}")
    return check_choice(value, "neighbors", NEIGHBORS)


def check_labels(values: object, name: str) -> tuple[str | int, ...]:
    """Check that labels are at least two distinct strings or whole numbers, and return the labels."""
    if isinstance(values, str):
        reject(f"`{name}` must be a list of labels", "one string", "its letters would become the options", TypeError)
    if isinstance(values, Set) or not isinstance(values, Iterable):
        remedy = "options have an order, and a single option hides nothing"
        reject(f"`{name}` must be a list of labels", type(values).__name__, remedy, TypeError)
    names = tuple(values)
    # The set of types is checked first, so that a million labels of the usual types need no further loop.
    if not {type(label) for label in names} <= {str, int}:
        names = tuple(int(v) if isinstance(v, np.integer) else v for v in names)
        for label in names:
            if isinstance(label, bool) or not isinstance(label, str | int):
                consequence = "labels are written to JSON"
                reject(f"`{name}` must be strings or whole numbers", type(label).__name__, consequence, TypeError)
    if len(names) < 2:
        reject(f"`{name}` must hold at least two labels", len(names), "a single option hides nothing")
    mixed = len({isinstance(label, str) for label in names}) > 1  # 1 and "1" would look alike
    if len(set(map(str, names) if mixed else names)) < len(names):
        consequence = "equal labels cannot be told apart"
        reject(f"`{name}` must be distinct", f"{len(names)} labels with repetitions", consequence)
    return names


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or the NA or NaT of pandas, which need not be installed."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def explain_call(example: str = "", /, **why: str) -> Callable[[Called], Called]:
    """Make a function, or the public methods of a class, explain a call that does not match the signature.

    Python's own message gives no reason and no example. Signatures and docstrings do not change, so that `help` and
    type checkers show them as before.

    Parameters
    ----------
    example : str
        A correct call.
    **why : str
        The reason to state for each missing or unknown argument, by its name. The key "method.argument" limits a
        reason to one method; the name of a method alone stands for all its unknown arguments.
    """

    def decorate(called: Called) -> Called:
        if not isinstance(called, type):
            return _explained(called, called.__name__, example, why)  # type: ignore[no-any-return]
        public = getattr(called, "_public_name", called.__name__)
        for name in ["__init__", *(name for name in dir(called) if not name.startswith("_"))]:
            member = next((vars(base)[name] for base in called.__mro__ if name in vars(base)), None)
            function = member.__func__ if isinstance(member, classmethod) else member
            if isinstance(function, types.FunctionType):
                method = _explained(function, f"{public}.{name}", example, why)
                setattr(called, name, classmethod(method) if isinstance(member, classmethod) else method)
        return called

    return decorate


def _explained(function: Callable[..., Any], name: str, example: str, why: Mapping[str, str]) -> Any:
    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        try:
            return function(*positional, **named)
        except TypeError as error:
            # An error that is raised inside the function has a second frame; such an error does not concern the call.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
        _refuse_call(function, name, example, why, positional, named)

    call.__qualname__ = name
    return call


def _refuse_call(
    function: Callable[..., Any],
    name: str,
    example: str,
    why: Mapping[str, str],
    positional: tuple[Any, ...],
    named: Mapping[str, Any],
) -> NoReturn:
    """Raise a `TypeError` that states the signature, what was received, the reason, and a correct call."""
    import inspect

    owner, _, method = name.rpartition(".")
    public = owner if method == "__init__" else name
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in variadic]
    if owner:  # without `self`
        parameters, positional = parameters[1:], positional[1:]
    names = [each.name for each in parameters]
    by_position = [each.name for each in parameters if each.kind != each.KEYWORD_ONLY]
    unknown = [argument for argument in named if argument not in names]
    given = (*named, *by_position[: len(positional)])
    missing = [each.name for each in parameters if each.default is each.empty and each.name not in given]
    if unknown:
        rule, received = f"`{public}` takes {_join(names) or 'nothing'}", _join(unknown)
    elif len(positional) > len(by_position):
        rest = [argument for argument in names if argument not in by_position]
        rule, received = f"`{public}` takes {_join(by_position) or 'nothing'} by position", str(len(positional))
        rule += f" and {_join(rest)} by name" if rest else ""
    elif missing:
        rule, received = f"`{public}` needs {_join(missing)}", "neither" if len(missing) == 2 else "none"
    else:
        repeated = [argument for argument in by_position[: len(positional)] if argument in named]
        rule, received = f"`{public}` takes each argument once", f"{_join(repeated)} twice"
    specific = {argument: why.get(f"{method}.{argument}", why.get(argument, "")) for argument in (*unknown, *missing)}
    reasons = [specific[argument] or _nearest(argument, names) or why.get(method, "") for argument in unknown]
    reasons += [specific[argument] for argument in missing]
    if example and (public != name or not owner or f"{public}(" in example):
        reasons.append(f"write {example}")
    reasons = list(dict.fromkeys(filter(None, reasons))) or [f"see help({public})"]
    reject(rule, received, "; ".join(reasons), TypeError)


def _nearest(argument: str, names: Sequence[str]) -> str:
    import difflib

    nearest = difflib.get_close_matches(argument, names, 1)
    return f"`{nearest[0]}` may be meant" if nearest else ""


def _join(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _quoted(value: object) -> str:
    return repr(value) if isinstance(value, int | float | str) else type(value).__name__
