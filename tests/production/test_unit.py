"""The systemd unit: what it would start is started here, by hand, and its exit codes are those that it reckons with."""

import configparser
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.production.shipped import FOLDER, shipped
from tests.survey.respondents import free_port
from tests.survey.servers import opened
from toolkit.commands.collecting import TRY_AGAIN

UNIT = "toolkit@.service"


@pytest.fixture
def service(tmp_path, monkeypatch):
    """Its section [Service], with the example's paths exchanged."""
    monkeypatch.setenv("TOOLKIT_DATABASE", f"sqlite:///{tmp_path / 'campus.db'}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    port = free_port()
    changes = {
        "/opt/survey/bin/toolkit": f"{sys.executable} -m toolkit.command",
        "/etc/survey/survey.toml": tmp_path / "survey.toml",
    }
    read = configparser.ConfigParser(interpolation=None, strict=False)
    read.optionxform = str
    read.read_string(shipped(UNIT, {**changes, "%i": port}))
    return read["Service"]


def start(service):
    command = shlex.split(service["ExecStart"])
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_the_unit_serves_below_the_proxy_s_prefix_and_ends(service, tmp_path):
    """What it starts serves below the prefix of the proxy and ends when told."""
    opened(tmp_path, os.environ["TOOLKIT_DATABASE"])
    process = start(service)
    assert f":{service['ExecStart'].partition('--port ')[2].split()[0]}/survey/" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=float(service["TimeoutStopSec"])) == ("", "")
    assert process.returncode == 0
    assert "proxy_pass http://survey;" in (FOLDER / "nginx.conf").read_text().partition("location /survey/ {")[2]


@pytest.mark.slow
def test_what_will_never_work_is_not_started_again_and_what_may_is(service):
    assert service["Restart"] == "on-failure"
    forbidden = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert forbidden == {2}
    assert TRY_AGAIN not in forbidden
    process = start(service)  # there is no survey
    assert "survey.toml" in process.communicate(timeout=60)[1]
    assert process.returncode in forbidden


@pytest.mark.slow
def test_the_container_starts_what_is_tried_here_and_copies_what_there_is(tmp_path, monkeypatch):
    """No container was built in these tests: its entry point is run without one, and its files are looked for."""
    monkeypatch.setenv("TOOLKIT_DATABASE", f"sqlite:///{tmp_path / 'campus.db'}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    port = free_port()
    text = shipped("Containerfile", {"/etc/survey/survey.toml": tmp_path / "survey.toml", "8000": port})
    told = [line.split() for line in text.splitlines() if line.startswith("COPY")]
    root = Path(__file__).parents[2]
    assert [name for line in told for name in line[1:-1] if not (root / name).exists()] == []
    (entry,) = [line.partition("ENTRYPOINT ")[2] for line in text.splitlines() if line.startswith("ENTRYPOINT")]
    opened(tmp_path, os.environ["TOOLKIT_DATABASE"])
    name, *arguments = json.loads(entry)
    assert name == "toolkit"
    process = subprocess.Popen([sys.executable, "-m", "toolkit.command", *arguments], stdout=subprocess.PIPE, text=True)
    assert f":{port}/survey/" in process.stdout.readline()
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 0
