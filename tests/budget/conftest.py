"""Ledgers of both kinds."""

from pathlib import Path
from typing import Any

import pytest

from tests.budget.spending import Opener
from toolkit.budget.ledger import Ledger
from toolkit.core.loss import Loss


@pytest.fixture(params=["memory", "file"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Makes ledgers of either kind."""
    path = None if request.param == "memory" else tmp_path / "budget.db"

    def make(ceiling: Loss, **options: Any) -> Ledger:
        return Ledger(ceiling, path, **options)

    return make
