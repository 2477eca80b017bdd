"""Requirements of some tests: programs, open files, a package index.

If CI is set, a test whose requirements are missing fails. Otherwise it is skipped, and two lines at the end of the run
name the skipped tests and the packages to install, instead of one line per test.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import pytest

ADMINISTRATORS = "/usr/sbin:/usr/local/sbin"  # where Debian installs servers, outside the path of users
_MISSING = re.compile(r"(\S+) must be installed for this test \(on Debian or Ubuntu: apt-get install (\S+)\)")


def lacking(missing: str) -> NoReturn:
    """End a test whose requirements are missing: fail in CI, skip otherwise."""
    if os.environ.get("CI"):
        pytest.fail(f"{missing}; with CI set nothing is skipped.")
    pytest.skip(f"{missing}; without CI set this is skipped.")


def lacking_program(name: str, package: str) -> NoReturn:
    lacking(f"{name} must be installed for this test (on Debian or Ubuntu: apt-get install {package})")


def program(command: str, name: str, package: str | None = None) -> str:
    """Return the path of a program; its package has the same name as the command unless another name is given."""
    found = shutil.which(command) or shutil.which(command, path=ADMINISTRATORS)
    return found or lacking_program(name, package or command)


def run_with_packages(folder: Path, file: Path, *requirements: str) -> str:
    """Run the tests of a file in a new environment, with these packages and those of this one; return the output."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "packages.pth").write_text(str(Path(pytest.__file__).parents[1]))
    python, root = str(folder / "bin" / "python"), Path(__file__).parents[1]
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *requirements]
    done = subprocess.run(install, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode and "No matching distribution found" in done.stderr:
        lacking(f"pip must reach a package index for {requirements[0]}")
    assert done.returncode == 0, done.stderr
    tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(tests, cwd=root, env=environment, capture_output=True, text=True, timeout=600, check=False)
    return done.stdout


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Count tests without their program as "left out", and report them in two lines."""
    stats, programs, packages = terminalreporter.stats, Counter(), {}
    for report in list(stats.get("skipped", ())):
        found = _MISSING.search(str(report.longrepr))
        if found:
            programs[found[1]] += 1
            packages[found[2]] = None
            stats["skipped"].remove(report)
            stats.setdefault("left out", []).append(report)
    if programs:
        counted = ", ".join(f"{number} that need {name}" for name, number in programs.items())
        terminalreporter.write_sep("=", "left out")
        terminalreporter.write_line(f"Tests that were left out: {counted}.")
        terminalreporter.write_line(f"To have them, on Debian or Ubuntu: apt-get install {' '.join(packages)}")
