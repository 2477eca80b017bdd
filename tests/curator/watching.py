"""The data that a curator reads from a frame, as a recorder sees them: the mechanism that hides them, and all values
that are read.
"""

from dataclasses import replace
from typing import Any

import pytest

from toolkit.curator.curator import Curator
from toolkit.curator.release import PlannedRelease


def watch(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """Return a list that grows by (mechanism, values that were read) with every release."""
    seen: list[tuple[Any, Any]] = []
    run = Curator._run

    def watched(self: Curator, release: PlannedRelease[Any], rng: Any) -> Any:
        def read() -> Any:
            seen.append((release.mechanism, release.read()))
            return seen[-1][1]

        return run(self, replace(release, read=read), rng)

    monkeypatch.setattr(Curator, "_run", watched)
    return seen
