"""Answers and reports, however they are given, as codes 0 … k-1.

Lists, NumPy arrays, pandas and polars Series and pyarrow arrays of booleans, codes or labels are all accepted; none of
these libraries is imported to do so. Messages count what is wrong and never quote an answer.

Whole numbers are codes where all labels are texts, and labels where one of them is a number, as in points
1 … 5. Where labels are both, as in 1, 2, 3, "undisclosed", the text "1" and the number 1 mean the same: no
two such labels are written alike.
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
    """One report code for each answer code; `form` is the forced form of the weights, if they have one."""
    if form is not None and form.truth < 0 and len(weights) == 2:  # the opposite answer, seen in the mirror
        codes, form = codes ^ 1, forced_form(weights[::-1])
    if form is not None and form.truth > 0:
        return _kept_or_forced(codes, Categorical([*form.forced, form.truth]), rng)
    reports = np.empty(len(codes), dtype=np.intp)
    for truth, row in enumerate(weights):
        members = np.flatnonzero(codes == truth)
        reports[members] = Categorical(row).draw(len(members), rng)
    return reports


def _kept_or_forced(codes: Codes, cells: Categorical, rng: Rng) -> Codes:
    """The last cell keeps the answer, cell j before it replaces the answer by option j."""
    keep = cells.outcomes - 1
    reports = np.empty_like(codes)
    for start in range(0, len(codes), CHUNK):
        truth = codes[start : start + CHUNK]
        cell = cells.draw(len(truth), rng).astype(codes.dtype, copy=False)
        # All bits set where the answer is replaced: choosing without branches is ten times as fast as with a
        # mask.
        replaced = -(cell < keep).astype(codes.dtype)
        reports[start : start + CHUNK] = truth ^ ((truth ^ cell) & replaced)
    return reports


YES = frozenset({"yes", "y", "true", "t", "1", "ja", "oui", "si", "sí", "x"})
NO = frozenset({"no", "n", "false", "f", "0", "nein", "non"})
"""Words that stand for yes and no wherever reports are read."""
_TRUTH = (bool, np.bool_)


@dataclass(frozen=True)
class Encoded:
    """Codes, and what they were given as, so that a result can be returned as the same kind."""

    codes: Codes  # of the smallest signed type
    kind: str  # "boolean", "code", "label", or "text" where labels that are numbers were given as texts
    given: np.dtype[Any]
    scalar: bool

    def like(self, codes: Codes, labels: Labels) -> Any:
        """Codes of `labels` as the kind of thing that was given."""
        if self.kind == "boolean" and len(labels) == 2:
            result = codes.astype(bool)
        elif self.kind in ("label", "text"):
            result = as_labels(codes, tuple(map(str, labels)) if self.kind == "text" else labels)
        else:
            fits = self.given.kind in "iu" and len(labels) - 1 <= np.iinfo(self.given).max
            result = codes.astype(self.given if fits else np.intp, copy=False)
        return result.tolist()[0] if self.scalar else result


def as_labels(codes: Codes, labels: Labels) -> npt.NDArray[Any]:
    """The labels that codes stand for; numbers and texts side by side stay what they are."""
    return np.asarray(np.array(labels, dtype=object if _mixed(labels) else None)[codes])


def encode(values: Values, labels: Labels, what: str) -> Encoded:
    """Codes of `values` among `labels`; `what` names them in errors ("answers", "reports")."""
    if hasattr(values, "columns"):
        reject(f"{what} must be one column", type(values).__name__, f'write frame["{what[:-1]}"]', TypeError)
    _refuse_missing(values, what)
    array = _as_array(values)
    scalar = array.ndim == 0
    array = array.reshape(1) if scalar else array
    if array.ndim != 1:
        reject(f"{what} must be one-dimensional", f"{array.ndim} dimensions", "there is one answer a person")
    if array.size == 0:
        reject(f"{what} must hold at least one entry", "none", "there is nothing to work on")
    if _mixed(labels) and not isinstance(array[0], _TRUTH):
        texts, textual = _as_text(array, labels)
        codes = _find(texts, tuple(map(str, labels)), what)
        return Encoded(codes, "text" if textual else "label", array.dtype, scalar)
    array = _typed(array, what)
    if array.dtype.kind in "biu":
        _refuse_ambiguous(labels, what)
    if array.dtype.kind == "b":
        if len(labels) != 2:
            rule = f"booleans can stand for {what} of two options only"
            reject(rule, f"{len(labels)} options", "give labels or codes", TypeError)
        return Encoded(array.view(np.int8), "boolean", array.dtype, scalar)
    if array.dtype.kind in "iu" and not numbers_are_labels(labels):
        return Encoded(_checked_codes(array, labels, what), "code", array.dtype, scalar)
    return Encoded(_find(array, labels, what), "label", array.dtype, scalar)


def tally(values: Values, labels: Labels, what: str, times: ArrayLike | None = None) -> npt.NDArray[np.int64]:
    """How often each label occurs, in the order of the labels; each value once, or as many `times` as is said."""
    if times is None and (counted := _counted_as_they_are(values, labels)) is not None:
        return counted
    encoded = encode(values, labels, what)
    if times is not None:
        return times_each(encoded.codes, checked_times(times, len(encoded.codes)), len(labels))
    if len(labels) == 2:
        last = int(np.count_nonzero(encoded.codes))
        return np.array([len(encoded.codes) - last, last], dtype=np.int64)
    counts = np.zeros(len(labels), dtype=np.int64)
    for start in range(0, len(encoded.codes), CHUNK):
        counts += np.bincount(encoded.codes[start : start + CHUNK], minlength=len(labels))
    return counts


def _counted_as_they_are(values: Values, labels: Labels) -> npt.NDArray[np.int64] | None:
    """Counts of codes of the machine's own width, without a copy; None for all else, and for codes out of range."""
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
    """Whether whole numbers mean labels, as in points 1 … 5, and not codes."""
    return any(isinstance(label, int) for label in labels) and labels != tuple(range(len(labels)))


