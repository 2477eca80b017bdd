"""The design matrix of a regression: read from a formula or from arrays, checked and standardized."""

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
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
    column,
    column_names,
    declared_categories,
    finite_floats,
    format_columns,
    missing_mask,
    row_count,
    select_columns,
    with_column,
    with_text_as_objects,
)

# A column counts as a combination of the others if its regression on them leaves less than this share of its norm.
_DEPENDENT = 1e-10
# Columns are checked one by one only if the smallest eigenvalue of their correlation matrix is below this.
_SMALL_EIGENVALUE = 1e-6
# A term (1 | school) or (x | school), with the sign before it; the part before the bar may contain functions.
_RANDOM_TERM = r"([~+])\s*\(((?:[^()|]|\([^()|]*\))*)\|\s*(\w+)\s*\)\s*(?=\+|$)"


@dataclass(frozen=True, eq=False)
class Covariates:
    """The matrix of covariates, one row per person.

    `labels` are the names of its columns, and `matrix_of` makes the same columns from new data. The matrix was made
    from `data`; `variables` are the columns of `data` that the formula uses.
    """

    matrix: Array
    labels: tuple[str, ...]
    matrix_of: Callable[[Any], Array]
    data: Any
    variables: tuple[str, ...] = ()

    def values(self, variable: str) -> Values:
        """Return the values of a variable."""
        if not isinstance(variable, str) or variable not in self.variables:
            received = repr(variable) if isinstance(variable, str) else type(variable).__name__
            variables = ", ".join(self.variables) or "none"
            reject("a variable must be a covariate of the formula", received, f"there are {variables}")
        if isinstance(self.data, np.ndarray):
            return np.asarray(self.matrix[:, self.labels.index(variable)])
        return column(self.data, variable, "a variable")

    def declared_categories(self, variable: str) -> list[Any] | None:
        """Return the categories of a categorical variable, in their declared order; None for any other variable."""
        declared = None if isinstance(self.data, np.ndarray) else declared_categories(self.data, variable)
        return None if declared is None else declared[0]

    def matrix_with(self, variable: str, values: Values) -> Array:
        """Return the matrix with one variable set to these values."""
        if isinstance(self.data, np.ndarray):
            matrix = self.matrix.copy()
            matrix[:, self.labels.index(variable)] = values
            return matrix
        return self.matrix_of(with_column(self.data, variable, values))

    def with_value(self, variable: str, value: object) -> "Covariates":
        """Return the covariates with one variable set to the same value for everybody."""
        self.values(variable)  # rejects a name that is not a variable
        values = np.full(len(self.matrix), value, dtype=float if isinstance(value, int | float | np.number) else object)
        data = self.data if isinstance(self.data, np.ndarray) else with_column(self.data, variable, values)
        return replace(self, matrix=self.matrix_with(variable, values), data=data)


def split_off_random_terms(formula: str, group: str | None) -> tuple[str, list[tuple[str, str]]]:
    """Return a formula without its random effects, and the covariates and the column of groups of each of them.

    Either the formula or `group` names the groups.
    """
    if group is not None:
        return formula, [("1", group)]
    text = formula if isinstance(formula, str) else ""
    terms = [(covariates.strip(), name) for _, covariates, name in re.findall(_RANDOM_TERM, text)]
    if not terms or text.count("|") != len(terms):
        rule = "a model must have random effects: group='school', or terms such as (1 | school) or (x | school)"
        remedy = "write (x || school) as (1 | school) + (0 + x | school), and nested groups as a column of their own"
        reject(rule, f"{text.count('|')} terms with |, of which {len(terms)} can be read", remedy)
    # A term that comes first leaves the fixed intercept.
    return re.sub(_RANDOM_TERM, lambda match: "" if match.group(1) == "+" else "~ 1 ", text), terms


def split_formula(formula: str) -> tuple[str, str]:
    """Split a formula into the name on its left side and the text of its right side."""
    response, tilde, right = formula.partition("~") if isinstance(formula, str) else ("", "", "")
    name = response.strip().removeprefix("`").removesuffix("`")
    if not tilde or not name or not right.strip() or "~" in right:
        rule = "`formula` must have one name, a tilde and the covariates, as in 'cheated ~ female + age'"
        reject(rule, repr(formula) if isinstance(formula, str) else type(formula).__name__, "it cannot be read")
    return name, right.strip()


