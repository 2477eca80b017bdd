"""Synthetic tables: noisy counts of columns and pairs of columns, and a table of made-up rows that fits them.

The tables are measured with the toolkit's mechanisms and its ledger. The library `mbi` fits a graphical model to the
noisy counts and draws rows from it, which costs nothing further: the model and the rows depend on the released counts
alone.
"""

import hashlib
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from toolkit.central.publishing.adaptive import AdaptiveTables
from toolkit.central.publishing.spanning import Axes, SpanningTables, count_cells
from toolkit.central.release import CellNoise
from toolkit.core.arrays import Array, Label, Steps
from toolkit.core.checks import check_choice, reject
from toolkit.core.estimate import Estimate
from toolkit.core.extras import check_extras, extra
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng
from toolkit.curator.counts import ALL, cell_labels, check_joint_axes
from toolkit.curator.release import PlannedRelease, Query
from toolkit.frames.frame import MAX_CELLS, as_list
from toolkit.frames.reader import marginal_counts
from toolkit.frames.values import MISSING, Keys, Range, SpecialValue

_EXTRA = "synthetic"

# As many steps as the MST of mbi takes; the fit ends earlier if the loss no longer falls.
_MAX_STEPS, _TOLERANCE = 10_000, 1e-9

# The models between the rounds of AIM, each of which starts from the one before.
_STEPS_PER_ROUND = 1000

# With a smaller standard deviation, the noise is mostly rounded to 0, and the fit would divide by nearly 0.
_LEAST_SD = 0.25

_SEEDING = threading.Lock()