def looks_like_others(labels: Labels) -> bool:
    """Whether numbers or truth values would be codes of other labels than those that they look like: 1 of ("1", "2"),
    which is the code of "2", and True of ("yes", "no"), which is the code of "no".
    """
    texts = [label for label in labels if isinstance(label, str)]
    if len(texts) < len(labels):
        return False
    if len(texts) == 2 and texts[0].strip().casefold() in YES and texts[1].strip().casefold() in NO:
        return True
    if not any(text.isdecimal() for text in texts):
        return False
    place = {text: code for code, text in enumerate(texts)}
    return any(place.get(str(code), code) != code for code in range(len(texts)))


def _refuse_ambiguous(labels: Labels, what: str) -> None:
    if looks_like_others(labels):
        texts = ", ".join(map(repr, labels[:8])) + (", …" if len(labels) > 8 else "")
        rule = f"{what} must be given as the texts of the options ({texts})"
        consequence = "as codes they would stand for other options than those that they look like"
        reject(rule, "numbers or truth values", consequence, TypeError)


def _mixed(labels: Labels) -> bool:
    """Whether some labels are numbers and others texts."""
    return len(set(map(type, labels))) > 1


def _as_text(array: npt.NDArray[Any], labels: Labels) -> tuple[npt.NDArray[Any], bool]:
    """Numbers and texts as texts, and whether a number came as a text; anything else becomes "", which is no label."""
    if array.dtype.kind in "UT":
        return array, True
    cells = array.tolist()
    texts = [str(int(cell)) if _is_whole(cell) else cell if isinstance(cell, str) else "" for cell in cells]
    numbers = {str(label) for label in labels if not isinstance(label, str)}
    return np.array(texts, dtype=object), any(isinstance(cell, str) and cell in numbers for cell in cells)


def _is_whole(cell: object) -> bool:
    """Whether a cell is a whole number, also where an engine made a float of it."""
    if isinstance(cell, _TRUTH):
        return False
    return isinstance(cell, int | np.integer) or (isinstance(cell, float) and cell.is_integer())


