"""Conversion of answers and reports of any type to codes 0 … k-1.

Lists, NumPy arrays, pandas and polars Series and pyarrow arrays of booleans, codes or labels are all accepted; none of
these libraries is imported to do so. Error messages state the number of invalid values and never quote an answer.

Whole numbers are codes if all labels are strings, and labels if one of the labels is a number, as on a scale from 1 to
5. If labels are of both types, as in 1, 2, 3, "undisclosed", the string "1" and the number 1 mean the same label; no
two labels are equal as strings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, Codes, Label, Labels, Values
from toolkit.core.checks import is_missing, read_shares, reject
from toolkit.core.randomness import Rng
from toolkit.core.sampling import CHUNK, Categorical
from toolkit.local.matrix.moments import ForcedForm, forced_form


def draw_reports(weights: npt.NDArray[np.int64], form: ForcedForm | None, codes: Codes, rng: Rng) -> Codes:
    """Draw a report code for each answer code; `form` is the forced form of the weights, if they have one."""
    if form is not None and form.truth_weight < 0 and len(weights) == 2:
        # Reports favor the opposite answer, so the flipped answer has a forced form with a positive weight.
        codes, form = codes ^ 1, forced_form(weights[::-1])
    if form is not None and form.truth_weight > 0:
        return _draw_truth_or_forced(codes, Categorical([*form.forced_weights, form.truth_weight]), rng)
    reports = np.empty(len(codes), dtype=np.intp)
    for truth, row in enumerate(weights):
        members = np.flatnonzero(codes == truth)
        reports[members] = Categorical(row).draw(len(members), rng)
    return reports


def _draw_truth_or_forced(codes: Codes, cells: Categorical, rng: Rng) -> Codes:
    """Draw reports: the last cell reports the answer, and cell j before it reports option j."""
    truth_cell = cells.outcomes - 1
    reports = np.empty_like(codes)
    for start in range(0, len(codes), CHUNK):
        truth = codes[start : start + CHUNK]
        cell = cells.draw(len(truth), rng).astype(codes.dtype, copy=False)
        # All bits are set where the answer is replaced. Bitwise selection is ten times as fast as a boolean mask.
        replaced = -(cell < truth_cell).astype(codes.dtype)
        reports[start : start + CHUNK] = truth ^ ((truth ^ cell) & replaced)
    return reports


YES_WORDS = frozenset({"yes", "y", "true", "t", "1", "ja", "oui", "si", "sí", "x"})
NO_WORDS = frozenset({"no", "n", "false", "f", "0", "nein", "non"})
"""Words that mean yes and no wherever reports are read."""
_BOOLEAN_TYPES = (bool, np.bool_)


@dataclass(frozen=True, eq=False)
class EncodedValues:
    """Codes with the type of the input, so that a result can be returned in the same type."""

    codes: Codes  # of the smallest signed type
    input_kind: str  # "boolean", "code", "label", or "text" where labels that are numbers were given as strings
    input_dtype: np.dtype[Any]
    is_scalar: bool

    def to_input_type(self, codes: Codes, labels: Labels) -> Any:
        """Convert codes of `labels` to the type of the input."""
        if self.input_kind == "boolean" and len(labels) == 2:
            result = codes.astype(bool)
        elif self.input_kind in ("label", "text"):
            result = as_labels(codes, tuple(map(str, labels)) if self.input_kind == "text" else labels)
        else:
            fits = self.input_dtype.kind in "iu" and len(labels) - 1 <= np.iinfo(self.input_dtype).max
            result = codes.astype(self.input_dtype if fits else np.intp, copy=False)
        return result.tolist()[0] if self.is_scalar else result


def as_labels(codes: Codes, labels: Labels) -> npt.NDArray[Any]:
    """Return the labels of codes; labels of different types keep their types."""
    return np.asarray(np.array(labels, dtype=object if _have_mixed_types(labels) else None)[codes])


def encode(values: Values, labels: Labels, noun: str) -> EncodedValues:
    """Encode `values` as codes of `labels`; `noun` names them in errors ("answers", "reports")."""
    if hasattr(values, "columns"):
        reject(f"{noun} must be one column", type(values).__name__, f'write frame["{noun[:-1]}"]', TypeError)
    _check_complete(values, noun)
    array = _as_array(values)
    is_scalar = array.ndim == 0
    array = array.reshape(1) if is_scalar else array
    if array.ndim != 1:
        reject(f"{noun} must be one-dimensional", f"{array.ndim} dimensions", "give one per person")
    if array.size == 0:
        reject(f"{noun} must hold at least one entry", "none", "there is nothing to read")
    if _have_mixed_types(labels) and not isinstance(array[0], _BOOLEAN_TYPES):
        texts, textual = _to_texts(array, labels)
        codes = _find_codes(texts, tuple(map(str, labels)), noun)
        return EncodedValues(codes, "text" if textual else "label", array.dtype, is_scalar)
    array = _to_common_type(array, noun)
    if array.dtype.kind in "biu":
        _check_unambiguous(labels, noun)
    if array.dtype.kind == "b":
        if len(labels) != 2:
            rule = f"{noun} may be booleans only if there are two options"
            reject(rule, f"{len(labels)} options", "give labels or codes", TypeError)
        return EncodedValues(array.view(np.int8), "boolean", array.dtype, is_scalar)
    if array.dtype.kind in "iu" and not numbers_are_labels(labels):
        return EncodedValues(_checked_codes(array, labels, noun), "code", array.dtype, is_scalar)
    return EncodedValues(_find_codes(array, labels, noun), "label", array.dtype, is_scalar)


def tally(values: Values, labels: Labels, noun: str, times: ArrayLike | None = None) -> npt.NDArray[np.int64]:
    """Count each label, in the order of the labels; `times` repeats values."""
    if times is None and (fast_counts := _count_native_codes(values, labels)) is not None:
        return fast_counts
    encoded = encode(values, labels, noun)
    if times is not None:
        return count_codes(encoded.codes, checked_times(times, len(encoded.codes)), len(labels))
    if len(labels) == 2:
        last = int(np.count_nonzero(encoded.codes))
        return np.array([len(encoded.codes) - last, last], dtype=np.int64)
    counts = np.zeros(len(labels), dtype=np.int64)
    for start in range(0, len(encoded.codes), CHUNK):
        counts += np.bincount(encoded.codes[start : start + CHUNK], minlength=len(labels))
    return counts


def _count_native_codes(values: Values, labels: Labels) -> npt.NDArray[np.int64] | None:
    """Count codes of type `numpy.intp` without a copy; return None for other types and for codes out of range."""
    if type(values) is not np.ndarray or values.ndim != 1 or values.dtype != np.intp:
        return None
    if values.size == 0 or numbers_are_labels(labels) or codes_are_ambiguous(labels):
        return None
    counts = np.zeros(len(labels), dtype=np.int64)
    for start in range(0, len(values), CHUNK):
        part = values[start : start + CHUNK]
        if part.min() < 0 or part.max() >= len(labels):
            return None
        counts += np.bincount(part, minlength=len(labels))
    return counts


def numbers_are_labels(labels: Labels) -> bool:
    """Return whether whole numbers are labels, as on a scale from 1 to 5, rather than codes."""
    return any(isinstance(label, int) for label in labels) and labels != tuple(range(len(labels)))


def codes_are_ambiguous(labels: Labels) -> bool:
    """Return whether a number or boolean could look like one label but be the code of another label.

    With labels ("1", "2"), 1 is the code of "2". With labels ("yes", "no"), True is the code of "no".
    """
    texts = [label for label in labels if isinstance(label, str)]
    if len(texts) < len(labels):
        return False
    if len(texts) == 2 and texts[0].strip().casefold() in YES_WORDS and texts[1].strip().casefold() in NO_WORDS:
        return True
    if not any(text.isdecimal() for text in texts):
        return False
    codes_by_text = {text: code for code, text in enumerate(texts)}
    return any(codes_by_text.get(str(code), code) != code for code in range(len(texts)))


def _check_unambiguous(labels: Labels, noun: str) -> None:
    if codes_are_ambiguous(labels):
        texts = ", ".join(map(repr, labels[:8])) + (", …" if len(labels) > 8 else "")
        rule = f"{noun} must be given as the texts of the options ({texts})"
        consequence = "a number would be read as the code of a different option"
        reject(rule, "numbers or truth values", consequence, TypeError)


def _have_mixed_types(labels: Labels) -> bool:
    """Return whether some labels are numbers and others are strings."""
    return len(set(map(type, labels))) > 1


def _to_texts(array: npt.NDArray[Any], labels: Labels) -> tuple[npt.NDArray[Any], bool]:
    """Convert numbers and strings to strings; also return whether a number was given as a string.

    Cells of other types become "", which is never a label.
    """
    if array.dtype.kind in "UT":
        return array, True
    cells = array.tolist()
    texts = [str(int(cell)) if _is_whole_number(cell) else cell if isinstance(cell, str) else "" for cell in cells]
    numbers = {str(label) for label in labels if not isinstance(label, str)}
    return np.array(texts, dtype=object), any(isinstance(cell, str) and cell in numbers for cell in cells)


def _is_whole_number(cell: object) -> bool:
    """Return whether a cell is a whole number, as an integer or as a float."""
    if isinstance(cell, _BOOLEAN_TYPES):
        return False
    return isinstance(cell, int | np.integer) or (isinstance(cell, float) and cell.is_integer())


def counts_in_order(counts: Mapping[Label, float] | ArrayLike, labels: Labels) -> Any:
    """Arrange counts that are given by label, in a mapping or a Series, in the order of the labels."""
    index = getattr(counts, "index", None)
    if index is not None and hasattr(counts, "to_dict") and list(index) != list(range(len(labels))):
        counts = counts.to_dict()
    if not isinstance(counts, Mapping):
        return counts
    truths = {False: labels[0], True: labels[1]} if len(labels) == 2 else {}
    by_label = {truths[key] if isinstance(key, bool) and truths else key: n for key, n in counts.items()}
    if unknown := [key for key in by_label if key not in labels]:
        rule = f"the keys of `counts` must be reports {format_labels(labels)}"
        reject(rule, ", ".join(map(repr, unknown[:3])), "the design has no such report")
    return [by_label.get(label, 0) for label in labels]


def format_labels(labels: Labels) -> str:
    """Format labels in their order, in parentheses; at most the first eight."""
    return f"({', '.join(map(str, labels[:8]))}{', …' if len(labels) > 8 else ''})"


def checked_counts(counts: ArrayLike, n_kinds: int, labels: Labels = ()) -> npt.NDArray[np.float64]:
    """Check that the counts of reports are whole and not all zero; messages quote the `labels`."""
    order = "they are in the order of `report_options`"
    if labels:
        order = f"their order is {format_labels(labels)}; by label it is {{{labels[0]!r}: …, {labels[-1]!r}: …}}"
    numbers = checked_whole_counts(counts, n_kinds, "reports", order)
    if numbers.min() < 0:
        reject("`counts` must not be negative", "a negative count", "they count reports")
    if numbers.sum() == 0:
        reject("`counts` must hold at least one report", "none", "there is nothing to estimate from")
    return numbers


def checked_whole_counts(counts: ArrayLike, n_kinds: int, noun: str, consequence: str) -> npt.NDArray[np.float64]:
    """Check that counts are whole numbers, one for each kind; `noun` names the kinds in messages."""
    numbers = np.asarray(counts)
    if numbers.shape != (n_kinds,):
        reject(f"`counts` must hold one number for each of {n_kinds} {noun}", f"shape {numbers.shape}", consequence)
    if numbers.dtype.kind not in "iuf" or not np.all(np.isfinite(numbers) & (numbers == np.floor(numbers))):
        consequence = "they count reports"
        reject("`counts` must be whole numbers", f"other values of type {numbers.dtype}", consequence, TypeError)
    return numbers.astype(np.float64)


def checked_times(times: ArrayLike, n_reports: int) -> npt.NDArray[np.int64]:
    """Check that the frequencies of reports are whole numbers, not all zero, with a sum that is exact as a float."""
    numbers = checked_counts(times, n_reports)
    if numbers.sum() > 2**53:
        reject("`times` must sum to at most 2**53", "more", "the sums would lose their last digits")
    return numbers.astype(np.int64)


def count_codes(codes: npt.NDArray[Any], times: npt.NDArray[np.int64] | None, n_codes: int) -> npt.NDArray[np.int64]:
    """Count each code; `times` repeats entries."""
    return np.bincount(codes, times, minlength=n_codes).astype(np.int64)


def _check_complete(values: Values, noun: str) -> None:
    missing, total = _count_missing(values)
    if missing:
        consequence = "drop them first (for example with .dropna()), or make 'no answer' an option of the design"
        reject(f"{noun} must not be missing", f"{missing} missing of {total}", consequence)


def _count_missing(values: Any) -> tuple[int, int]:
    if hasattr(values, "null_count") and not hasattr(values, "to_pylist"):  # polars
        floats = values.dtype.is_float()
        return int(values.null_count()) + (int(values.is_nan().sum() or 0) if floats else 0), len(values)
    if hasattr(values, "isna"):  # pandas
        return int(values.isna().sum()), len(values)
    if isinstance(values, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(values).sum()), values.size
    array = _as_array(values)
    if array.dtype.kind == "f":
        return int(np.isnan(array).sum()), array.size
    if array.dtype.kind == "O" and not set(map(type, cells := array.ravel().tolist())) <= {str, int, bool}:
        return sum(map(is_missing, cells)), array.size
    return 0, array.size


def _as_array(values: Values) -> npt.NDArray[Any]:
    """Convert values to an array; lists become arrays of objects, because NumPy turns mixed lists into text."""
    if hasattr(values, "to_pylist"):
        return np.asarray(values)
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    return values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)


def _to_common_type(array: npt.NDArray[Any], noun: str) -> npt.NDArray[Any]:
    """Convert objects to their common type and whole floats to integers; reject everything else."""
    if array.dtype.kind == "O":
        kinds = {bool if issubclass(kind, bool | np.bool_) else kind for kind in set(map(type, array.tolist()))}
        if kinds == {bool}:
            return array.astype(bool)
        if all(issubclass(kind, str) for kind in kinds):
            return array
        if bool not in kinds and all(issubclass(kind, int | np.integer) for kind in kinds):
            return np.asarray(np.clip(array, -1, 2**62), dtype=np.int64)  # clipped values remain out of range
        if bool not in kinds and all(issubclass(kind, int | float | np.number) for kind in kinds):
            array = array.astype(np.float64)
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)):
            reject(f"{noun} given as floats must be whole codes", "fractions or infinities", "codes are 0, 1, 2, …")
        return array.astype(np.int64)
    if array.dtype.kind in "biuUT":
        return array
    rule = f"{noun} must be booleans, codes or labels, all of one type"
    reject(rule, "another type", "convert them first", TypeError)


def _checked_codes(array: npt.NDArray[Any], labels: Labels, noun: str) -> Codes:
    codes, outside = np.empty(len(array), dtype=smallest_code_type(len(labels))), 0
    for start in range(0, len(array), CHUNK):
        part = array[start : start + CHUNK]
        if part.min() < 0 or part.max() >= len(labels):
            outside += int(np.count_nonzero((part < 0) | (part >= len(labels))))
        codes[start : start + CHUNK] = part
    if outside:
        rule = f"{noun} given as codes must lie in 0 … {len(labels) - 1}"
        pairs = ", ".join(f"…: {label!r}" for label in labels[:3])
        consequence = f"map other codes to labels first, column.replace({{{pairs}}})"
        reject(rule, f"{outside} of {array.size} outside", consequence)
    return codes


def smallest_code_type(n_codes: int) -> np.dtype[np.signedinteger]:
    """Return the smallest signed integer type for k codes and a negative marker."""
    return np.min_scalar_type(-n_codes - 1)


def yes_no_codes(labels: Labels) -> dict[bool, int] | None:
    """Return the codes of no and yes if these are the two labels."""
    words = [str(label).strip().casefold() for label in labels]
    texts = all(isinstance(label, str) for label in labels)
    if len(words) != 2 or not texts or {word in YES_WORDS for word in words} != {True, False}:
        return None
    yes = words.index(next(word for word in words if word in YES_WORDS))
    return {True: yes, False: 1 - yes} if words[1 - yes] in NO_WORDS else None


def _codes_by_spelling(labels: Labels) -> dict[str, int]:
    """Map spellings of the labels to codes: labels in any case, and the usual words for yes and no."""
    keys = [str(label).strip().casefold() for label in labels]
    unique_keys = {key: code for code, key in enumerate(keys) if keys.count(key) == 1}
    codes = yes_no_codes(labels)
    return (
        unique_keys
        if codes is None
        else {word: codes[word in YES_WORDS] for word in YES_WORDS | NO_WORDS} | unique_keys
    )


def _find_codes(array: npt.NDArray[Any], labels: Labels, noun: str) -> Codes:
    """Find the codes of labels in an array of either strings or numbers, among the labels of the same type."""
    textual = array.dtype.kind not in "iu"
    table = {label: code for code, label in enumerate(labels) if isinstance(label, str) == textual}
    if not table:
        consequence = "no option has that type"
        reject(f"{noun} must have the type of the options", "text" if textual else "numbers", consequence, TypeError)
    names = np.array(list(table), dtype=object if array.dtype.kind == "O" else None)
    order = np.argsort(names, kind="stable")
    ranks = np.minimum(np.searchsorted(names[order], array), len(names) - 1)
    indices = order[ranks]
    unknown = int(np.count_nonzero(names[indices] != array))
    codes = np.array(list(table.values()), dtype=smallest_code_type(len(labels)))[indices]
    if unknown and noun == "reports" and textual:
        words = _codes_by_spelling(labels)
        cells = [table.get(cell, words.get(cell.strip().casefold(), -1)) for cell in array.tolist()]
        codes = np.array(cells, dtype=codes.dtype)
        unknown = int(np.count_nonzero(codes < 0))
    if unknown:
        case = "" if noun == "reports" else " and case"
        consequence = f"check spelling{case}; codes 0, 1, … are also read, and truth values for two options"
        rule = f"{noun} must be among the options {format_labels(labels)}"
        reject(rule, f"{unknown} of {array.size} that are not", consequence)
    return codes


def checked_distribution(prevalence: Any, n_options: int, name: str) -> Array:
    """Return a share for each option; a single number is the share of the second of two options."""
    shares = given = read_shares(prevalence, name)
    if shares.ndim == 0 and n_options == 2:
        shares = np.array([1 - float(shares), float(shares)])
    if shares.shape != (n_options,):
        rule = f"`{name}` must have a share for each of {n_options} options"
        reject(rule, f"shape {shares.shape}", "give one share per option")
    if not np.all((shares >= 0) & (shares <= 1)) or abs(shares.sum() - 1) > 1e-9:
        is_percentage = given.ndim == 0 and given > 1
        remedy = f"; for {prevalence} percent write {float(given) / 100:g}" if is_percentage else ""
        consequence = f"it is a distribution of the answers{remedy}"
        reject(f"`{name}` must be shares from 0 to 1 that sum to 1", prevalence, consequence)
    return shares
