"""Calls to functions written by students, with errors explained in plain sentences instead of tracebacks."""

import linecache
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.teaching.mistakes import find_mistake
from toolkit.teaching.replies import reply_text


def attempt(function: Callable[..., Any], *arguments: Any, like: Any, repeat: int = 1) -> Any:
    """Call a function that a student wrote, and name the wrong step if a known mistake gives the same result.

    If the function fails or returns a result of the wrong form, the error states what was expected and what was
    received. Any other wrong result is returned, because the caller compares it.

    Parameters
    ----------
    function : Callable
        The student's function.
    *arguments : Any
        Its arguments.
    like : Any
        The toolkit's result for the same arguments: a number, or an array of numbers or truth values.
    repeat : int, default 1
        Number of calls. If it is more than 1, the results are stacked.

    Returns
    -------
    float or ndarray
        The result, as a number or as an array.

    Raises
    ------
    AssertionError
        If the function fails, or if its result has the wrong form or is the result of a known mistake.
    NotImplementedError
        If the function has not been written yet.

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
    results = [_call_function(name, function, arguments, expected) for _ in range(repeat)]
    result = _as_array(name, results if repeat > 1 else results[0], expected)
    if mistake := find_mistake(name, result, expected, arguments):
        raise AssertionError(f"{name}: {reply_text(mistake.reason)}")
    _check_form(name, result, expected)
    result = result.astype(bool) if expected.dtype == bool else result
    return result if result.ndim else float(result)


def _call_function(name: str, function: Callable[..., Any], arguments: tuple[Any, ...], expected: Any) -> Any:
    __tracebackhide__ = True
    try:
        result = function(*arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        message = reply_text(
            "{name} stopped{line} with {error}. It was given {inputs}, and must return {form}.{remedy}",
            name=name,
            line=_line_of_error(function, error),
            error=f"{type(error).__name__}: {str(error)[:200]}",
            inputs="; ".join(_describe_value(argument) for argument in arguments),
            form=_describe_form(expected),
            remedy=_remedy_text(error, arguments),
        )
        raise AssertionError(message) from None
    if result is None or result is Ellipsis:
        message = "{name} returned nothing, and must return {form}. Does it end with `return ...`?"
        raise AssertionError(reply_text(message, name=name, form=_describe_form(expected)))
    return result


def _line_of_error(function: Callable[..., Any], error: Exception) -> str:
    """Describe the line of the function that raised the error; return an empty string if it was raised elsewhere."""
    code, trace, line = getattr(function, "__code__", None), error.__traceback__, 0
    while trace:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno
        trace = trace.tb_next
    if not line or code is None:
        return ""
    source = linecache.getline(code.co_filename, line).strip()
    template = " in its line {number}, `{source}`," if source else " in its line {number}"
    return reply_text(template, number=line - code.co_firstlineno + 1, source=source)


def _remedy_text(error: Exception, arguments: tuple[Any, ...]) -> str:
    """Return advice about an error whose cause is known, or an empty string."""
    values = [value for item in arguments if isinstance(item, Mapping) for value in item.values()]
    if isinstance(error, TypeError | AttributeError) and any(isinstance(value, Fraction) for value in values):
        return " " + reply_text("NumPy's functions do not accept fractions: convert them with float(...) first.")
    if isinstance(error, TypeError) and "positional argument" in str(error):
        return " " + reply_text("Keep the first line of the function as it was.")
    return ""


def _as_array(name: str, result: Any, expected: Any) -> Any:
    """Convert a result to an array of numbers; if that is impossible, describe the returned value."""
    __tracebackhide__ = True
    try:
        return np.asarray(result, dtype=float)
    except (TypeError, ValueError):
        message = _form_message(name, expected, _describe_value(result))
        raise AssertionError(f"{message} {reply_text('Return the result alone.')}") from None


def _check_form(name: str, result: Any, expected: Any) -> None:
    __tracebackhide__ = True
    if result.shape != expected.shape:
        raise AssertionError(_form_message(name, expected, _describe_form(result)))
    if expected.dtype == bool and not np.isin(result, (0, 1)).all():
        raise AssertionError(_form_message(name, expected, reply_text("other numbers than 0 and 1")))
    if np.isfinite(np.asarray(expected, dtype=float)).all() and not np.isfinite(result).all():
        cause = reply_text("Is something divided by 0, or is a logarithm taken of 0 or of a negative number?")
        message = reply_text("{name} returned infinity or NaN (not a number).", name=name)
        raise AssertionError(f"{message} {cause}")


def _form_message(name: str, expected: Any, description: str) -> str:
    """Return what a function must return and a description of what it returned instead."""
    message = "{name} must return {form}, and returned {result}."
    return reply_text(message, name=name, form=_describe_form(expected), result=description)


def _describe_form(values: Any) -> str:
    """Describe the shape of an array, such as "3 numbers" or "true or false"."""
    is_bool = values.dtype == bool
    if not values.ndim:
        return reply_text("true or false" if is_bool else "a number")
    shape = f" {reply_text('by')} ".join(map(str, values.shape))
    return reply_text("{shape} truth values" if is_bool else "{shape} numbers", shape=shape)


def _describe_value(value: Any) -> str:
    """Describe an argument or a result in a few words."""
    if isinstance(value, Mapping):
        kinds = sorted({type(item).__name__ for item in value.values()})
        return reply_text("a dict with {count} values ({kinds})", count=len(value), kinds=", ".join(kinds))
    if isinstance(value, np.ndarray):
        return reply_text("an array of {form}", form=_describe_form(value))
    if isinstance(value, list | tuple):
        return reply_text("a {kind} of {count}", kind=type(value).__name__, count=len(value))
    is_number = isinstance(value, bool | int | float)
    return str(value) if is_number else reply_text("a {kind}", kind=type(value).__name__)
