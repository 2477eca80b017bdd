"""A server that writes in a loop and is killed without warning, again and again; the tests of stores run this program.

python killed.py URL FOLDER KILLS SEED

Each server first repeats what its predecessor sent without a response, then continues with new reports. The keys of
reports are written to FOLDER/sent before they are sent, and to FOLDER/acknowledged afterwards, one per line. A kill may
cut a line: the report was not written, and the next server begins a new line.
"""

import os
import random
import secrets
import signal
import sys
import time
from pathlib import Path

from toolkit.survey.storage import NewReport, Outcome, open_store


def serve(url: str, folder: Path) -> None:
    store = open_store(url)
    sent = os.open(folder / "sent", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    acknowledged = os.open(folder / "acknowledged", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    keys = unanswered(folder)
    for file in (sent, acknowledged):
        os.write(file, b"\n")
    while True:
        outcomes = store.add([report(key) for key in keys])
        assert set(outcomes) <= {Outcome.STORED, Outcome.REPEATED}
        os.write(acknowledged, b"".join(key.hex().encode() + b"\n" for key in keys))
        keys = [secrets.token_bytes(16) for _ in range(1 + secrets.randbelow(20))]
        os.write(sent, b"".join(key.hex().encode() + b"\n" for key in keys))


def report(key: bytes) -> NewReport:
    """Return the report of a key, computed from the key so that it need not be stored; token and body alike."""
    return NewReport(key, f"the report of {key.hex()}" * 10, key * 2)


def lines(path: Path) -> list[bytes]:
    return [bytes.fromhex(line) for line in path.read_text().split() if len(line) == 32] if path.exists() else []


def unanswered(folder: Path) -> list[bytes]:
    return sorted(set(lines(folder / "sent")) - set(lines(folder / "acknowledged")))


def main() -> None:
    url, folder, kills, seed = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    chance = random.Random(seed)  # noqa: S311
    open_store(url)  # it does not connect yet, but loads the driver once for all children
    acknowledged = folder / "acknowledged"
    acknowledged.touch()
    for _ in range(kills):
        before = acknowledged.stat().st_size
        child = os.fork()
        if not child:
            serve(url, folder)
        while acknowledged.stat().st_size <= before + 1:  # until it works
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


if __name__ == "__main__":
    main()
