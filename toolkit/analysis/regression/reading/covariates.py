"""Covariates as a matrix: from a formula or from arrays, checked, and brought to one scale."""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from toolkit.analysis.regression.reading.columns import (
    Column,
    absent,
    as_frame,
    categories,
    check_kind,
    column,
    names,
    numbers,
    some_columns,
    with_column,
    with_text_as_objects,
)
from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import refuse
from toolkit.core.extras import extra

_DEPENDENT = 1e-10


@dataclass(frozen=True, eq=False)
class Covariates:
    """A matrix with one row a person, its columns' names, and how the same columns are made of other data.

    `data` is what the matrix was made of.
    """

    matrix: Array
    labels: tuple[str, ...]
    of: Callable[[Any], Array]
    data: Any

    def values(self, name: str) -> Column:
        """The values of one variable."""
        if isinstance(self.data, np.ndarray):
            if name not in self.labels[1:]:
                refuse("a variable must be one of the columns", repr(name), f"they are {', '.join(self.labels[1:])}")
            return np.asarray(self.matrix[:, self.labels.index(name)])
        return column(self.data, name, "a variable")

    def declared(self, name: str) -> list[Any] | None:
        """The categories of a variable in the order that it declares; None where it declares none."""
        return None if isinstance(self.data, np.ndarray) else categories(self.data, name)

    def where(self, name: str, values: Column) -> Array:
        """The matrix if one variable had these values, and all else stayed as it is."""
        if isinstance(self.data, np.ndarray):
            matrix = self.matrix.copy()
            matrix[:, self.labels.index(name)] = values
            return matrix
        return self.of(with_column(self.data, name, values))


def sides(formula: str) -> tuple[str, str]:
    """The name on the left of a formula, and all that stands on the right.

    >>> sides("cheated ~ female + age")
    ('cheated', 'female + age')
    """
    left, tilde, right = formula.partition("~")
    name = left.strip().removeprefix("`").removesuffix("`")
    if not tilde or not name or not right.strip() or "~" in right:
        rule = "`formula` must have one name, a tilde and the covariates, as in 'cheated ~ female + age'"
        refuse(rule, repr(formula), "it cannot be read")
    return name, right.strip()


def variables(right: str, data: Any) -> tuple[str, ...]:
    """The columns that the right side of a formula speaks of; what is no column is refused by name."""
    formula = _formula(right)
    found = {str(name) for name in formula.required_variables}
    unknown = sorted(name for name in found if name not in names(data) and name.partition(".")[0] != "np")
    if unknown:
        refuse(
            "covariates must be columns of the data",
            ", ".join(map(repr, unknown)),
            f"there are {', '.join(names(data)[:20])}",
        )
    return tuple(sorted(found & set(names(data))))


def terms_without(right: str, items: tuple[str, ...]) -> str:
    """The right side of a formula without the terms that speak of these columns; always with an intercept.

    >>> terms_without("cheated * age + C(town)", ("cheated",))
    '1 + age + C(town)'
    """
    terms = [_written(term) for term in _formula(right)]
    kept = [term for term in terms if not set(_formula(term).required_variables) & set(items)]
    return " + ".join(["1", *(term for term in kept if term != "1")])


def _written(term: Any) -> str:
    """A term as it is typed: names that are no identifiers stand between backticks."""
    named = [factor.expr for factor in term.factors if factor.eval_method.value == "lookup"]
    parts = [factor.expr for factor in term.factors]
    return ":".join(f"`{part}`" if part in named and not part.isidentifier() else part for part in parts)


def absent_in(data: Any, wanted: tuple[str, ...]) -> Mask:
    """Rows in which one of these columns has no value."""
    found = [absent(column(data, name, "a covariate")) for name in wanted]
    return np.logical_or.reduce(found) if found else np.zeros(len(data), dtype=bool)


def from_formula(right: str, data: Any, also: tuple[str, ...] = ()) -> Covariates:
    """The covariates of a formula's right side, with the levels and transforms that these data gave them; of
    the frame only their columns stay, and those that are named `also`.
    """
    formula = _formula(right)
    factors = [factor for term in formula for factor in term.factors]
    bare = {factor.expr for factor in factors if factor.eval_method.value == "lookup"}
    spoken_of = sorted(set(map(str, formula.required_variables)) & set(names(data)))
    for name in spoken_of:
        check_kind(data, name, bare=name in bare)
    made = _matrix_of(formula, data)
    spec = made.model_spec
    labels = tuple(str(name) for name in spec.column_names)
    left = some_columns(data, tuple(dict.fromkeys([*spoken_of, *also])))
    return Covariates(_checked(np.asarray(made, dtype=np.float64), labels), labels, partial(_again, spec), left)


def from_arrays(given: Any) -> Covariates:
    """Columns of numbers as they are, after a column of ones: the intercept comes first."""
    columns = _columns(given)
    if isinstance(given, np.ndarray) or not names(given):
        labels = tuple(f"x{place}" for place in range(1, columns.shape[1] + 1))
    else:
        labels = names(given)
    labels = ("Intercept", *labels)
    of = partial(_with_ones, len(labels) - 1)
    return Covariates(_checked(of(given), labels), labels, of, given if names(given) else columns)


