import hashlib
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from toolkit import warner
from toolkit.local import numeric, oracles
from toolkit.local.numeric import LocalLaplace, Scrambled
from toolkit.survey import client

RANDOMIZER = client.asset("randomizer.js").decode()


def test_all_that_a_phone_loads_is_under_40_kilobytes():
    """In open and token mode; the experimental blind mode loads two more small files."""
    sizes = {name: len(client.asset(name)) for name in client.NAMES}
    blind = sizes.pop("blind.js") + sizes.pop("signing.js")
    assert sum(sizes.values()) < 40_000, sizes
    assert blind < 4_500


def test_nothing_is_loaded_that_the_hash_does_not_cover():
    assert {path.name for path in client._STATIC.iterdir()} == set(client.NAMES)
    assert {"form.html", "form.js", "randomizer.js", "style.css"} <= set(client.NAMES)


@pytest.mark.parametrize("name", ["../client.py", "/etc/passwd", "randomizer.js.bak", "", "RANDOMIZER.JS"])
def test_no_other_file_can_be_had(name):
    with pytest.raises(ValueError, match="the page has no other files"):
        client.asset(name)


def test_the_hash_is_that_of_names_lengths_and_bytes_in_order():
    digest = hashlib.sha256()
    for name in sorted(client.NAMES):
        content = (client._STATIC / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    assert client.code_hash() == digest.hexdigest()


def test_the_hash_changes_with_any_byte_and_with_the_border_between_two_files(tmp_path, monkeypatch):
    def hashed(**files: str) -> str:
        names = {f"{name}.js": text for name, text in files.items()}
        for name, text in names.items():
            (tmp_path / name).write_text(text)
        monkeypatch.setattr(client, "NAMES", tuple(names))
        return client.code_hash()

    monkeypatch.setattr(client, "_STATIC", tmp_path)
    different = [
        {},
        {"a": "xy", "b": "z"},
        {"a": "x", "b": "yz"},
        {"a": "x", "b": "y!"},
        {"a": "x"},
        {"c": "x"},
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
        "import ",
        "Math.random",
        "fetch",
        "XMLHttp",
        "sendBeacon",
        "localStorage",
        "document",
        "window.",
        "console",
        "eval(",
    )
    assert [word for word in forbidden if word in RANDOMIZER] == []


def test_the_randomizer_is_written_so_that_a_phone_of_2018_can_read_it():
    """No optional chaining or defaults by ??, no 12n literals, no private fields: one such sign and the whole page is dead."""
    code = re.sub(r"/\*\*.*?\*/", "", RANDOMIZER, flags=re.DOTALL)
    code = re.sub(r"//.*", "", code)
    assert re.findall(r"\?\.|\?\?|\b\d+n\b|\|\|=|&&=|#\w|\*\*|\.at\(|\.flat|async|await|static", code) == []


def test_the_randomizer_can_be_read_in_one_go():
    lines = RANDOMIZER.splitlines()
    assert len(lines) <= 350
    assert max(map(len, lines)) <= 132


@pytest.mark.parametrize(
    "randomizer",
    [
        warner(epsilon=1.0),
        oracles.subset(16, 1.0),
        oracles.tick_boxes(6, 1.0),
        numeric.hybrid((-273.15, 1e6), 1.0),
        numeric.square_wave((0, 20), 1.0),
        numeric.local_laplace((0, 20), 0.5),
        numeric.additive(("-1/3", 3), {"-1/6": "1/7", "5/4": "2/7", 2: "4/7"}, step="1/9"),
    ],
)
def test_a_browser_gets_what_python_wrote_where_its_numbers_are_exact(randomizer):
    assert client.browser_data(randomizer) == randomizer.to_dict()


def test_a_budget_of_many_digits_goes_as_strings_and_comes_back_whole():
    noise = LocalLaplace(Fraction(0), Fraction(1), 2**16, Fraction("1.2345678901234567"))
    sent = json.loads(json.dumps(client.browser_data(noise)))
    assert [type(part) for part in sent["budget"]] == [str, str]
    assert Fraction(int(sent["budget"][0]), int(sent["budget"][1])) == noise.budget


def sent_integers(data: object) -> list[int]:
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        return [number for part in data for number in sent_integers(part)]
    return [data] if isinstance(data, int) else []


@pytest.mark.parametrize("epsilon", [1.0, math.log(3), 1e-7, 0.10000000000000002, 21.999999999999996])
def test_every_integer_that_a_browser_gets_is_one_that_it_can_hold(epsilon):
    sent = client.browser_data(numeric.local_laplace((0, 20), epsilon))
    assert max(map(abs, sent_integers(sent))) < 2**53


@pytest.mark.parametrize(
    ("randomizer", "message"),
    [
        (numeric.one_bit((0, 0.12345678901234567), 1.0), "`bounds` must have fewer digits"),
        (numeric.square_wave((-(2**53), 0), 1.0), "`bounds` must have fewer digits"),
        (numeric.piecewise((Fraction(1, 3**20), Fraction(1, 2**30)), 1.0), "`bounds` must have fewer digits"),
        (numeric.local_laplace((0, 1), 1e-9), "`epsilon` must be larger"),
        (numeric.additive((0, 1), {"0.12345678901234567": 0.5, 1: 0.5}), "`noise` must have fewer digits"),
        (numeric.additive((0, 1), {2**52: 0.5, -(2**52) - 1: 0.5}), "`noise` must have fewer digits"),
        (numeric.multiplicative((1, 2**16), {2**38: 0.5, 1: 0.5}), "`noise` must have fewer digits"),
    ],
)
def test_what_a_browser_would_round_is_refused_with_its_reason(randomizer, message):
    with pytest.raises(ValueError, match=f"{message} for answers in a browser, got"):
        client.browser_data(randomizer)


def test_a_deck_of_whole_numbers_up_to_a_billion_is_fine():
    deck = Scrambled(Fraction(0), Fraction(10), 10, "additive", (Fraction(0), Fraction(10**9)), (1, 1))
    assert client.browser_data(deck) == deck.to_dict()
