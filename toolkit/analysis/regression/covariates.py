"""Covariates as a matrix: from a formula or from arrays, checked, and brought to one scale."""

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, Codes, DataFrame, Mask
from toolkit.core.checks import reject
from toolkit.core.extras import extra
from toolkit.frames.table import (
    Values,
    array_of,
    as_frame,
    categories,
    column,
    format_columns,
    missing_mask,
    names,
    numbers,
    row_count,
    select_columns,
    with_column,
    with_text_as_objects,
)

_DEPENDENT = 1e-10
_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Covariates:
    """A matrix, a row per person; its columns' names; how other data make the same columns; what it was made of, and
    which columns of that are its variables: others say how people were drawn.
    """

    matrix: Array
    labels: tuple[str, ...]
    matrix_of: Callable[[Any], Array]
    data: Any
    variables: tuple[str, ...] = ()

    def values(self, name: str) -> Values:
        if not isinstance(name, str) or name not in self.variables:
            received = repr(name) if isinstance(name, str) else type(name).__name__
            known = ", ".join(self.variables) or "none"
            reject("a variable must be a covariate of the formula", received, f"there are {known}")
        if isinstance(self.data, np.ndarray):
            return np.asarray(self.matrix[:, self.labels.index(name)])
        return column(self.data, name, "a variable")

    def declared(self, name: str) -> list[Any] | None:
        """The categories of a variable in the order that it declares; None where it declares none."""
        declared = None if isinstance(self.data, np.ndarray) else categories(self.data, name)
        return None if declared is None else declared[0]

    def where(self, name: str, values: Values) -> Array:
        """The matrix if one variable had these values, and all else stayed as it is."""
        if isinstance(self.data, np.ndarray):
            matrix = self.matrix.copy()
            matrix[:, self.labels.index(name)] = values
            return matrix
        return self.matrix_of(with_column(self.data, name, values))


def sides(formula: str) -> tuple[str, str]:
    """The name on the left of a formula, and all that stands on the right."""
    left, tilde, right = formula.partition("~") if isinstance(formula, str) else ("", "", "")
    name = left.strip().removeprefix("`").removesuffix("`")
    if not tilde or not name or not right.strip() or "~" in right:
        rule = "`formula` must have one name, a tilde and the covariates, as in 'cheated ~ female + age'"
        reject(rule, repr(formula) if isinstance(formula, str) else type(formula).__name__, "it cannot be read")
    return name, right.strip()


def variables(right: str, data: object) -> tuple[str, ...]:
    """The columns that the right side of a formula speaks of; what is no column is refused by name."""
    mentioned, there = set(map(str, _formula(right).required_variables)), names(data)
    if unknown := sorted(name for name in mentioned if name not in there and name.partition(".")[0] != "np"):
        reject(
            "covariates must be columns of the data", ", ".join(map(repr, unknown)), f"there are {format_columns(data)}"
        )
    return tuple(sorted(mentioned & set(there)))


def terms_without(right: str, items: tuple[str, ...]) -> str:
    """The right side of a formula without the terms that speak of these columns; always with an intercept."""
    terms = [_term_text(term) for term in _formula(right)]
    others = [term for term in terms if not set(_formula(term).required_variables) & set(items)]
    return " + ".join(["1", *(term for term in others if term != "1")])


def _term_text(term: Any) -> str:
    """A term as it is typed: names that are no identifiers stand between backticks."""
    named = [factor.expr for factor in term.factors if factor.eval_method.value == "lookup"]
    parts = [factor.expr for factor in term.factors]
    return ":".join(f"`{part}`" if part in named and not part.isidentifier() else part for part in parts)


def absent_in(data: object, columns: tuple[str, ...]) -> Mask:
    """Rows in which one of these columns has no value."""
    gaps = [missing_mask(column(data, name, "a covariate")) for name in columns]
    return np.logical_or.reduce(gaps) if gaps else np.zeros(row_count(data), dtype=bool)


def from_formula(right: str, data: DataFrame, also: tuple[str, ...] = ()) -> Covariates:
    """A formula's right side, with levels and transforms of these data; its columns stay, and those `also` named."""
    formula = _formula(right)
    factors = [factor for term in formula for factor in term.factors]
    bare = {factor.expr for factor in factors if factor.eval_method.value == "lookup"}
    spoken_of = tuple(sorted(set(map(str, formula.required_variables)) & set(names(data))))
    for name in spoken_of:
        _check_kind(data, name, bare=name in bare)
    made = _matrix_of(formula, data)
    spec = made.model_spec
    labels = tuple(str(name) for name in spec.column_names)
    matrix = _checked(np.asarray(made, dtype=np.float64), labels)
    left = _columns_behind(data, tuple(dict.fromkeys([*spoken_of, *also])), matrix, labels)
    return Covariates(matrix, labels, partial(_again, spec), left, spoken_of)


