"""Conversion of answers and reports of any type to codes 0 … k-1.

Lists, NumPy arrays, pandas and polars Series and pyarrow arrays of booleans, codes or labels are all accepted; none of
these libraries is imported to do so. Messages count what is wrong and never quote an answer.

Whole numbers are codes if all labels are texts, and labels if one of the labels is a number, as in points 1 … 5. If
labels are of both types, as in 1, 2, 3, "undisclosed", the text "1" and the number 1 mean the same label; no two labels
have the same text.
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
from toolkit.local.matrix.moments import Forced, forced_form


def draw_reports(weights: npt.NDArray[np.int64], form: Forced | None, codes: Codes, rng: Rng) -> Codes:
    """Draw a report code for each answer code; `form` is the forced form of the weights, if they have one."""
    if form is not None and form.truth < 0 and len(weights) == 2:
        # Reports favor the opposite answer, so that the flipped answer has a forced form with a positive weight.
        codes, form = codes ^ 1, forced_form(weights[::-1])
    if form is not None and form.truth > 0:
        return _truth_or_forced(codes, Categorical([*form.forced, form.truth]), rng)
    reports = np.empty(len(codes), dtype=np.intp)
    for truth, row in enumerate(weights):
        members = np.flatnonzero(codes == truth)
        reports[members] = Categorical(row).draw(len(members), rng)
    return reports


def _truth_or_forced(codes: Codes, cells: Categorical, rng: Rng) -> Codes:
    """Draw reports: the last cell reports the answer, and cell j before it reports option j."""
    truth_cell = cells.outcomes - 1
    reports = np.empty_like(codes)
    for start in range(0, len(codes), CHUNK):
        truth = codes[start : start + CHUNK]
        cell = cells.draw(len(truth), rng).astype(codes.dtype, copy=False)
        # All bits are set where the answer is replaced. Selecting by bits is ten times as fast as by a mask.
        replaced = -(cell < truth_cell).astype(codes.dtype)
        reports[start : start + CHUNK] = truth ^ ((truth ^ cell) & replaced)
    return reports


YES = frozenset({"yes", "y", "true", "t", "1", "ja", "oui", "si", "sí", "x"})
NO = frozenset({"no", "n", "false", "f", "0", "nein", "non"})
"""Words that mean yes and no wherever reports are read."""
_TRUTH = (bool, np.bool_)


@dataclass(frozen=True)
class Encoded:
    """Codes with the type in which they were given, so that a result can be returned in the same type."""

    codes: Codes  # of the smallest signed type
    kind: str  # "boolean", "code", "label", or "text" where labels that are numbers were given as texts
    given: np.dtype[Any]
    scalar: bool

    def like(self, codes: Codes, labels: Labels) -> Any:
        """Convert codes of `labels` to the type that was given."""
        if self.kind == "boolean" and len(labels) == 2:
            result = codes.astype(bool)
        elif self.kind in ("label", "text"):
            result = as_labels(codes, tuple(map(str, labels)) if self.kind == "text" else labels)
        else:
            fits = self.given.kind in "iu" and len(labels) - 1 <= np.iinfo(self.given).max
            result = codes.astype(self.given if fits else np.intp, copy=False)
        return result.tolist()[0] if self.scalar else result


def as_labels(codes: Codes, labels: Labels) -> npt.NDArray[Any]:
    """Return the labels of codes; labels of different types keep their types."""
    return np.asarray(np.array(labels, dtype=object if _mixed(labels) else None)[codes])


def encode(values: Values, labels: Labels, noun: str) -> Encoded:
    """Encode `values` as codes of `labels`; `noun` names them in errors ("answers", "reports")."""
    if hasattr(values, "columns"):
        reject(f"{noun} must be one column", type(values).__name__, f'write frame["{noun[:-1]}"]', TypeError)
    _check_complete(values, noun)
    array = _as_array(values)
    scalar = array.ndim == 0
    array = array.reshape(1) if scalar else array
    if array.ndim != 1:
        reject(f"{noun} must be one-dimensional", f"{array.ndim} dimensions", "give one per person")
    if array.size == 0:
        reject(f"{noun} must hold at least one entry", "none", "there is nothing to read")
    if _mixed(labels) and not isinstance(array[0], _TRUTH):
        texts, textual = _as_text(array, labels)
        codes = _find(texts, tuple(map(str, labels)), noun)
        return Encoded(codes, "text" if textual else "label", array.dtype, scalar)
    array = _typed(array, noun)
    if array.dtype.kind in "biu":
        _check_unambiguous(labels, noun)
    if array.dtype.kind == "b":
        if len(labels) != 2:
            rule = f"{noun} may be booleans only if there are two options"
            reject(rule, f"{len(labels)} options", "give labels or codes", TypeError)
        return Encoded(array.view(np.int8), "boolean", array.dtype, scalar)
    if array.dtype.kind in "iu" and not numbers_are_labels(labels):
        return Encoded(_checked_codes(array, labels, noun), "code", array.dtype, scalar)
    return Encoded(_find(array, labels, noun), "label", array.dtype, scalar)


def tally(values: Values, labels: Labels, noun: str, times: ArrayLike | None = None) -> npt.NDArray[np.int64]:
    """Count each label, in the order of the labels; each value counts once, or `times` times."""
    if times is None and (fast_counts := _count_codes(values, labels)) is not None:
        return fast_counts
    encoded = encode(values, labels, noun)
    if times is not None:
        return times_each(encoded.codes, checked_times(times, len(encoded.codes)), len(labels))
    if len(labels) == 2:
        last = int(np.count_nonzero(encoded.codes))
        return np.array([len(encoded.codes) - last, last], dtype=np.int64)
    counts = np.zeros(len(labels), dtype=np.int64)
    for start in range(0, len(encoded.codes), CHUNK):
        counts += np.bincount(encoded.codes[start : start + CHUNK], minlength=len(labels))
    return counts


def _count_codes(values: Values, labels: Labels) -> npt.NDArray[np.int64] | None:
    """Count codes of type `numpy.intp` without a copy; return None for other types and for codes out of range."""
    if type(values) is not np.ndarray or values.ndim != 1 or values.dtype != np.intp:
        return None
    if values.size == 0 or numbers_are_labels(labels) or looks_like_others(labels):
        return None
    counts = np.zeros(len(labels), dtype=np.int64)
    for start in range(0, len(values), CHUNK):
        part = values[start : start + CHUNK]
        if part.min() < 0 or part.max() >= len(labels):
            return None
        counts += np.bincount(part, minlength=len(labels))
    return counts


def numbers_are_labels(labels: Labels) -> bool:
    """Return whether whole numbers are labels, as in points 1 … 5, rather than codes."""
    return any(isinstance(label, int) for label in labels) and labels != tuple(range(len(labels)))


def looks_like_others(labels: Labels) -> bool:
    """Return whether numbers or truth values would be codes of other labels than those that they look like.

    With labels ("1", "2") the code 1 is that of "2", and with ("yes", "no") the code True is that of "no".
    """
    texts = [label for label in labels if isinstance(label, str)]
    if len(texts) < len(labels):
        return False
    if len(texts) == 2 and texts[0].strip().casefold() in YES and texts[1].strip().casefold() in NO:
        return True
    if not any(text.isdecimal() for text in texts):
        return False
    codes_by_text = {text: code for code, text in enumerate(texts)}
    return any(codes_by_text.get(str(code), code) != code for code in range(len(texts)))


def _check_unambiguous(labels: Labels, noun: str) -> None:
    if looks_like_others(labels):
        texts = ", ".join(map(repr, labels[:8])) + (", …" if len(labels) > 8 else "")
        rule = f"{noun} must be given as the texts of the options ({texts})"
        consequence = "as codes they would mean other options than they seem to"
        reject(rule, "numbers or truth values", consequence, TypeError)


def _mixed(labels: Labels) -> bool:
    """Return whether some labels are numbers and others texts."""
    return len(set(map(type, labels))) > 1


def _as_text(array: npt.NDArray[Any], labels: Labels) -> tuple[npt.NDArray[Any], bool]:
    """Convert numbers and texts to texts; return them and whether a number was given as a text.

    Cells of other types become "", which is never a label.
    """
    if array.dtype.kind in "UT":
        return array, True
    cells = array.tolist()
    texts = [str(int(cell)) if _is_whole(cell) else cell if isinstance(cell, str) else "" for cell in cells]
    numbers = {str(label) for label in labels if not isinstance(label, str)}
    return np.array(texts, dtype=object), any(isinstance(cell, str) and cell in numbers for cell in cells)


def _is_whole(cell: object) -> bool:
    """Return whether a cell is a whole number, as an integer or as a float."""
    if isinstance(cell, _TRUTH):
        return False
    return isinstance(cell, int | np.integer) or (isinstance(cell, float) and cell.is_integer())


def in_order(counts: Mapping[Label, float] | ArrayLike, labels: Labels) -> Any:
    """Arrange counts by label, from a mapping or a Series of `value_counts`, in the order of the labels."""
    index = getattr(counts, "index", None)
    if index is not None and hasattr(counts, "to_dict") and list(index) != list(range(len(labels))):
        counts = counts.to_dict()
    if not isinstance(counts, Mapping):
        return counts
    truths = {False: labels[0], True: labels[1]} if len(labels) == 2 else {}
    by_label = {truths[key] if isinstance(key, bool) and truths else key: n for key, n in counts.items()}
    if unknown := [key for key in by_label if key not in labels]:
        rule = f"the keys of `counts` must be reports {label_order(labels)}"
        reject(rule, ", ".join(map(repr, unknown[:3])), "the design has no such report")
    return [by_label.get(label, 0) for label in labels]


def label_order(labels: Labels) -> str:
    """Format labels in their order, in parentheses; at most the first eight."""
    return f"({', '.join(map(str, labels[:8]))}{', …' if len(labels) > 8 else ''})"


def checked_counts(counts: ArrayLike, kinds: int, labels: Labels = ()) -> npt.NDArray[np.float64]:
    """Check the number of reports of each kind, which are whole and not all zero; messages quote the `labels`."""
    order = "they are in the order of report_options"
    if labels:
        order = f"their order is {label_order(labels)}; by label it is {{{labels[0]!r}: …, {labels[-1]!r}: …}}"
    numbers = whole_counts(counts, kinds, "reports", order)
    if numbers.min() < 0:
        reject("`counts` must not be negative", "a negative count", "they count reports")
    if numbers.sum() == 0:
        reject("`counts` must hold at least one report", "none", "there is nothing to estimate from")
    return numbers


def whole_counts(counts: ArrayLike, kinds: int, of: str, order: str) -> npt.NDArray[np.float64]:
    """Check that counts are whole numbers, one for each kind; `of` names the kinds in messages."""
    numbers = np.asarray(counts)
    if numbers.shape != (kinds,):
        reject(f"`counts` must hold one number for each of {kinds} {of}", f"shape {numbers.shape}", order)
    if numbers.dtype.kind not in "iuf" or not np.all(np.isfinite(numbers) & (numbers == np.floor(numbers))):
        consequence = "they count reports"
        reject("`counts` must be whole numbers", f"other values of type {numbers.dtype}", consequence, TypeError)
    return numbers.astype(np.float64)


def checked_times(times: ArrayLike, kinds: int) -> npt.NDArray[np.int64]:
    """Check how often each report occurs: whole numbers, not all zero, whose sum a float holds exactly."""
    numbers = checked_counts(times, kinds)
    if numbers.sum() > 2**53:
        reject("`times` must sum to at most 2**53", "more", "the sums would lose their last digits")
    return numbers.astype(np.int64)


def times_each(codes: npt.NDArray[Any], times: npt.NDArray[np.int64] | None, kinds: int) -> npt.NDArray[np.int64]:
    """Count each code, where each entry counts `times` times."""
    return np.bincount(codes, times, minlength=kinds).astype(np.int64)


def _check_complete(values: Values, noun: str) -> None:
    missing, total = _missing(values)
    if missing:
        consequence = "drop them first (for example with .dropna()), or make 'no answer' an option of the design"
        reject(f"{noun} must not be missing", f"{missing} missing of {total}", consequence)


def _missing(values: Any) -> tuple[int, int]:
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


def _typed(array: npt.NDArray[Any], noun: str) -> npt.NDArray[Any]:
    """Convert objects to their common type and whole floats to integers; reject everything else."""
    if array.dtype.kind == "O":
        kinds = {bool if issubclass(kind, bool | np.bool_) else kind for kind in set(map(type, array.tolist()))}
        if kinds == {bool}:
            return array.astype(bool)
        if all(issubclass(kind, str) for kind in kinds):
            return array
        if bool not in kinds and all(issubclass(kind, int | np.integer) for kind in kinds):
            return np.asarray(np.clip(array, -1, 2**62), dtype=np.int64)  # clipped values are out of range as well
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
    codes, outside = np.empty(len(array), dtype=small_type(len(labels))), 0
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


def small_type(k: int) -> np.dtype[np.signedinteger]:
    """Return the smallest signed integer type for k codes and a negative marker."""
    return np.min_scalar_type(-k - 1)


def says_yes(labels: Labels) -> dict[bool, int] | None:
    """Return the codes of no and yes, if the labels are these two."""
    words = [str(label).strip().casefold() for label in labels]
    texts = all(isinstance(label, str) for label in labels)
    if len(words) != 2 or not texts or {word in YES for word in words} != {True, False}:
        return None
    yes = words.index(next(word for word in words if word in YES))
    return {True: yes, False: 1 - yes} if words[1 - yes] in NO else None


def _by_key(labels: Labels) -> dict[str, int]:
    """Map spellings of the labels to codes: labels in any case, and the usual words for yes and no."""
    keys = [str(label).strip().casefold() for label in labels]
    unique_keys = {key: code for code, key in enumerate(keys) if keys.count(key) == 1}
    codes = says_yes(labels)
    return unique_keys if codes is None else {word: codes[word in YES] for word in YES | NO} | unique_keys


def _find(array: npt.NDArray[Any], labels: Labels, noun: str) -> Codes:
    """Find the codes of labels in an array of either texts or numbers, among the labels of the same type."""
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
    codes = np.array(list(table.values()), dtype=small_type(len(labels)))[indices]
    if unknown and noun == "reports" and textual:
        words = _by_key(labels)
        cells = [table.get(cell, words.get(cell.strip().casefold(), -1)) for cell in array.tolist()]
        codes = np.array(cells, dtype=codes.dtype)
        unknown = int(np.count_nonzero(codes < 0))
    if unknown:
        texts = ", ".join(map(str, labels[:8])) + (", …" if len(labels) > 8 else "")
        case = "" if noun == "reports" else " and case"
        consequence = f"check spelling{case}; codes 0, 1, … are also read, and truth values for two options"
        reject(f"{noun} must be among the options ({texts})", f"{unknown} of {array.size} that are not", consequence)
    return codes


def distribution(prevalence: Any, options: int, name: str) -> Array:
    """Return a share for each option; for two options the share of the second is enough."""
    law = given = read_shares(prevalence, name)
    if law.ndim == 0 and options == 2:
        law = np.array([1 - float(law), float(law)])
    if law.shape != (options,):
        reject(
            f"`{name}` must have a share for each of {options} options",
            f"shape {law.shape}",
            "give one share per option",
        )
    if not np.all((law >= 0) & (law <= 1)) or abs(law.sum() - 1) > 1e-9:
        percent = f"; of {prevalence} percent write {float(given) / 100:g}" if given.ndim == 0 and given > 1 else ""
        consequence = f"it is a distribution of the answers{percent}"
        reject(f"`{name}` must be shares from 0 to 1 that sum to 1", prevalence, consequence)
    return law
