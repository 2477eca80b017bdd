"""A server whose disk fills up and is emptied again; the tests of SQLite run this program, which prints what happened.

python full_disk.py URL

The system itself limits the size of this process's files (RLIMIT_FSIZE), which needs no privilege and can be undone.
"""

import json
import resource
import sys
from pathlib import Path

from tests.survey.entries import entry
from toolkit.survey.storage import Outcome, StoreError, open_store


def main() -> None:
    url = sys.argv[1]
    store, path = open_store(url), Path(url.removeprefix("sqlite:///"))
    bodies = [f"{number:06d}".ljust(3000) for number in range(3000)]
    acknowledged, failures = [], []
    room = path.stat().st_size + 400_000
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, most))
    for body in bodies:
        try:
            assert store.add([entry(body), entry(body + "twin")]) == [Outcome.STORED] * 2
            acknowledged.append(body)
        except StoreError as error:
            failures.append([str(error), error.retry_after])
            if len(failures) == 5:
                break
    counted = store.count_reports()  # reading still works
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    after = [outcome.value for outcome in store.add([entry("room again")])]
    store.close()
    print(  # noqa: T201
        json.dumps({"acknowledged": acknowledged, "failures": failures, "counted": counted, "after": after})
    )


if __name__ == "__main__":
    main()
