"""A studio that runs, and a browser's requests to it."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from toolkit.studio import Studio
from toolkit.survey.serving.background import servers


class Window:
    """What a page of the studio can ask for."""

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
        headers = {"content_type": "application/json", "origin": self.origin}
        headers["x_studio_session"] = getattr(self, "session", "")
        status, body, _ = self.send("POST", f"/api/{action}", json.dumps(arguments).encode(), **headers)
        return status, json.loads(body)

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
        for server in servers():
            server.stop()
        made.stop()


@pytest.fixture(scope="module")
def window(studio):
    return Window(studio)
