"""A studio that runs, and a browser's requests to it."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from toolkit.studio import Studio
from toolkit.survey.serving.background import list_servers

FIELDWORK = ("rehearse", "open", "invite", "station", "change")


class Window:
    """What a page of the studio can ask for; it sends the hash of what is so now, as a page that is up to date."""

    def __init__(self, studio):
        self.address = urlsplit(studio.url)
        self.origin = f"http://{self.address.netloc}"
        self.session = self.good("session", key=self.address.fragment.removeprefix("key="))["session"]

    def send(self, method, path, body=b"", **headers):
        line = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        try:
            line.putrequest(method, path, skip_host="host" in headers, skip_accept_encoding=True)
            for name, value in headers.items():
                if value is not None:
                    line.putheader(name.replace("_", "-"), value)
            if method != "GET":
                line.putheader("content-length", str(len(body)))
            line.endheaders(body or None)
            answer = line.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            line.close()

    def api(self, action, /, **arguments):
        arguments = self._shown(action, arguments) | arguments
        headers = {"content_type": "application/json", "origin": self.origin}
        headers["x_studio_session"] = getattr(self, "session", "")
        status, body, _ = self.send("POST", f"/api/{action}", json.dumps(arguments).encode(), **headers)
        return status, json.loads(body)

    def _shown(self, action, arguments):
        """The hash of what a page that was loaded just now would show."""
        file, table = ({name: arguments.get(name)} for name in ("file", "table"))
        if action in FIELDWORK:
            return {"hash": self.api("field", **file)[1].get("hash", "")}
        if action == "write":
            return {"hash": self.api("survey", **file)[1].get("hash", "")}
        if action == "table_notebook":
            return {"hash": self.api("table", **table)[1].get("hash", "")}
        if action == "release":
            return {"hash": self.good("table", **table)["statistics"][arguments["index"]].get("hash", "")}
        return {}

    def good(self, action, /, **arguments):
        status, data = self.api(action, **arguments)
        assert status == 200, data
        return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studio")


@pytest.fixture(scope="module")
def studio(folder, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        links = []
        made = Studio(folder, announce=links.append)
        made.links = links
        yield made
        for server in list_servers():
            server.stop()
        made.stop()


@pytest.fixture(scope="module")
def window(studio):
    return Window(studio)
