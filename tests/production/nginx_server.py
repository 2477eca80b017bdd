"""A private nginx with the configuration that is shipped, in its own folder and on its own ports."""

import os
import subprocess
import time
from contextlib import contextmanager

from tests.needs import program
from tests.production.shipped import shipped
from tests.survey.lines import certificate, line
from tests.survey.respondents import free_port

NAME = "localhost"
"""The name that phones ask for: whoever asks for an address gets nothing."""

MAIN = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/logs/main.log info;
worker_processes 2;
events {{ worker_connections 512; }}
http {{
    access_log {folder}/logs/access.log;
    client_body_temp_path {folder}/bodies; proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/t; uwsgi_temp_path {folder}/t; scgi_temp_path {folder}/t;
    include {folder}/site.conf;
}}
"""
"""What Debian's own nginx.conf does around a site, with logs that tell more than its usual ones."""


class Nginx:
    """Where it listens, where it logs, and the certificate that it shows."""

    def __init__(self, folder, ports, changes):
        self.folder, self.logs = folder, folder / "logs"
        self.logs.mkdir()
        self.authority, private = certificate(folder)
        self.port = free_port()
        self.plain_port = next(port for port in range(self.port + 1, 65_000) if _is_free(port))
        self.site = shipped(
            "nginx.conf",
            {
                "127.0.0.1:8001": f"127.0.0.1:{ports[0]}",
                "127.0.0.1:8002": f"127.0.0.1:{ports[1]}",
                "/etc/letsencrypt/live/survey.example.org/fullchain.pem": self.authority,
                "/etc/letsencrypt/live/survey.example.org/privkey.pem": private,
                "survey.example.org": NAME,
                "/var/log/nginx": self.logs,
                "listen 443 ": f"listen 127.0.0.1:{self.port} ",
                "listen 80": f"listen 127.0.0.1:{self.plain_port}",
                **changes,
            },
        )

    def said(self):
        """All that is in its logs."""
        return b"".join(path.read_bytes() for path in self.logs.iterdir())

    def kept(self):
        """What it left in its folders for bodies and answers."""
        return [path for name in ("bodies", "answers") for path in (self.folder / name).rglob("*") if path.is_file()]


@contextmanager
def nginx(folder, ports, changes=None):
    """nginx before two servers; `changes` are made to the shipped file, to see that a test would notice."""
    made, found = Nginx(folder, ports, changes or {}), program("nginx", "nginx")
    (folder / "site.conf").write_text(made.site)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder, user=user))
    command = [found, "-p", folder, "-e", folder / "logs" / "start.log", "-c", folder / "nginx.conf"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            _wait_for(made.port, process)
            yield made
        finally:
            process.terminate()
            process.communicate(timeout=20)


def _is_free(port):
    try:
        with line(port, timeout=1):
            return False
    except OSError:
        return True


def _wait_for(port, process):
    end = time.monotonic() + 60
    while _is_free(port):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.02)
