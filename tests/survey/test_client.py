import gzip
import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from toolkit.survey import client

RANDOMIZER = client.asset("randomizer.js").decode()


def test_the_page_stays_below_its_size_limits():
    """All files together, in every mode, although the two files of the blind mode are loaded only in that mode. The
    files of a station, which no phone loads, are counted separately.
    """
    station = {"station.js", "worker.js"}
    sizes = {name: len(client.asset(name)) for name in client.FILE_NAMES}
    packed = {name: len(gzip.compress(client.asset(name))) for name in client.FILE_NAMES}
    assert sum(size for name, size in sizes.items() if name not in station) < 55_000, sizes
    assert sum(size for name, size in packed.items() if name not in station) < 22_000, packed
    assert sum(packed[name] for name in station) < 6_500, packed


def test_nothing_is_loaded_that_the_hash_does_not_cover():
    assert {path.name for path in client._STATIC.iterdir()} == set(client.FILE_NAMES)
    assert {"form.html", "form.js", "randomizer.js", "style.css"} <= set(client.FILE_NAMES)


@pytest.mark.parametrize("name", ["../client.py", "/etc/passwd", "randomizer.js.bak", "", "RANDOMIZER.JS"])
def test_no_other_file_can_be_had(name):
    with pytest.raises(ValueError, match="the page has no other files"):
        client.asset(name)


def test_the_hash_is_that_of_names_lengths_and_bytes_in_order():
    digest = hashlib.sha256()
    for name in sorted(client.FILE_NAMES):
        content = (client._STATIC / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    assert client.code_hash() == digest.hexdigest()


def test_the_recipe_that_is_published_gives_the_number_on_the_receipt():
    guide = (Path(__file__).parents[2] / "docs" / "production.md").read_text()
    (recipe,) = re.findall(r"```sh\n(LC_ALL=C; for f in .*)\n```", guide)
    done = subprocess.run(["sh", "-c", recipe], cwd=client._STATIC, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == client.code_hash()


def test_the_hash_changes_with_any_byte(tmp_path, monkeypatch):
    """It also changes with the boundary between two files."""

    def hashed(**files: str) -> str:
        names = {f"{name}.js": text for name, text in files.items()}
        for name, text in names.items():
            (tmp_path / name).write_text(text)
        monkeypatch.setattr(client, "FILE_NAMES", tuple(names))
        return client.code_hash()

    monkeypatch.setattr(client, "_STATIC", tmp_path)
    different = [
        *({}, {"a": "xy", "b": "z"}, {"a": "x", "b": "yz"}, {"a": "x", "b": "y!"}, {"a": "x"}, {"c": "x"}),
        {"a": "x", "b": ""},
    ]
    assert len({hashed(**files) for files in different}) == len(different)


def test_the_page_can_be_hashed_without_the_survey_that_it_shows():
    """The survey's own hash covers the client's, so the client must not need the survey."""
    imported = re.findall(r"^(?:from|import) (\S+)", Path(client.__file__).read_text(), flags=re.MULTILINE)
    assert imported
    assert [name for name in imported if name.startswith("toolkit.survey")] == []


def test_the_randomizer_is_plain_and_sends_stores_and_loads_nothing():
    forbidden = (
        *("import ", "Math.random", "fetch", "XMLHttp", "sendBeacon", "localStorage", "document", "window."),
        *("console", "eval("),
    )
    assert [word for word in forbidden if word in RANDOMIZER] == []


def test_the_randomizer_is_written_so_that_a_phone_of_2018_can_read_it():
    """No optional chaining, no default values by ??, no 12n literals, no private fields: a single one of them would
    break the page in old browsers.
    """
    code = re.sub(r"/\*\*.*?\*/", "", RANDOMIZER, flags=re.DOTALL)
    code = re.sub(r"//.*", "", code)
    assert re.findall(r"\?\.|\?\?|\b\d+n\b|\|\|=|&&=|#\w|\*\*|\.at\(|\.flat|async|await|static", code) == []


def test_the_randomizer_can_be_read_in_one_go():
    lines = RANDOMIZER.splitlines()
    assert len(lines) <= 350
    assert max(map(len, lines)) <= 132
