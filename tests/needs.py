"""What some tests need of a machine: programs, open files, a package index.

With CI set a test that lacks something fails. Without, it is left out; of programs two lines at the end say
which tests that were and how to have them, instead of a line for each test.
"""

import os
import re
import shutil
from collections import Counter
from typing import Any, NoReturn

import pytest

ADMINISTRATORS = "/usr/sbin:/usr/local/sbin"  # where Debian keeps servers out of the way of users
_MISSING = re.compile(r"(\S+) must be installed for this test \(on Debian or Ubuntu: apt-get install (\S+)\)")


def lacking(missing: str) -> NoReturn:
    """The end of a test on a machine that lacks something: a failure in CI, else a skipped test."""
    if os.environ.get("CI"):
        pytest.fail(f"{missing}; with CI set nothing is skipped.")
    pytest.skip(f"{missing}; without CI set this is skipped.")


def lacking_program(name: str, package: str) -> NoReturn:
    lacking(f"{name} must be installed for this test (on Debian or Ubuntu: apt-get install {package})")


def program(command: str, name: str, package: str | None = None) -> str:
    """Where a program is; its package is called as the command, if nothing else is said."""
    found = shutil.which(command) or shutil.which(command, path=ADMINISTRATORS)
    return found or lacking_program(name, package or command)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tests that lacked a program are counted as "left out", and spoken of in two lines."""
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
