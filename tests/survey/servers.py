"""`toolkit serve --foreground`, as systemd starts it."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

from tests.survey.desk import campus
from toolkit.survey.collector import prepare


def opened(folder, database, access="open", **changes):
    """Write a survey to a file, open a collection of it, and return the survey."""
    survey = campus(access, **changes)
    survey.save(folder / "survey.toml")
    collector, _ = prepare(survey, database)
    collector._disconnect()
    return survey


def begin(folder, database, *options, **environment):
    """Start a server in the foreground, wait until it is ready, and return the process and its line."""
    command = [
        sys.executable,
        "-m",
        "toolkit.command",
        "serve",
        folder / "survey.toml",
        "--foreground",
        *map(str, options),
    ]
    known = {**os.environ, "TOOLKIT_DATABASE": database, "XDG_STATE_HOME": str(folder / "state"), **environment}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=known)
    said = process.stdout.readline()
    if not said:
        raise AssertionError(process.communicate(timeout=20)[1])
    return process, json.loads(said)


def finish(process, seconds=20):
    """Stop it with SIGTERM; return its exit code and its output on stderr."""
    process.terminate()
    said = process.communicate(timeout=seconds)[1]
    return process.returncode, said


@contextmanager
def foreground(folder, database, *options, **environment):
    process, said = begin(folder, database, *options, **environment)
    try:
        yield process, said
    finally:
        process.kill()
        process.communicate(timeout=20)
