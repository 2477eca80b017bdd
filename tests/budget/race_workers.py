"""Run by `spending.race`: many processes spend from one ledger at once, and some are killed without
warning.

    python race_workers.py LEDGER FOLDER WORKERS KILLS GRANTS SEED

Every worker writes what was granted to it into its own file, after the release returned. Those who find the
budget spent wait for the others, so that there is always somebody left to kill.
"""

import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.core.loss import Loss, Pure


@dataclass(frozen=True)
class Tiny:
    """A mechanism that returns what it is given."""

    loss: Loss

    def release(self, value: int, rng: object = None) -> int:  # noqa: ARG002
        return value


def work(ledger: Ledger, folder: Path, worker: int, tiny: Tiny) -> None:
    granted = os.open(folder / f"{worker}.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    number = 0
    while True:
        label = f"{worker}-{number}"
        try:
            ledger.release(tiny, number, label)
        except BudgetError:
            return
        os.write(granted, f"{label}\n".encode())
        number += 1


def main() -> None:
    path, folder, workers, kills, grants, seed = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    chance = random.Random(seed)  # noqa: S311
    ledger = Ledger(Pure(1), path)
    gate, opened = os.pipe()
    children = []
    for worker in range(workers):
        child = os.fork()
        if not child:
            os.close(opened)
            work(ledger, folder, worker, Tiny(Pure(Fraction(1, grants))))
            os.read(gate, 1)  # until the parent has killed whom it will
            os._exit(0)
        children.append(child)
    for child in chance.sample(children, kills):
        time.sleep(chance.uniform(0.002, 0.03))
        os.kill(child, signal.SIGKILL)
    os.close(opened)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(codes.count(-signal.SIGKILL), codes.count(0))  # noqa: T201


if __name__ == "__main__":
    main()