_NOTES = (
    "a row is counted if it has one of the given options in every column",
    "only these counts were measured; other statistics of the synthetic rows come from a model and have no interval",
)


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticTable:
    """The result of `Curator.synthesize`: measured counts, and rows that fit them.

    The rows are drawn from the model when they are first used, with random numbers that are derived from the measured
    counts. So they do not change if the same versions of mbi and JAX compute them again on the same computer.

    Parameters
    ----------
    marginals : Estimate
        The noisy counts of each column and of the chosen pairs of columns, with their errors. "(all)" stands for all
        values of a column that is not in the table of the cell.
    options : mapping
        The values of each column in the synthetic rows.

    Examples
    --------
    >>> synthetic = curator.synthesize({"sex": ["f", "m"], "vote": ["yes", "no"]}, rho=0.1)  # doctest: +SKIP
    >>> synthetic.frame.columns.tolist()  # doctest: +SKIP
    ['sex', 'vote']
    """

    marginals: Estimate
    options: Mapping[Label, Sequence[Any]]

    @property
    def measured(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each measured table; every other statistic is one of the model and has no interval."""
        return tuple(
            tuple(self.marginals.axes[axis] for axis in table) for table in _measured_tables(self.marginals.labels)
        )

    @cached_property
    def _model(self) -> Any:
        """The graphical model of mbi, with the columns "0", "1", … in their order and the options as codes.

        It minimizes the squared distances from the noisy counts, divided by their variances, and has the largest
        entropy of all such models.
        """
        sizes = [len(values) for values in self.options.values()]
        return _fit(sizes, _split_by_table(self.marginals), _MAX_STEPS)

    @cached_property
    def frame(self) -> Any:
        """The synthetic rows as a pandas frame; their number is the model's estimate of the number of rows."""
        pandas, model = extra("pandas", _EXTRA), self._model
        digest = hashlib.sha256(np.asarray(self.marginals.value, dtype="<f8").tobytes()).digest()
        with _library(), _global_seed(int.from_bytes(digest[:4])):
            rows = model.synthetic_data(round(float(model.total)))
        return pandas.DataFrame(
            {
                label: pandas.Series(list(values)).take(np.asarray(rows.data[str(axis)])).reset_index(drop=True)
                for axis, (label, values) in enumerate(self.options.items())
            }
        )

    def __repr__(self) -> str:
        tables = ", ".join(" × ".join(table) for table in self.measured)
        return f"<SyntheticTable: measured with noise: {tables}; all other statistics: model, no interval>"


class GraphicalModels:
    """Models of mbi for the rounds of AIM; each fit starts from the one before."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes, self._last = sizes, None

    def fit(self, tables: Mapping[Axes, tuple[Array, float]]) -> Callable[[Axes], Array]:
        """Fit a model to noisy tables with their standard deviations; return its tables as a function of the axes."""
        measured = ((axes, value, sd) for axes, (value, sd) in tables.items())
        self._last = _fit(self._sizes, measured, _STEPS_PER_ROUND, self._last)
        return cache(partial(_table_of_model, self._last))

    def megabytes(self, tables: Sequence[Axes]) -> float:
        """Return the size of a model of these tables."""
        with _library() as mbi:
            size = mbi.junction_tree.hypothetical_model_size(_domain(mbi, self._sizes), list(map(_names, tables)))
            return float(size)


def synthesize(query: Query, columns: Mapping[Any, Any], method: str = "mst") -> PlannedRelease[Any]:
    """Describe the measurement of columns and pairs of columns, from which a synthetic table is made."""
    check_choice(method, "method", ("mst", "aim"))
    check_extras("mbi", "jax", "pandas", name=_EXTRA)
    options, axes = _parse_columns(query, columns)
    query = query.by(*axes)
    people, max_rows = 2 if query.unit.neighbors == "replace" else 1, query.unit.caps.max_rows(query.rows.n_cells)
    loss = Pure(query.price.amount) if query.price.is_epsilon else Zcdp(query.price.amount)
    sizes = tuple(len(axis.labels) for axis in axes)
    sensitivities = people * max_rows, people * max_rows**2
    mechanism = _mechanism(loss, sizes, sensitivities, method)

    def draw(counts: list[Steps], rng: Rng) -> Estimate:
        labels = partial(cell_labels, axes)
        if isinstance(mechanism, AdaptiveTables):
            estimate = mechanism.release(counts, labels, GraphicalModels(sizes), rng)
        else:
            estimate = mechanism.release(counts, labels, rng)
        return replace(estimate, axes=query.rows.names)

    def tables(estimate: Estimate) -> dict[str, Any]:
        return {"tables": [[axes[axis].name for axis in table] for table in _measured_tables(estimate.labels)]}

    return query.release(
        f"synthetic table{query.rows.description}",
        mechanism,
        partial(marginal_counts, query.frame, query.rows, mechanism.tables),
        draw,
        notes=_NOTES,
        noise=lambda: CellNoise(sum(sizes), sd=mechanism.column_noise._integer_law.sd),
        facts_after=tables,
        finish=partial(SyntheticTable, options=options),
    )


def _mechanism(
    loss: Pure | Zcdp, sizes: tuple[int, ...], sensitivities: tuple[int, int], method: str
) -> SpanningTables | AdaptiveTables:
    if method == "mst":
        return SpanningTables(loss, sizes, *sensitivities)
    if isinstance(loss, Pure):
        reject('`rho` must be given for method="aim"', "epsilon", "AIM adds Gaussian noise: write rho=0.1")
    return AdaptiveTables(loss, sizes, *sensitivities)


def _parse_columns(query: Query, columns: object) -> tuple[dict[Label, list[Any]], tuple[Keys, ...]]:
    """Return the values of each column in synthetic rows, and the axes of the tables."""
    if not isinstance(columns, Mapping):
        remedy = 'options are public and must be listed: columns={"region": ["north", "south"], "sex": ["f", "m"]}'
        reject("`columns` must be a mapping of columns to their options", type(columns).__name__, remedy, TypeError)
    given = {label: as_list(values, "columns") for label, values in columns.items()}
    if len(given) < 2:
        reject("`columns` must have at least two columns", len(given), "write histogram(…) for one column")
    n_cells = count_cells([len(values) for values in given.values()])
    if n_cells > MAX_CELLS:
        rule = f"the tables of `columns` and of all their pairs must have at most {MAX_CELLS:,} cells"
        reject(rule, f"{n_cells:,} cells", "give fewer columns, or fewer options: bands(18, 30, 65) for an age")
    axes = tuple(Keys.parse(query.frame, label, values, "columns") for label, values in given.items())
    check_joint_axes(axes)
    options = {
        label: [_row_value(*option) for option in zip(values, axis.items, axis.labels, strict=True)]
        for (label, values), axis in zip(given.items(), axes, strict=True)
    }
    for axis, values in zip(axes, options.values(), strict=True):
        texts = [value for value in values if isinstance(value, str)]
        if len(set(texts)) < len(texts):
            rule = f"the options of {axis.name} must differ in the synthetic rows"
            remedy = "a range or OTHER has the name of another option, such as 'other'; rename this option"
            reject(rule, "repetitions", remedy)
    return options, axes


def _row_value(option: object, item: object, label: object) -> Any:
    """Return an option's value in synthetic rows: None for MISSING, a label for a range or OTHER, else itself."""
    if item is MISSING:
        return None
    return label if isinstance(item, Range | SpecialValue) else option


def _measured_tables(labels: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the columns of each table, from the labels of its cells."""
    tables = (tuple(axis for axis, key in enumerate(label) if key != ALL) for label in labels)
    return list(dict.fromkeys(tables))


def _split_by_table(marginals: Estimate) -> Iterator[tuple[tuple[int, ...], Any, float]]:
    """Iterate over the tables: their columns, their noisy counts, and the standard deviation of their noise."""
    labels = np.array([[key != ALL for key in label] for label in marginals.labels])
    values, sds = np.asarray(marginals.value, dtype=float), np.asarray(marginals.se)
    for table in _measured_tables(marginals.labels):
        cells = np.flatnonzero((labels == np.isin(np.arange(labels.shape[1]), table)).all(axis=1))
        yield table, values[cells], float(sds[cells[0]])


def _fit(sizes: Sequence[int], tables: Iterable[tuple[Axes, Array, float]], max_steps: int, start: Any = None) -> Any:
    """Fit the graphical model of mbi; the number of steps depends on the noisy tables alone."""
    with _library() as mbi:
        measurements = [
            mbi.LinearMeasurement(value, _names(axes), stddev=max(sd, _LEAST_SD)) for axes, value, sd in tables
        ]
        solver = mbi.estimation.MirrorDescent()
        return solver.estimate(_domain(mbi, sizes), measurements, iters=max_steps, tol=_TOLERANCE, warm_start=start)


def _table_of_model(model: Any, axes: Axes) -> Array:
    """Return the counts of a table that a model expects."""
    with _library():
        return np.ravel(np.asarray(model.project(_names(axes)).datavector(), dtype=float))


def _domain(mbi: Any, sizes: Sequence[int]) -> Any:
    """Return the columns "0", "1", … with their numbers of options."""
    return mbi.Domain([str(axis) for axis in range(len(sizes))], sizes)


def _names(axes: Axes) -> tuple[str, ...]:
    return tuple(map(str, axes))


@contextmanager
def _library() -> Iterator[Any]:
    """Import mbi, and let JAX compute with 64 bits until the end of the block."""
    with extra("jax", _EXTRA).enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mbi warns about settings of JAX
        yield extra("mbi", _EXTRA)


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator, with which mbi draws rows, and restore its state at the end of the block.

    Threads wait for each other: otherwise one of them would restore the seeded state of another.
    """
    with _SEEDING:
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002