def variables(right_side: str, data: object) -> tuple[str, ...]:
    """Return the columns that the right side of a formula uses; reject names that are not columns."""
    mentioned, labels = set(map(str, _parse_right_side(right_side).required_variables)), column_names(data)
    if unknown := sorted(name for name in mentioned if name not in labels and name.partition(".")[0] != "np"):
        reject(
            "covariates must be columns of the data", ", ".join(map(repr, unknown)), f"there are {format_columns(data)}"
        )
    return tuple(sorted(mentioned & set(labels)))


def right_side_without(right_side: str, columns: tuple[str, ...]) -> str:
    """Return the right side of a formula with an intercept and without the terms that use these columns."""
    terms = [_term_text(term) for term in _parse_right_side(right_side)]
    others = [term for term in terms if not set(_parse_right_side(term).required_variables) & set(columns)]
    return " + ".join(["1", *(term for term in others if term != "1")])


def _term_text(term: Any) -> str:
    """Return the text of a term, with backticks around column names that are not identifiers."""
    return ":".join(
        f"`{factor.expr}`" if factor.eval_method.value == "lookup" and not factor.expr.isidentifier() else factor.expr
        for factor in term.factors
    )


def rows_with_missing(data: object, columns: tuple[str, ...]) -> Mask:
    """Return a mask of the rows in which at least one of these columns has a missing value."""
    gaps = [missing_mask(column(data, name, "a covariate")) for name in columns]
    return np.logical_or.reduce(gaps) if gaps else np.zeros(row_count(data), dtype=bool)


def covariates_from_formula(right_side: str, data: DataFrame, kept_columns: tuple[str, ...] = ()) -> Covariates:
    """Build the covariates of a formula's right side; categories and transforms are learned from these data.

    The result keeps the columns of the data that the formula uses, and those in `kept_columns`.
    """
    formula = _parse_right_side(right_side)
    factors = [factor for term in formula for factor in term.factors]
    bare = {factor.expr for factor in factors if factor.eval_method.value == "lookup"}
    used = tuple(sorted(set(map(str, formula.required_variables)) & set(column_names(data))))
    for name in used:
        _check_covariate(data, name, is_bare=name in bare)
    model_matrix = _model_matrix(formula, data)
    spec = model_matrix.model_spec
    labels = tuple(str(name) for name in spec.column_names)
    matrix = _checked_matrix(np.asarray(model_matrix, dtype=np.float64), labels)
    columns = _copy_columns(data, tuple(dict.fromkeys([*used, *kept_columns])), matrix, labels)
    return Covariates(matrix, labels, partial(_model_matrix_of_new_data, spec), columns, used)


def _copy_columns(data: Any, selected: tuple[str, ...], matrix: Array, labels: tuple[str, ...]) -> Any:
    """Return the selected columns of a frame; in pandas, columns that the matrix also holds share its memory."""
    if not hasattr(data, "assign") or not selected:
        return select_columns(data, selected)
    same = [name for name in selected if name in labels and data[name].dtype == np.float64]
    cells = {name: matrix[:, labels.index(name)] if name in same else data[name].copy() for name in selected}
    return extra("pandas", "analysis").DataFrame(cells, index=data.index, copy=False)


def slope_labels(right_side: str, covariates: Covariates) -> tuple[str, ...]:
    """Return the labels of the covariates of a random effect; reject those that the formula itself does not have."""
    mentioned = set(map(str, _parse_right_side(right_side).required_variables))
    missing = sorted(mentioned - set(column_names(covariates.data)))
    labels = () if missing else covariates_from_formula(right_side, covariates.data).labels
    missing += [label for label in labels if label != "Intercept" and label not in covariates.labels]
    if missing:
        rule = "a covariate with random slopes must be among the covariates of the formula"
        reject(rule, f"{missing[0]!r} in a random effect alone", "its mean slope would be fixed at 0")
    return labels


def covariates_from_table(values: object) -> Covariates:
    """Build covariates from a table of numbers, preceded by a column of ones for the intercept."""
    columns = _numeric_table(values)
    labels = ("Intercept", *(column_names(values) or (f"x{number}" for number in range(1, columns.shape[1] + 1))))
    matrix_of = partial(_with_intercept, len(labels) - 1)
    data = values if column_names(values) else columns
    return Covariates(_checked_matrix(matrix_of(values), labels), labels, matrix_of, data, labels[1:])


