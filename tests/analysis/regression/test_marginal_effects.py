"""Fits as models of marginaleffects. The tests that need the package are in `with_marginaleffects.py`."""

from pathlib import Path

import numpy as np
import pytest

from tests.needs import run_with_packages
from toolkit import forced
from toolkit.analysis import logistic

DIE = forced("1/6", "1/6")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("toolkit.core.extras.find_spec", {}.get)
    with pytest.raises(ImportError, match="pip install marginaleffects"):
        logistic(np.arange(100) % 3 == 0, np.arange(100), DIE).to_marginaleffects()


@pytest.mark.slow
def test_averages_are_margins_with_the_package_installed(tmp_path):
    """Version 0.6.0 fails with polars 2, with which the toolkit is tested; so it runs in an environment of its own."""
    file = Path(__file__).with_name("with_marginaleffects.py")
    assert "4 passed" in run_with_packages(tmp_path, file, "marginaleffects==0.6.0", "polars<2")
