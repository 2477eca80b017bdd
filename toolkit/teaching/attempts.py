"""Calls of functions that students write, with sentences in place of tracebacks."""

import linecache
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.teaching.mistakes import find_mistake


def attempt(function: Callable[..., Any], *arguments: Any, like: Any, repeat: int = 1) -> Any:
    """Call a function that a student wrote, and say which step is wrong if its result is that of a known mistake.

    A function that fails, or returns something of another form, is explained by what was expected and what came.
    Other wrong results are returned: the caller compares them.

    Parameters
    ----------
    function : Callable
        The student's function.
    *arguments : Any
        What it is called with.
    like : Any
        The toolkit's result for the same arguments: a number, or an array of numbers or of truth values.
    repeat : int, default 1
        How often the function is called. With more than 1, the results are stacked.

    Returns
    -------
    float or ndarray
        The result, as a number or as an array.

    Raises
    ------
    AssertionError
        If the function fails, or its result has another form or is that of a known mistake.
    NotImplementedError
        If the function is not written yet.

    Examples
    --------
    >>> from toolkit.teaching import attempt
    >>> def my_limit(before, after):
    ...     return after - before
    >>> attempt(my_limit, 0.10, 0.25, like=1.0986)
    Traceback (most recent call last):
        ...
    AssertionError: my_limit: This is a difference. Epsilon is the logarithm of a ratio.
    """
    __tracebackhide__ = True
    name = getattr(function, "__name__", "your function")
    expected = np.asarray(like)
    results = [_call(name, function, arguments, expected) for _ in range(repeat)]
    result = _numbers(name, results if repeat > 1 else results[0], expected)
    if mistake := find_mistake(name, result, expected, arguments):
        raise AssertionError(f"{name}: {mistake.reason}")
    _check_form(name, result, expected)
    result = result.astype(bool) if expected.dtype == bool else result
    return result if result.ndim else float(result)


def _call(name: str, function: Callable[..., Any], arguments: tuple[Any, ...], expected: Any) -> Any:
    __tracebackhide__ = True
    try:
        result = function(*arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        sentence = f"{name} stopped{_line(function, error)} with {type(error).__name__}: {str(error)[:200]}."
        inputs = "; ".join(_description(argument) for argument in arguments)
        remedy = _remedy(error, arguments)
        raise AssertionError(f"{sentence} It was given {inputs}, and must return {_form(expected)}.{remedy}") from None
    if result is None or result is Ellipsis:
        form = _form(expected)
        raise AssertionError(f"{name} returned nothing, and must return {form}. Does it end with `return ...`?")
    return result


def _line(function: Callable[..., Any], error: Exception) -> str:
    """Say in which line of the function the error was raised; nothing if it was not in the function."""
    code, trace, line = getattr(function, "__code__", None), error.__traceback__, 0
    while trace:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno
        trace = trace.tb_next
    if not line or code is None:
        return ""
    source = linecache.getline(code.co_filename, line).strip()
    return f" in its line {line - code.co_firstlineno + 1}" + (f", `{source}`," if source else "")


def _remedy(error: Exception, arguments: tuple[Any, ...]) -> str:
    """What to do about an error whose cause is known."""
    values = [value for item in arguments if isinstance(item, Mapping) for value in item.values()]
    if isinstance(error, TypeError | AttributeError) and any(isinstance(value, Fraction) for value in values):
        return " NumPy's functions take no fractions: turn them into numbers with float(...) first."
    if isinstance(error, TypeError) and "positional argument" in str(error):
        return " Keep the first line of the function as it was."
    return ""


def _numbers(name: str, result: Any, expected: Any) -> Any:
    """Turn a result into an array of numbers; say what came if it is none."""
    __tracebackhide__ = True
    try:
        return np.asarray(result, dtype=float)
    except (TypeError, ValueError):
        message = f"{name} must return {_form(expected)}, and returned {_description(result)}"
        raise AssertionError(f"{message}. Return the result alone.") from None


def _check_form(name: str, result: Any, expected: Any) -> None:
    __tracebackhide__ = True
    if result.shape != expected.shape:
        raise AssertionError(f"{name} must return {_form(expected)}, and returned {_form(result)}.")
    if expected.dtype == bool and not np.isin(result, (0, 1)).all():
        raise AssertionError(f"{name} must return {_form(expected)}, and returned other numbers than 0 and 1.")
    if np.isfinite(np.asarray(expected, dtype=float)).all() and not np.isfinite(result).all():
        cause = "Is something divided by 0, or is a logarithm taken of 0 or of a negative number?"
        raise AssertionError(f"{name} returned infinity or NaN (not a number). {cause}")


def _form(values: Any) -> str:
    """Describe numbers by how many they are."""
    kind = "truth values" if values.dtype == bool else "numbers"
    if not values.ndim:
        return "true or false" if values.dtype == bool else "a number"
    return f"{len(values)} {kind}" if values.ndim == 1 else f"{' by '.join(map(str, values.shape))} {kind}"


def _description(value: Any) -> str:
    """Describe an argument or a result in a few words."""
    if isinstance(value, Mapping):
        kinds = sorted({type(item).__name__ for item in value.values()})
        return f"a dict with {len(value)} values ({', '.join(kinds)})"
    if isinstance(value, np.ndarray):
        return f"an array of {_form(value)}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return str(value) if isinstance(value, bool | int | float) else f"a {type(value).__name__}"
