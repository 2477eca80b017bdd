"""The mode in which the toolkit computes as on another processor: which values it changes, and which it does not."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / ".make" / "rounding"

SCRIPT = """
import numpy as np
from toolkit import Gaussian, crosswise
from toolkit.core.checks import check_integer
estimate = crosswise("1/7").estimate_counts([311, 689])
numbers = Gaussian.for_loss(1, 1e-6).scale, estimate.value, estimate.se, np.log(3)
print(*(float(number).hex() for number in numbers), check_integer(7, "n"))
"""


@pytest.fixture(scope="module")
def rounding() -> ModuleType:
    spec = spec_from_file_location("rounding", FOLDER / "sitecustomize.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ROUNDING", raising=False)
        spec.loader.exec_module(module)
    return module


def run(seed: str) -> list[str]:
    environment = os.environ | {"PYTHONPATH": str(FOLDER), "ROUNDING": seed}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.slow
def test_results_of_the_toolkit_move_by_little_and_always_alike() -> None:
    native, first, second = run(""), run("1"), run("2")
    assert first == run("1")
    assert len({tuple(native), tuple(first), tuple(second)}) == 3
    for moved in (first, second):
        assert moved[-2:] == native[-2:], "what the script computes itself, and whole numbers, stay"
        for one, other in zip(moved[:-2], native[:-2], strict=True):
            assert float.fromhex(one) == pytest.approx(float.fromhex(other), rel=1e-13)


def test_floats_move_by_one_unit_in_the_last_place(rounding: ModuleType) -> None:
    values = np.array([0.1, -1 / 3, 1e300, 5e-324])
    moved = rounding.move(values.copy())
    assert np.array_equal(np.abs(moved - values), [np.spacing(0.1), np.spacing(1 / 3), np.spacing(1e300), 5e-324])
    assert rounding.move(0.1) == moved[0]
    assert -moved[1] == rounding.move(1 / 3), "opposite numbers stay opposite"


def test_what_every_processor_computes_exactly_stays(rounding: ModuleType) -> None:
    short, floats = np.array([0.0, 1.0, -2.5, 1 / 1024, np.inf]), np.array([0.1, 0.2, 0.7])
    assert np.array_equal(rounding.move(short.copy()), short)
    assert rounding.move(np.arange(3)).tolist() == [0, 1, 2]
    assert np.array_equal(rounding.multiply_matrices(np.eye(3), floats), floats)
    assert rounding.add_up(floats[:2], "sum") == floats[:2].sum()
    assert rounding.add_up(np.array([True, False, True]), "mean") == 2 / 3
    assert rounding.add([0.1, 0.2]) == 0.1 + 0.2


def test_a_sum_moves_by_a_unit_of_its_terms(rounding: ModuleType) -> None:
    """1/3 + 1/7 - 1/3 - 1/7 may be 0 or 1e-17, depending on the order of addition."""
    terms = np.array([1 / 3, 1 / 7, -1 / 3, -1 / 7])
    unit = np.spacing(np.abs(terms).sum())
    for moved in (rounding.add_up(terms, "sum"), rounding.multiply_matrices(terms, np.full(4, 3.0)) / 3):
        assert 0 < abs(moved) <= 3 * unit