def _with_intercept(n_columns: int, values: object) -> Array:
    columns = _numeric_table(values)
    if columns.shape[1] != n_columns:
        reject(f"new data must have {n_columns} columns", columns.shape[1], "give the covariates of the fit")
    return np.column_stack([np.ones(len(columns)), columns])


def _numeric_table(values: object) -> Array:
    table = np.column_stack(list(values.values())) if isinstance(values, dict) else array_of(values)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        reject("covariates must be a table", f"{table.ndim} dimensions", "there is one row per person")
    return finite_floats(table, "covariates")


@lru_cache(maxsize=64)
def _parse_right_side(right_side: str) -> Any:
    """Parse the right side of a formula; the result is cached, because a fit needs it several times."""
    formulaic = extra("formulaic")
    if number := re.search(r"`\s*[\d.]+\s*`", right_side):
        consequence = "it would be read as the number; give the column another name"
        reject("the name of a column in a formula must not be a number", number.group(), consequence)
    try:
        formula = formulaic.Formula(right_side)
        formula.required_variables  # noqa: B018  # raises if a term is not a Python expression
    except (formulaic.errors.FormulaicError, SyntaxError):
        formula = None
    # Outside Python expressions, formulaic either rejects a | or reads it as the separator in a structured formula.
    if "|" in right_side and not isinstance(formula, formulaic.SimpleFormula):
        remedy = "fit (1 | school) or (x | school) by mixed_logistic, without its argument `group`"
        reject("`formula` must have no random effects", "a term with |", remedy)
    if formula is None:
        grammar = "see its grammar: a + b, a:b, a*b, C(a), log(a)"
        reject("`formula` must follow the grammar of formulaic", repr(right_side), grammar)
    if any(factor.expr.startswith("offset(") for term in formula for factor in term.factors):
        remedy = "every covariate has a coefficient; in a linear model, subtract the offset from the outcome"
        reject("`formula` must have no offset", "a term offset(…)", remedy)
    return formula


def _model_matrix(formula_or_spec: Any, data: object) -> Any:
    """Return the model matrix; reject categories that were not in the fit, and terms that cannot be computed."""
    frame = _without_arrow_columns(
        with_text_as_objects(as_frame(data)), set(map(str, formula_or_spec.required_variables))
    )
    matrix, problem = _compute_matrix(formula_or_spec, frame)
    if problem == "levels":
        reject("categories must be those of the fit", "others", "they have no coefficient")
    if matrix is None:
        consequence = "covariates are numbers, booleans or text, and functions of them"
        reject("every part of a formula must be computable from the data", problem, consequence)
    return matrix


def _without_arrow_columns(frame: Any, used_columns: set[str]) -> Any:
    """Convert Arrow-backed pandas columns to NumPy, because formulaic recognizes categories only in NumPy columns."""
    kinds = frame.dtypes.items() if hasattr(frame, "assign") else ()
    arrow = {name: kind.numpy_dtype for name, kind in kinds if name in used_columns and hasattr(kind, "pyarrow_dtype")}
    return frame.astype(arrow) if arrow else frame


def _compute_matrix(formula_or_spec: Any, frame: object) -> tuple[Any, str]:
    """Return the matrix and an empty text, or None and the term that failed.

    The exceptions of other libraries may quote data, so their messages are not passed on.
    """
    errors = extra("formulaic").errors
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.DataMismatchWarning)
        try:
            matrix = formula_or_spec.get_model_matrix(frame, context={}, na_action="ignore", output="numpy")
            np.asarray(matrix, dtype=np.float64)  # makes no copy if the matrix already holds floats
        except errors.DataMismatchWarning:
            return None, "levels"
        except Exception as problem:
            factor = re.search("factor `(.*?)`", str(problem))
            return None, repr(factor.group(1)) if factor else "a part that is not"
    return matrix, ""


def _model_matrix_of_new_data(spec: Any, data: object) -> Array:
    """Return the model matrix of a fit for new data."""
    frame = as_frame(data)
    needs = tuple(sorted(str(name) for name in spec.required_variables if str(name) in column_names(frame)))
    if missing := int(np.count_nonzero(rows_with_missing(frame, needs))):
        reject("covariates must not be missing", f"{missing} rows with missing values", "they have no prediction")
    return np.asarray(_model_matrix(spec.update(materializer=None), frame), dtype=np.float64)


