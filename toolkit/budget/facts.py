"""What is public about a curator's release, gathered for its document: query, noise, ledger."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.budget.charges import left
from toolkit.budget.ledger import Ledger
from toolkit.budget.record import Entry
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.laws import GeometricLaw, RoundedNormalLaw
from toolkit.central.publishing.agreeing import AgreeingTables
from toolkit.central.publishing.keys import KeyThreshold
from toolkit.central.publishing.quantiles import RecursiveQuantiles
from toolkit.central.publishing.ranges import RangeFinder
from toolkit.central.publishing.top import TopK
from toolkit.central.selection import Exponential
from toolkit.core.loss import shown
from toolkit.core.publishing.facts import Release


def release_facts(
    ledger: Ledger,
    entry: Entry,
    mechanism: Any,
    query: Mapping[str, Any],
    unit: Mapping[str, Any],
    noise: Mapping[str, Any] | None = None,
) -> Release:
    """All of it; `noise` adds to what the mechanism itself tells."""
    told = {**noise_facts(mechanism), **(noise or {})}
    return Release(query, unit, told, ledger_facts(ledger, entry), register=ledger.register)


def ledger_facts(ledger: Ledger, entry: Entry) -> dict[str, Any]:
    """Which entry paid, and what was spent before and after it."""
    return {
        "id": ledger.id,
        "entry": entry.number,
        "label": entry.label,
        "loss": str(entry.loss),
        "charged": str(entry.charged),
        "before": str(left(entry.charged, entry.total)),
        "after": str(entry.total),
        "ceiling": str(ledger.ceiling),
        "simulated": ledger.simulated,
    }


def noise_facts(mechanism: Any) -> dict[str, Any]:
    """Mechanism, sensitivity and scale, by which a reader can check the loss."""
    told: dict[str, Any] = {"mechanism": type(mechanism).__name__}
    if isinstance(mechanism, Laplace | Gaussian):
        norm = f"L{mechanism.norm[1:]}" if isinstance(mechanism, Laplace) else "L2"
        told |= {"sensitivity": shown(mechanism.sensitivity), "norm": norm, "scale": mechanism.scale}
    if isinstance(mechanism, Exponential):
        told |= {"sensitivity": shown(mechanism.sensitivity), "rate": shown(mechanism.rate)}
    if isinstance(mechanism, KeyThreshold):
        told |= _whole(mechanism.noise) | {"threshold": mechanism.threshold, "keys a person": mechanism.keys}
    if isinstance(mechanism, RangeFinder):
        told |= _whole(mechanism.noise) | {"threshold": mechanism.threshold, "bins": mechanism.bins}
    if isinstance(mechanism, RecursiveQuantiles):
        told |= {"levels": mechanism.levels, "epsilon a level": shown(mechanism.each)}
    if isinstance(mechanism, TopK):
        told |= {"rounds": mechanism.k, "epsilon a round": shown(mechanism.each)}
    if isinstance(mechanism, AgreeingTables):
        told["tables"] = [_whole(noise) | {"loss": str(noise.loss)} for noise in mechanism.noises]
    return told


def keys_facts(names: Sequence[str], keys: Sequence[Sequence[Any]], how: str = "given") -> dict[str, Any]:
    """The columns that split a table and their keys, and whether these were given or found."""
    return {"by": {name: list(listed) for name, listed in zip(names, keys, strict=True)}, "keys": how}


def _whole(noise: Laplace | Gaussian) -> dict[str, Any]:
    law = GeometricLaw(noise.scale) if isinstance(noise, Laplace) else RoundedNormalLaw(noise.scale)
    told = noise_facts(noise)
    return {"noise": told.pop("mechanism"), **told, "sd": law.sd}
