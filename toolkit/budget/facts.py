"""What is public about a curator's release, gathered for its document: query, noise, ledger."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from toolkit.budget.chain import Entry, written
from toolkit.budget.charges import left
from toolkit.budget.frames.rows import Rows
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.laws import GeometricLaw, NoiseBasis, RoundedNormalLaw
from toolkit.central.publishing.agreeing import AgreeingTables
from toolkit.central.publishing.keys import KeyThreshold
from toolkit.central.publishing.quantiles import RecursiveQuantiles
from toolkit.central.publishing.ranges import RangeFinder
from toolkit.central.publishing.top import TopK
from toolkit.central.selection import Exponential
from toolkit.central.steps import Bounds
from toolkit.central.tables.parts import Composed
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Affine
from toolkit.core.loss import Loss, shown
from toolkit.core.publishing.facts import Register, Release


class Account(Protocol):
    """What a document says of the ledger that paid."""

    @property
    def id(self) -> str: ...

    @property
    def ceiling(self) -> Loss: ...

    @property
    def simulated(self) -> bool: ...

    @property
    def register(self) -> Register: ...


def documented(
    estimate: Estimate,
    ledger: Account,
    entry: Entry,
    mechanism: Any,
    unit: Mapping[str, Any],
    query: Mapping[str, Any],
) -> Estimate:
    """The estimate with all that its document says; the noise of a cell where a cell is a number with
    noise.
    """
    noise, basis = noise_facts(mechanism), estimate.basis
    if isinstance(mechanism, Laplace | Gaussian):
        noise["unit"] = _unit(query)
    if isinstance(basis.basis if isinstance(basis, Affine) else basis, NoiseBasis):
        noise["sd"] = float(np.ravel(estimate.se)[0]) if np.size(estimate.se) else noise.get("sd")
    facts = Release(query, unit, noise, ledger_facts(ledger, entry), register=ledger.register)
    return replace(estimate, release=facts)


def query_facts(
    label: str, rows: Rows | None = None, limits: Mapping[str, Bounds] | None = None, missing: str = ""
) -> dict[str, Any]:
    """What was asked: the statistic in words, the keys, the condition, the limits of values."""
    told: dict[str, Any] = {"statistic": label}
    if rows is not None and rows.axes:
        told |= {"by": {axis.name: list(axis.labels) for axis in rows.axes}, "keys": "given"}
    if rows is not None and rows.where.words:
        told["where"] = rows.where.words
    if limits:
        told["bounds"] = {
            name: {part: str(getattr(one, part)) for part in ("low", "high", "step")} for name, one in limits.items()
        }
    return told | ({"missing": missing.removeprefix("missing ")} if missing else {})


def ledger_facts(ledger: Account, entry: Entry) -> dict[str, Any]:
    """Which entry paid, and what was spent before and after it."""
    return {
        "id": ledger.id,
        "entry": entry.number,
        "label": entry.label,
        "loss": str(entry.loss),
        "exact loss": written(entry.loss),
        "charged": str(entry.charged),
        "before": str(left(entry.charged, entry.total)),
        "after": str(entry.total),
        "ceiling": str(ledger.ceiling),
        "unit": entry.unit,
        **({"terms": entry.terms} if entry.terms else {}),
        "simulated": ledger.simulated,
    }


def noise_facts(mechanism: Any) -> dict[str, Any]:
    """Mechanism, sensitivity and scale, by which a reader can check the loss."""
    told: dict[str, Any] = {"mechanism": type(mechanism).__name__, "words": _words(mechanism)}
    if isinstance(mechanism, Laplace | Gaussian):
        norm = f"L{mechanism.norm[1:]}" if isinstance(mechanism, Laplace) else "L2"
        told |= {"sensitivity": str(mechanism.sensitivity), "norm": norm, "scale": mechanism.scale}
    if isinstance(mechanism, Exponential):
        told |= {"sensitivity": str(mechanism.sensitivity), "rate": str(mechanism.rate)}
    if isinstance(mechanism, KeyThreshold):
        told |= _whole(mechanism.noise) | {"threshold": mechanism.threshold, "keys a person": mechanism.keys}
    if isinstance(mechanism, RangeFinder):
        told |= _whole(mechanism.noise) | {"threshold": mechanism.threshold, "bins": mechanism.bins}
    if isinstance(mechanism, RecursiveQuantiles):
        told |= {"levels": mechanism.levels, "epsilon a level": shown(mechanism.each)}
    if isinstance(mechanism, TopK):
        told |= {"rounds": mechanism.k, "rate": str(mechanism.rate)}
    if isinstance(mechanism, Composed):
        told["parts"] = [noise_facts(part) | {"loss": str(part.loss)} for part in mechanism.parts]
    if isinstance(mechanism, AgreeingTables):
        told["tables"] = [_whole(noise) | {"loss": str(noise.loss)} for noise in mechanism.noises]
    return told


def _whole(noise: Laplace | Gaussian) -> dict[str, Any]:
    law = GeometricLaw(noise.scale) if isinstance(noise, Laplace) else RoundedNormalLaw(noise.scale)
    told = noise_facts(noise)
    told.pop("words")
    return {"noise": told.pop("mechanism"), **told, "sd": law.sd}


def _words(mechanism: Any) -> str:
    """What was done, for people."""
    if isinstance(mechanism, RecursiveQuantiles):
        return "the exponential mechanism chose each, the middle one first"
    if isinstance(mechanism, TopK):
        return "the exponential mechanism chose them, one after the other"
    if isinstance(mechanism, AgreeingTables):
        return f"{type(mechanism.noises[0]).__name__} noise in every table, before they were made to agree"
    if isinstance(mechanism, KeyThreshold | RangeFinder):
        return f"{type(mechanism.noise).__name__} noise on counts, which are held against a threshold"
    if isinstance(mechanism, Composed):
        return f"{type(mechanism.parts[0]).__name__} noise for each column"
    name = type(mechanism).__name__
    if isinstance(mechanism, Laplace | Gaussian):
        return f"{name} noise"
    return "the exponential mechanism" if isinstance(mechanism, Exponential) else name


def _unit(query: Mapping[str, Any]) -> str:
    """Of the whole numbers that noise is added to: their sensitivity and scale are in it."""
    if not query.get("bounds"):
        return "rows"
    linear = query["statistic"].startswith(("sum of", "mean of"))
    return "steps, as bounds have them" if linear else "products of steps, as bounds have them"