def _with_ones(count: int, new: Any) -> Array:
    found = _columns(new)
    if found.shape[1] != count:
        refuse(f"new data must have {count} columns", found.shape[1], "the fit has so many")
    return np.column_stack([np.ones(len(found)), found])


def _columns(given: Any) -> Array:
    table = given.to_numpy() if hasattr(given, "to_numpy") else given
    table = np.column_stack(list(table.values())) if isinstance(table, dict) else np.asarray(table)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        refuse("covariates must be a table", f"{table.ndim} dimensions", "there is one row a person")
    return numbers(table, "covariates")


def _formula(right: str) -> Any:
    formulaic = extra("formulaic")
    if number := re.search(r"`\s*[\d.]+\s*`", right):
        consequence = "it would be read as the number; give the column another name"
        refuse("no column in a formula may be called like a number", number.group(), consequence)
    try:
        made = formulaic.Formula(right)
        made.required_variables  # noqa: B018  # a part that is no Python is found only here
    except (formulaic.errors.FormulaicError, SyntaxError):
        grammar = "see its grammar: a + b, a:b, a*b, C(a), log(a)"
        refuse("`formula` must be one that formulaic reads", repr(right), grammar)
    return made


def _matrix_of(formula_or_spec: Any, data: Any) -> Any:
    made, problem = _computed(formula_or_spec, with_text_as_objects(as_frame(data)))
    if problem == "levels":
        refuse("categories must be those that the fit has seen", "others", "they have no coefficient")
    if made is None:
        consequence = "covariates are numbers, truth values or text, and functions of them"
        refuse("every part of a formula must be computable from the data", problem, consequence)
    return made


def _computed(formula_or_spec: Any, frame: Any) -> tuple[Any, str]:
    """The matrix; or none, and the part that failed. What others say of it may quote data, and stays here."""
    errors = extra("formulaic").errors
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.DataMismatchWarning)
        try:
            made = formula_or_spec.get_model_matrix(frame, context={}, na_action="ignore", output="numpy")
            made.astype(np.float64)
        except errors.DataMismatchWarning:
            return None, "levels"
        except Exception as problem:
            factor = re.search("factor `(.*?)`", str(problem))
            return None, repr(factor.group(1)) if factor else "a part that is not"
    return made, ""


def _again(spec: Any, new: Any) -> Array:
    frame = as_frame(new)
    wanted = tuple(sorted(str(name) for name in spec.required_variables if str(name) in names(frame)))
    if missing := int(np.count_nonzero(absent_in(frame, wanted))):
        refuse("covariates must not be missing", f"{missing} rows with missing values", "they have no prediction")
    return np.asarray(_matrix_of(spec.update(materializer=None), frame), dtype=np.float64)


def _checked(matrix: Array, labels: tuple[str, ...]) -> Array:
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        refuse("coefficients must have names of their own", f"{twice!r} twice", "give a column another name")
    bad = ~np.isfinite(matrix).all(axis=0)
    if bad.any():
        name = labels[int(np.argmax(bad))]
        count = int(np.count_nonzero(~np.isfinite(matrix).all(axis=1)))
        refuse("covariates must be finite", f"{count} rows that are not, in {name!r}", "no sum of them would be")
    if matrix.shape[1] == 0:
        refuse("a model must have a coefficient", "none", "write 1 for an intercept alone")
    if len(matrix) < matrix.shape[1]:
        refuse(
            "there must be as many rows as coefficients",
            f"{len(matrix)} for {matrix.shape[1]}",
            "they would not be determined",
        )
    return matrix


def standardized(covariates: Covariates) -> tuple[Array, Array]:
    """Columns with mean 0 and variance 1, and the matrix that turns their coefficients into the original
    ones.

    Without a constant column only the scale is changed. A column that the ones before it determine is
    refused.
    """
    matrix, width = covariates.matrix, covariates.matrix.shape[1]
    constant = np.flatnonzero((matrix == matrix[0]).all(axis=0) & (matrix[0] != 0))
    mean, back = np.zeros(width), np.eye(width)
    if len(constant):
        one = int(constant[0])
        mean = np.where(np.arange(width) == one, 0.0, matrix.mean(axis=0))
    centred = matrix - mean
    scale = np.sqrt(np.mean(centred**2, axis=0))
    size = np.sqrt(np.mean(matrix**2, axis=0))
    for place in np.flatnonzero(scale <= _DEPENDENT * size):
        refuse_dependent(covariates.labels[place])
    centred /= scale
    left = np.abs(np.diag(np.linalg.qr(centred, mode="r"))) / np.sqrt(len(matrix))
    for place in np.flatnonzero(left < _DEPENDENT):
        refuse_dependent(covariates.labels[place])
    back = np.diag(1 / scale)
    if len(constant):
        back[one] -= mean / scale / matrix[0, one]
    return centred, back


def refuse_dependent(label: str) -> None:
    """Say which column has no coefficient of its own."""
    consequence = "its coefficient is not determined: leave it out, or one of the others"
    refuse("no column may be a combination of the columns before it", repr(label), consequence)