def in_order(counts: Mapping[Label, float] | ArrayLike, labels: Labels) -> Any:
    """Counts by label, as a mapping or a Series of `value_counts` has them, in the order of the labels."""
    index = getattr(counts, "index", None)
    if index is not None and hasattr(counts, "to_dict") and list(index) != list(range(len(labels))):
        counts = counts.to_dict()
    if not isinstance(counts, Mapping):
        return counts
    truths = {False: labels[0], True: labels[1]} if len(labels) == 2 else {}
    named = {truths[key] if isinstance(key, bool) and truths else key: n for key, n in counts.items()}
    if unknown := [key for key in named if key not in labels]:
        rule = f"`counts` must be by report {label_order(labels)}"
        reject(rule, ", ".join(map(repr, unknown[:3])), "no such report is known")
    return [named.get(label, 0) for label in labels]


def label_order(labels: Labels) -> str:
    """Write labels in their order, in brackets; the first eight of many."""
    return f"({', '.join(map(str, labels[:8]))}{', …' if len(labels) > 8 else ''})"


def checked_counts(counts: ArrayLike, kinds: int, labels: Labels = ()) -> npt.NDArray[np.float64]:
    """Numbers of reports of each kind, whole and not all zero; `labels` : their order, for the message."""
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
    """As many numbers as there are kinds of what is counted, all of them whole."""
    numbers = np.asarray(counts)
    if numbers.shape != (kinds,):
        reject(f"`counts` must hold one number for each of {kinds} {of}", f"shape {numbers.shape}", order)
    if numbers.dtype.kind not in "iuf" or not np.all(np.isfinite(numbers) & (numbers == np.floor(numbers))):
        consequence = "they count reports"
        reject("`counts` must be whole numbers", f"other values of type {numbers.dtype}", consequence, TypeError)
    return numbers.astype(np.float64)


def checked_times(times: ArrayLike, kinds: int) -> npt.NDArray[np.int64]:
    """How often each report came: whole numbers, not all zero, that sum to what floats hold exactly."""
    numbers = checked_counts(times, kinds)
    if numbers.sum() > 2**53:
        reject("`times` must sum to at most 2**53", "more", "the sums would lose their last digits")
    return numbers.astype(np.int64)


def times_each(codes: npt.NDArray[Any], times: npt.NDArray[np.int64] | None, kinds: int) -> npt.NDArray[np.int64]:
    """How often each code came, when each entry stands for as many as `times` says."""
    return np.bincount(codes, times, minlength=kinds).astype(np.int64)


def _refuse_missing(values: Values, what: str) -> None:
    missing, total = _missing(values)
    if missing:
        consequence = "drop them first (for example with .dropna()), or make 'no answer' an option of the design"
        reject(f"{what} must not be missing", f"{missing} missing of {total}", consequence)


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
    """Series give their own array; lists become objects, as NumPy would turn a mixed list into text."""
    if hasattr(values, "to_pylist"):
        return np.asarray(values)
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    return values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)


def _typed(array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """Objects as what they hold, whole floats as integers; everything else refused."""
    if array.dtype.kind == "O":
        kinds = {bool if issubclass(kind, bool | np.bool_) else kind for kind in set(map(type, array.tolist()))}
        if kinds == {bool}:
            return array.astype(bool)
        if all(issubclass(kind, str) for kind in kinds):
            return array
        if bool not in kinds and all(issubclass(kind, int | np.integer) for kind in kinds):
            return np.asarray(np.clip(array, -1, 2**62), dtype=np.int64)  # a code beyond is none, too
        if bool not in kinds and all(issubclass(kind, int | float | np.number) for kind in kinds):
            array = array.astype(np.float64)
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)):
            reject(f"{what} given as floats must be whole codes", "fractions or infinities", "codes are 0, 1, 2, …")
        return array.astype(np.int64)
    if array.dtype.kind in "biuUT":
        return array
    consequence = "it cannot be read"
    reject(f"{what} must be booleans, codes or labels, all of one kind", "something else", consequence, TypeError)


