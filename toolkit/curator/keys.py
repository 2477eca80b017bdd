"""Releases that prepare other releases: the frequent keys of a column, its bounds, and its most frequent options."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from toolkit.central.publishing.keys import KeyThreshold, RangeFinder, TopK
from toolkit.central.release import selection_estimate
from toolkit.central.sensitivity import table_counts
from toolkit.core.arrays import Label, Steps
from toolkit.core.checks import Number, check_integer, exact_fraction, reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng
from toolkit.curator.counts import Bins
from toolkit.curator.release import PlannedRelease, Query
from toolkit.frames.frame import as_list
from toolkit.frames.persons import check_keys
from toolkit.frames.reader import cell_counts, key_counts
from toolkit.frames.values import Keys

_COUNTS = Covers([ErrorSource.NOISE], unit="counts")


def keys(query: Query, column: Label, delta: Number | None) -> PlannedRelease[Any]:
    """Describe the release of the values of a column whose noisy counts reach a threshold, with these counts."""
    if delta is None:
        rule = "`delta` must be given for unknown keys"
        reject(rule, "none", "it bounds the probability that a rare key is released: write delta=1e-6")
    rows, unit, name = query.rows, query.unit, query.frame.column(column).name
    caps = unit.caps
    check_keys(query.frame.column(column))
    make = KeyThreshold.for_loss if query.price.is_epsilon else KeyThreshold.for_rho
    max_keys = caps.rows if caps.groups is None else min(caps.rows, caps.groups)
    mechanism = make(query.price.amount, delta, neighbors=unit.neighbors, keys_per_person=max_keys)

    def draw(counts: Mapping[Any, int] | Iterable[tuple[Any, int]], rng: Rng) -> Estimate:
        return replace(mechanism.release(counts, rng=rng), axes=(name,))

    def public_keys(estimate: Estimate) -> dict[str, Any]:
        return {"by": {name: list(estimate.labels)}, "keys": "found"}

    read = partial(key_counts, query.frame, rows, column, max_keys)
    return query.release(f"keys of {name}{rows.description}", mechanism, read, draw, facts_after=public_keys)


def bounds(query: Query, column: Label, powers: object, beta: Number) -> PlannedRelease[Any]:
    """Describe the release of powers of two between which most values of a column lie."""
    rows, unit, name = query.rows, query.unit, query.frame.column(column, must_be_numeric=True).name
    if not isinstance(powers, tuple | list) or len(powers) != 2:
        reject("`powers` must be two whole numbers", type(powers).__name__, "write powers=(-31, 32)")
    first, last = powers
    bins = 2 * (check_integer(last, "powers", minimum=-(10**6)) - check_integer(first, "powers", minimum=-(10**6)) + 1)
    noise = query.price.noise(table_counts(max(bins, 1), unit.neighbors, unit.caps))
    mechanism = RangeFinder(noise, first, last, exact_fraction(beta, "beta"))
    binned = query.by(Bins(column, name, mechanism)).rows

    def draw(counts: Steps, rng: Rng) -> Estimate:
        low, high = mechanism.choose(counts, rng)
        limits = [float(low), float(high)]
        return selection_estimate(
            limits, mechanism.loss, _COUNTS, type(noise).__name__, rng, labels=("low", "high"), axes=("limit",)
        )

    note = (
        f"the limits enclose all bins whose noisy count reached {mechanism.threshold}; if no count did, they are "
        f"the limits of all bins, ±2**{last}"
    )
    label = f"bounds of {name}{rows.description}"
    facts = {"powers of two": [first, last], "beta": str(beta)}
    return query.release(label, mechanism, lambda: cell_counts(query.frame, binned), draw, query=facts, notes=(note,))


def top(query: Query, column: Label, k: int, options: Iterable[Any]) -> PlannedRelease[Any]:
    """Describe the choice of the k most frequent options."""
    choices, unit = as_list(options, "options"), query.unit
    axis = Keys.parse(query.frame, column, choices, "options")
    counts_query, name = query.by(axis), axis.name
    make = TopK.for_epsilon if query.price.is_epsilon else TopK.for_rho
    limits = {"rows_per_person": unit.caps.max_rows(1), "max_total_change": unit.caps.max_rows(check_integer(k, "k"))}
    mechanism = make(query.price.amount, k, neighbors=unit.neighbors, **limits)
    if mechanism.k > counts_query.rows.n_cells:
        reject("`k` must be at most the number of options", k, f"write k={counts_query.rows.n_cells} for all of them")

    def draw(counts: Steps, rng: Rng) -> Estimate:
        indices = mechanism.choose(counts, rng)
        names = tuple(_key(choices[index], axis.labels[index]) for index in indices)
        ranks = range(1, mechanism.k + 1)
        return selection_estimate(ranks, mechanism.loss, _COUNTS, "Exponential", rng, labels=names, axes=(name,))

    note = (
        "values are ranks: 1 was chosen first; "
        f"with probability 95 %, no option that was passed over has more than "
        f"{mechanism.error_bound(counts_query.rows.n_cells):,} rows more than the option chosen instead"
    )
    label = f"top {mechanism.k} of {name} ({counts_query.rows.n_cells}){query.rows.description}"
    return counts_query.release(
        label, mechanism, lambda: cell_counts(query.frame, counts_query.rows), draw, notes=(note,)
    )


def _key(option: object, label: Label) -> Any:
    """Return an option in a form that `by` accepts; dates and numbers remain as they were given."""
    if isinstance(option, float):
        return float(option)
    return option if isinstance(option, dt.date) else label
