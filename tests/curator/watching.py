"""What a curator reads of a frame, as a recorder sees it: the mechanism that hides it, and all that is read."""

from dataclasses import replace
from typing import Any

import pytest

from toolkit.curator.curator import Curator
from toolkit.curator.release import Release


def watch(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """A list that grows by (mechanism, what was read) with every release."""
    seen: list[tuple[Any, Any]] = []
    run = Curator._run

    def watched(self: Curator, release: Release[Any], rng: Any) -> Any:
        def read() -> Any:
            seen.append((release.mechanism, release.read()))
            return seen[-1][1]

        return run(self, replace(release, read=read), rng)

    monkeypatch.setattr(Curator, "_run", watched)
    return seen