def _checked_codes(array: npt.NDArray[Any], labels: Labels, what: str) -> Codes:
    codes, outside = np.empty(len(array), dtype=small_type(len(labels))), 0
    for start in range(0, len(array), CHUNK):
        part = array[start : start + CHUNK]
        if part.min() < 0 or part.max() >= len(labels):
            outside += int(np.count_nonzero((part < 0) | (part >= len(labels))))
        codes[start : start + CHUNK] = part
    if outside:
        rule = f"{what} given as codes must lie in 0 … {len(labels) - 1}"
        pairs = ", ".join(f"…: {label!r}" for label in labels[:3])
        consequence = f"they stand for no option; map other codes to labels first, column.replace({{{pairs}}})"
        reject(rule, f"{outside} of {array.size} outside", consequence)
    return codes


def small_type(k: int) -> np.dtype[np.signedinteger]:
    """The smallest signed integer type that holds k codes and a mark."""
    return np.min_scalar_type(-k - 1)


def says_yes(labels: Labels) -> dict[bool, int] | None:
    """The codes of no and yes, if the labels are these two."""
    words = [str(label).strip().casefold() for label in labels]
    texts = all(isinstance(label, str) for label in labels)
    if len(words) != 2 or not texts or {word in YES for word in words} != {True, False}:
        return None
    yes = words.index(next(word for word in words if word in YES))
    return {True: yes, False: 1 - yes} if words[1 - yes] in NO else None


def _by_key(labels: Labels) -> dict[str, int]:
    """Codes by what people write in place of the labels: these in any case, and the usual words for yes and no."""
    keys = [str(label).strip().casefold() for label in labels]
    own = {key: code for code, key in enumerate(keys) if keys.count(key) == 1}
    codes = says_yes(labels)
    return own if codes is None else {word: codes[word in YES] for word in YES | NO} | own


def _find(array: npt.NDArray[Any], labels: Labels, what: str) -> Codes:
    """Codes of labels; an array holds only texts or only numbers, and so do the labels it is compared with."""
    textual = array.dtype.kind not in "iu"
    table = {label: code for code, label in enumerate(labels) if isinstance(label, str) == textual}
    if not table:
        consequence = "no option is of that kind"
        reject(f"{what} must be given as the options are", "text" if textual else "numbers", consequence, TypeError)
    known = np.array(list(table), dtype=object if array.dtype.kind == "O" else None)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], array), len(known) - 1)
    position = order[place]
    unknown = int(np.count_nonzero(known[position] != array))
    codes = np.array(list(table.values()), dtype=small_type(len(labels)))[position]
    if unknown and what == "reports" and textual:
        words = _by_key(labels)
        cells = [table.get(cell, words.get(cell.strip().casefold(), -1)) for cell in array.tolist()]
        codes = np.array(cells, dtype=codes.dtype)
        unknown = int(np.count_nonzero(codes < 0))
    if unknown:
        texts = ", ".join(map(str, labels[:8])) + (", …" if len(labels) > 8 else "")
        case = "" if what == "reports" else " and case"
        consequence = f"check spelling{case}; codes 0, 1, … are read, too, and truth values for two options"
        reject(f"{what} must be among the options ({texts})", f"{unknown} of {array.size} that are not", consequence)
    return codes


def distribution(prevalence: Any, options: int, name: str) -> Array:
    """A share for each option; of two options the second alone is enough."""
    law = given = read_shares(prevalence, name)
    if law.ndim == 0 and options == 2:
        law = np.array([1 - float(law), float(law)])
    if law.shape != (options,):
        reject(f"`{name}` must have a share for each of {options} options", f"shape {law.shape}", "they must match")
    if not np.all((law >= 0) & (law <= 1)) or abs(law.sum() - 1) > 1e-9:
        percent = f"; of {prevalence} percent write {float(given) / 100:g}" if given.ndim == 0 and given > 1 else ""
        consequence = f"it is a distribution of the answers{percent}"
        reject(f"`{name}` must be shares from 0 to 1 that sum to 1", prevalence, consequence)
    return law