def _columns_behind(data: Any, wanted: tuple[str, ...], matrix: Array, labels: tuple[str, ...]) -> Any:
    """These columns of a frame, apart from it; of pandas those that the matrix holds as they are share its memory."""
    if not hasattr(data, "assign") or not wanted:
        return select_columns(data, wanted)
    same = [name for name in wanted if name in labels and data[name].dtype == np.float64]
    cells = {name: matrix[:, labels.index(name)] if name in same else data[name].copy() for name in wanted}
    return extra("pandas", "analysis").DataFrame(cells, index=data.index, copy=False)


def from_arrays(given: object) -> Covariates:
    """Columns of numbers as they are, after a column of ones: the intercept comes first."""
    columns = _columns(given)
    labels = ("Intercept", *(names(given) or (f"x{place}" for place in range(1, columns.shape[1] + 1))))
    of = partial(_with_ones, len(labels) - 1)
    data = given if names(given) else columns
    return Covariates(_checked(of(given), labels), labels, of, data, labels[1:])


def _with_ones(count: int, new: object) -> Array:
    columns = _columns(new)
    if columns.shape[1] != count:
        reject(f"new data must have {count} columns", columns.shape[1], "the fit has as many")
    return np.column_stack([np.ones(len(columns)), columns])


def _columns(values: object) -> Array:
    table = np.column_stack(list(values.values())) if isinstance(values, dict) else array_of(values)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        reject("covariates must be a table", f"{table.ndim} dimensions", "there is one row per person")
    return numbers(table, "covariates")


@lru_cache(maxsize=64)
def _formula(right: str) -> Any:
    """A formula is read several times for a fit, and is never changed."""
    formulaic = extra("formulaic")
    if number := re.search(r"`\s*[\d.]+\s*`", right):
        consequence = "it would be read as the number; give the column another name"
        reject("no column in a formula may be called like a number", number.group(), consequence)
    try:
        formula = formulaic.Formula(right)
        formula.required_variables  # noqa: B018  # a part that is no Python is found only here
    except (formulaic.errors.FormulaicError, SyntaxError):
        grammar = "see its grammar: a + b, a:b, a*b, C(a), log(a)"
        reject("`formula` must be one that formulaic reads", repr(right), grammar)
    return formula


def _matrix_of(formula_or_spec: Any, data: object) -> Any:
    frame = _without_arrow(with_text_as_objects(as_frame(data)), set(map(str, formula_or_spec.required_variables)))
    matrix, problem = _compute_matrix(formula_or_spec, frame)
    if problem == "levels":
        reject("categories must be those that the fit has seen", "others", "they have no coefficient")
    if matrix is None:
        consequence = "covariates are numbers, truth values or text, and functions of them"
        reject("every part of a formula must be computable from the data", problem, consequence)
    return matrix


def _without_arrow(frame: Any, wanted: set[str]) -> Any:
    """Columns of pandas that Arrow holds as those of NumPy: formulaic knows categories by these."""
    kinds = frame.dtypes.items() if hasattr(frame, "assign") else ()
    arrow = {name: kind.numpy_dtype for name, kind in kinds if name in wanted and hasattr(kind, "pyarrow_dtype")}
    return frame.astype(arrow) if arrow else frame


def _compute_matrix(formula_or_spec: Any, frame: object) -> tuple[Any, str]:
    """The matrix; or none, and the part that failed. What others say of it may quote data, and stays here."""
    errors = extra("formulaic").errors
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.DataMismatchWarning)
        try:
            matrix = formula_or_spec.get_model_matrix(frame, context={}, na_action="ignore", output="numpy")
            np.asarray(matrix, dtype=np.float64)  # no copy where it holds numbers already
        except errors.DataMismatchWarning:
            return None, "levels"
        except Exception as problem:
            factor = re.search("factor `(.*?)`", str(problem))
            return None, repr(factor.group(1)) if factor else "a part that is not"
    return matrix, ""


