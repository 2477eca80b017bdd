"""Whatever happens in one of the processes of `make test`, the run knows of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".make" / "processes.py"
FINE = "def test_one(tmp_path): assert tmp_path.is_dir()\ndef test_two(): pass\n"
END = (
    "import pytest\n@pytest.fixture(scope='session')\ndef last():\n    yield\n    assert 0\ndef test_last(last): pass\n"
)

pytestmark = pytest.mark.slow


def run(folder: Path, *options: str, **files: str) -> tuple[int, str]:
    for name, text in ({f"test_{number}": FINE for number in range(5)} | files).items():
        (folder / f"{name}.py").write_text(text)
    call = [sys.executable, SCRIPT, "--processes", "3", "-q", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


def test_every_test_is_run_once_and_those_that_are_left_out_are_counted(tmp_path: Path) -> None:
    code, said = run(tmp_path, "-k", "one or three", test_5="def test_three(): print('seen')")
    assert (code, said.splitlines()[-1].partition(" in ")[0]) == (0, "6 passed, 5 deselected")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("def test_wrong(): assert 1 == 2", ["assert 1 == 2", "FAILED test_5.py::test_wrong", "1 failed, 10 passed"]),
        ("import not_there", ["No module named 'not_there'", "ERROR test_5.py", "10 passed, 1 error"]),
        ("import os\ndef test_end(): os._exit(0)", ["ended in the midst of test_5.py !", "10 passed"]),
        (END, ["ended in the midst of the end !", "11 passed"]),
    ],
    ids=["a failure", "an error of a file", "a process that ends", "an error at the end"],
)
def test_what_goes_wrong_in_a_process_is_told(tmp_path: Path, file: str, told: list[str]) -> None:
    code, said = run(tmp_path, test_5=file)
    assert code == 1
    for words in told:
        assert words in said


def test_after_a_failure_no_other_file_is_begun_if_that_is_wanted(tmp_path: Path) -> None:
    code, said = run(
        tmp_path,
        "-x",
        "--processes",
        "2",
        test_0="def test_wrong(): assert 0",
        test_4="import time\ndef test_long(): time.sleep(1)",
    )
    assert code == 1
    assert "1 failed, 1 passed" in said