def _checked_matrix(matrix: Array, labels: tuple[str, ...]) -> Array:
    """Return the matrix after checking its labels, values and shape."""
    if len(set(labels)) < len(labels):
        duplicate = next(label for label in labels if labels.count(label) > 1)
        reject("the names of coefficients must be unique", f"{duplicate!r} twice", "give a column another name")
    bad = ~np.isfinite(matrix).all(axis=0)
    if bad.any():
        name = labels[int(np.argmax(bad))]
        count = int(np.count_nonzero(~np.isfinite(matrix).all(axis=1)))
        reject("covariates must be finite", f"{count} rows that are not, in {name!r}", "leave those rows out")
    if matrix.shape[1] == 0:
        reject("a model must have at least one coefficient", "none", "write 1 for an intercept alone")
    if len(matrix) < matrix.shape[1]:
        received = f"{len(matrix)} for {matrix.shape[1]}"
        reject("there must be at least as many rows as coefficients", received, "they would not be determined")
    return matrix


def constant_columns(matrix: Array) -> Codes:
    """Return the indices of the columns that are constant and not 0; the first such column is the intercept."""
    return np.flatnonzero((matrix == matrix[0]).all(axis=0) & (matrix[0] != 0))


def standardize(covariates: Covariates) -> tuple[Array, Array]:
    """Return standardized columns, and the matrix that converts their coefficients to those of the original columns.

    Each column gets variance 1 and, if there is an intercept, mean 0.
    """
    matrix, width = covariates.matrix, covariates.matrix.shape[1]
    constant = constant_columns(matrix)
    mean = np.zeros(width)
    if len(constant):
        intercept = int(constant[0])
        mean = np.where(np.arange(width) == intercept, 0.0, matrix.mean(axis=0))
    centred = matrix - mean
    scale, size = (np.sqrt(np.einsum("ij,ij->j", table, table) / len(matrix)) for table in (centred, matrix))
    _reject_dependent(covariates.labels, scale <= _DEPENDENT * size)
    centred /= scale
    # Eigenvalues are cheap to compute; the slower QR decomposition runs only if one of them is small.
    if np.linalg.eigvalsh(centred.T @ centred / len(matrix))[0] < _SMALL_EIGENVALUE:
        residual = np.abs(np.diag(np.linalg.qr(centred, mode="r"))) / np.sqrt(len(matrix))
        _reject_dependent(covariates.labels, residual < _DEPENDENT)
    to_original = np.diag(1 / scale)
    if len(constant):
        to_original[intercept] -= mean / scale / matrix[0, intercept]
    return centred, to_original


def _reject_dependent(labels: tuple[str, ...], is_dependent: Mask) -> None:
    if is_dependent.any():
        label, remedy = labels[int(np.argmax(is_dependent))], "leave it out, or one of the others"
        rule = "no column may be a combination of the columns before it"
        reject(rule, repr(label), f"its coefficient is not determined: {remedy}")


def _check_covariate(data: object, column_name: str, *, is_bare: bool) -> None:
    """Reject a covariate that formulaic would misread; `is_bare` states whether the formula uses it without C(…)."""
    values = column(data, column_name, "a covariate")
    cells = values.tolist() if values.dtype.kind in "OUT" else []
    if any(isinstance(cell, list | dict | set | tuple | np.ndarray) for cell in cells):
        rule = f"the column {column_name!r} must hold one value in each row"
        reject(rule, "lists", "make one column for each element", TypeError)
    declared = declared_categories(data, column_name)
    if declared is not None:
        if declared[1]:
            remedy = f"leave them out, as by data[{column_name!r}].cat.remove_unused_categories()"
            received = f"{declared[1]} that nobody has"
            reject(f"every category of {column_name!r} must occur", received, f"they have no coefficient; {remedy}")
        return
    rule, category = (
        f"the column {column_name!r} must hold numbers or categories",
        f"or write C({column_name}) for categories",
    )
    if is_bare and (values.dtype.kind in "mM" or (cells and all(isinstance(cell, date | timedelta) for cell in cells))):
        remedy = f"they have no unit: convert them to days, as by (date - first).days, {category}"
        reject(rule, "dates or times", remedy, TypeError)
    if is_bare and cells and all(map(_is_number, cells)):
        remedy = f"each would be a separate category; convert the column, as by astype(float), {category}"
        reject(rule, "numbers stored as text", remedy, TypeError)


def _is_number(cell: object) -> bool:
    """Return whether a cell is a number, or text that can be read as a number."""
    if not isinstance(cell, str):
        return isinstance(cell, int | float | Decimal | Fraction | np.number) and not isinstance(cell, bool)
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
