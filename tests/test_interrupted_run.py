"""An interrupted test run leaves no program behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]
# The fixture is too slow for pytest-xdist, which kills its workers 10 seconds after an interrupt.
TEST = """
import subprocess, sys, time
from pathlib import Path
import pytest

@pytest.fixture(scope="session")
def program():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.wait()

def test_a_program_runs(program):
    Path(f"{program.pid}.pid").touch()
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "two workers"])
def test_an_interrupted_run_leaves_no_program(tmp_path: Path, workers: tuple[str, ...], ending: signal.Signals) -> None:
    shutil.copy(ROOT / "conftest.py", tmp_path)
    for number in range(2):
        (tmp_path / f"test_{number}.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *workers]
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    run = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == (2 if workers else 1))
        programs = [int(path.stem) for path in tmp_path.glob("*.pid")]
        # A terminal sends Ctrl-C to the whole group of processes; `kill` and `make` signal only one.
        os.killpg(run.pid, ending) if ending is signal.SIGINT else run.send_signal(ending)
        assert run.wait(120) == pytest.ExitCode.INTERRUPTED
        _wait_until(lambda: not any(psutil.pid_exists(program) for program in programs))
    finally:
        run.kill()
        run.wait()


def _wait_until(condition) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
