"""On a machine without Chromium or PostgreSQL, two lines name the skipped tests; in CI they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest
from tests.needs import lacking, lacking_program, program

@pytest.fixture(scope="session")
def browser():
    lacking_program("Chromium", "chromium")

@pytest.mark.parametrize("number", range(40))
def test_with_a_browser(browser, number): ...

@pytest.mark.parametrize("number", range(3))
def test_with_a_program(number):
    program("no-such-program", "NoSuch")

def test_with_many_files():
    lacking("this test needs 3000 open files")

def test_that_needs_nothing(): ...
"""


def told(folder: Path, *options: str, ci: bool) -> str:
    (folder / "test_some.py").write_text(TESTS)
    (folder / "conftest.py").write_text("from tests.needs import pytest_terminal_summary\n")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment |= {"PYTHONPATH": f"{ROOT}:{ROOT / '.make'}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment |= {"CI": "true"} if ci else {}
    call = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", *options, "test_some.py"]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == (1 if ci else 0), done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "two workers"])
def test_programs_that_are_missing_are_told_of_in_two_lines(tmp_path: Path, options: tuple[str, ...]) -> None:
    said = told(tmp_path, *options, ci=False)
    assert "Tests that were left out: 40 that need Chromium, 3 that need NoSuch.\n" in said
    assert "To have them, on Debian or Ubuntu: apt-get install chromium no-such-program\n" in said
    (skipped,) = [line for line in said.splitlines() if line.startswith("SKIPPED")]
    assert "this test needs 3000 open files" in skipped
    assert "1 passed, 1 skipped, 43 left out in" in said


@pytest.mark.slow
def test_in_ci_nothing_is_left_out(tmp_path: Path) -> None:
    said = told(tmp_path, ci=True)
    assert "with CI set nothing is skipped" in said
    assert "4 failed, 1 passed, 40 errors in" in said