def _again(spec: Any, new: object) -> Array:
    frame = as_frame(new)
    needs = tuple(sorted(str(name) for name in spec.required_variables if str(name) in names(frame)))
    if missing := int(np.count_nonzero(absent_in(frame, needs))):
        reject("covariates must not be missing", f"{missing} rows with missing values", "they have no prediction")
    return np.asarray(_matrix_of(spec.update(materializer=None), frame), dtype=np.float64)


def _checked(matrix: Array, labels: tuple[str, ...]) -> Array:
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        reject("coefficients must have names of their own", f"{twice!r} twice", "give a column another name")
    bad = ~np.isfinite(matrix).all(axis=0)
    if bad.any():
        name = labels[int(np.argmax(bad))]
        count = int(np.count_nonzero(~np.isfinite(matrix).all(axis=1)))
        reject("covariates must be finite", f"{count} rows that are not, in {name!r}", "no sum of them would be")
    if matrix.shape[1] == 0:
        reject("a model must have a coefficient", "none", "write 1 for an intercept alone")
    if len(matrix) < matrix.shape[1]:
        received = f"{len(matrix)} for {matrix.shape[1]}"
        reject("there must be as many rows as coefficients", received, "they would not be determined")
    return matrix


def constants(matrix: Array) -> Codes:
    """The places of columns that are the same for all, and not 0: the first is the intercept."""
    return np.flatnonzero((matrix == matrix[0]).all(axis=0) & (matrix[0] != 0))


def standardize(covariates: Covariates) -> tuple[Array, Array]:
    """Columns of mean 0 (if one is constant) and variance 1, and the matrix that turns their coefficients back."""
    matrix, width = covariates.matrix, covariates.matrix.shape[1]
    constant = constants(matrix)
    mean = np.zeros(width)
    if len(constant):
        one = int(constant[0])
        mean = np.where(np.arange(width) == one, 0.0, matrix.mean(axis=0))
    centred = matrix - mean
    scale, size = (np.sqrt(np.einsum("ij,ij->j", one, one) / len(matrix)) for one in (centred, matrix))
    _refuse_dependent(covariates.labels, scale <= _DEPENDENT * size)
    centred /= scale
    # Correlations tell whether columns are far from dependent; only where they are near, the slower way is gone.
    if np.linalg.eigvalsh(centred.T @ centred / len(matrix))[0] < _NEAR:
        left = np.abs(np.diag(np.linalg.qr(centred, mode="r"))) / np.sqrt(len(matrix))
        _refuse_dependent(covariates.labels, left < _DEPENDENT)
    back = np.diag(1 / scale)
    if len(constant):
        back[one] -= mean / scale / matrix[0, one]
    return centred, back


def _refuse_dependent(labels: tuple[str, ...], dependent: Mask) -> None:
    if dependent.any():
        label, remedy = labels[int(np.argmax(dependent))], "leave it out, or one of the others"
        rule = "no column may be a combination of the columns before it"
        reject(rule, repr(label), f"its coefficient is not determined: {remedy}")


def _check_kind(data: object, name: str, *, bare: bool) -> None:
    """Refuse a covariate that would be misread. `bare` : it stands in the formula as it is, and not in C(…)."""
    values = column(data, name, "a covariate")
    cells = values.tolist() if values.dtype.kind in "OUT" else []
    if any(isinstance(cell, list | dict | set | tuple | np.ndarray) for cell in cells):
        rule = f"the column {name!r} must hold one value in each row"
        reject(rule, "lists", "a covariate is one thing: make a column of each", TypeError)
    declared = categories(data, name)
    if declared is not None:
        if declared[1]:
            remedy = f"leave them out, as by data[{name!r}].cat.remove_unused_categories()"
            received = f"{declared[1]} that nobody has"
            reject(f"every category of {name!r} must have people", received, f"they have no coefficient; {remedy}")
        return
    rule, category = f"the column {name!r} must hold numbers or categories", f"or write C({name}) for categories"
    if bare and (values.dtype.kind in "mM" or (cells and all(isinstance(cell, date | timedelta) for cell in cells))):
        remedy = f"they have no unit; make days of them, as by (date - first).days, {category}"
        reject(rule, "dates or times", remedy, TypeError)
    if bare and cells and all(map(_is_number, cells)):
        remedy = f"each would be a category of its own; convert the column, as by astype(float), {category}"
        reject(rule, "numbers stored as text", remedy, TypeError)


def _is_number(cell: object) -> bool:
    """Whether a cell is a number in a text, or of a type that formulas do not know."""
    if not isinstance(cell, str):
        return isinstance(cell, int | float | Decimal | Fraction | np.number) and not isinstance(cell, bool)
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
