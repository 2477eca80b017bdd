"""Stations at the server: sealed reports are opened, each use counts once, and nothing else is accepted."""

import asyncio
import base64
import json
import os
import re
import secrets
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.survey.desk import ANSWERS, JSON, Memory, ask, asked, campus, payload, sent, sha256
from toolkit.core import extras
from toolkit.local import numeric, oracles
from toolkit.survey.client import asset
from toolkit.survey.collector import prepare
from toolkit.survey.questions.question import LONGEST_ANSWER, Question
from toolkit.survey.serving.access import token_hash
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.page import page_content
from toolkit.survey.serving.server import build_application
from toolkit.survey.serving.station import (
    KEY_SETTING,
    MAX_RETURNED_USES,
    StationKey,
    new_station_link,
    station_padded_length,
    station_tokens,
)
from toolkit.survey.spec import Survey
from toolkit.survey.storage import open_store
from toolkit.survey.storage.writer import Writer

KEY = StationKey.generate()
FIELD = {"station": "interviewer", "auto": True}


def survey(**changes):
    return campus("token", field=FIELD, **changes)


def sealed(body, key=KEY, size=1024):
    """Seal a report as a station's browser does, by the steps that are written in `station.py`."""
    own = ec.generate_private_key(ec.SECP256R1())
    point = own.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    theirs = bytes.fromhex(key.public_key)
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
    once = HKDF(SHA256(), 32, salt=None, info=point + theirs).derive(shared)
    return base64.b64encode(point + AESGCM(once).encrypt(bytes(12), body.ljust(size), None)).decode()


def report(of, **changes):
    return sent({name: value for name, value in payload(of, **changes).items() if name != "token"})


def test_without_cryptography_it_is_said_what_to_install(monkeypatch):
    for module in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    for use in (StationKey.generate, lambda: StationKey(1).public_key, lambda: StationKey(1).decrypt(bytes(100))):
        with pytest.raises(extras.MissingExtraError, match="cryptography must be installed"):
            use()


class Drawer:
    """A collection of a survey, with settings that are stored once."""

    def __init__(self, asked):
        self.survey, self.settings = lambda: asked, {}
        self.get_setting, self.set_default = self.settings.get, self.settings.setdefault


def test_a_collection_with_stations_has_one_key_for_every_server():
    drawer = Drawer(survey())
    key = StationKey.load_or_create(drawer)
    assert StationKey.load_or_create(drawer) == key != StationKey.load_or_create(Drawer(survey()))
    assert int(drawer.settings[KEY_SETTING], 16) == key.private_value
    assert StationKey.load_or_create(Drawer(campus("token"))) is None


def test_a_sealed_report_is_stored_and_acknowledged_by_what_was_sent():
    of = survey()
    (token,) = station_tokens("a" * 22, 1)
    memory = Memory("token", {token_hash(token)})
    app = build_application(of, memory, station_key=KEY)
    text = sealed(report(of))
    answers = [asked(app, "POST", "/sealed", sent({"sealed": text, "token": token})) for _ in range(2)]
    assert [(one.status, one.json) for one in answers] == [(201, {"stored": sha256(text).hex()[:32]})] * 2
    (body,) = memory.reports.values()
    assert json.loads(body)["answers"] == ANSWERS
    other = asked(app, "POST", "/sealed", sent({"sealed": sealed(report(of)), "token": token}))
    assert (other.status, len(memory.reports)) == (403, 1)


def test_foreign_encryptions_are_refused_without_details():
    """They were not made for this collection, and the message quotes nothing."""
    of = survey()
    app = build_application(of, Memory("token"), station_key=KEY)
    good = sealed(report(of))
    raw = base64.b64decode(good)
    wrong = {
        "another key": sealed(report(of), StationKey.generate()),
        "a changed byte": base64.b64encode(raw[:-1] + bytes([raw[-1] ^ 1])).decode(),
        "no point": base64.b64encode(b"\4" + os.urandom(200)).decode(),
        "no base64": "!" * 100,
        "short": "",
        "with a token of its own": sealed(sent(payload(of))),
        "another survey": sealed(report(of, survey="0" * 64)),
    }
    token = {"token": "a" * 22}
    seen = {name: asked(app, "POST", "/sealed", sent({"sealed": text, **token})).status for name, text in wrong.items()}
    statuses = dict.fromkeys(wrong, 400) | {"another survey": 409, "with a token of its own": 403}
    assert seen == statuses
    more = {"sealed": good, **token, "x": 1}
    for body in ({"sealed": good}, {"sealed": 1, **token}, {"sealed": good, "token": 1}, [], more):
        assert asked(app, "POST", "/sealed", sent(body)).status == 400
    assert asked(app, "POST", "/sealed", sent({"sealed": good}), headers=JSON[:0]).status == 415


def test_uses_that_a_station_gives_back_are_spent_and_nothing_else_is():
    of = survey()
    uses = station_tokens("a" * 22, 3)
    memory = Memory("token", map(token_hash, uses))
    app = build_application(of, memory, station_key=KEY)
    for _ in range(2):
        answer = asked(app, "POST", "/returned", sent({"tokens": uses[:2]}))
        assert (answer.status, answer.json) == (200, {"returned": 2})
    assert memory.spent == set(map(token_hash, uses[:2]))
    wrong = ([], {"tokens": uses, "x": 1}, {"tokens": "a"}, {"tokens": [1]}, {"tokens": ["a"]}, {"tokens": uses * 334})
    assert [asked(app, "POST", "/returned", sent(body)).status for body in wrong] == [400] * 6
    assert len(sent({"tokens": uses[:1] * MAX_RETURNED_USES})) <= Limits.body_bytes
    assert len(memory.spent) == 2


def test_a_station_returns_as_many_uses_at_once_as_the_server_accepts():
    returned = re.search(r"const RETURNED = (\d+);", asset("station.js").decode())
    assert int(returned[1]) == MAX_RETURNED_USES


@pytest.mark.slow
def test_uses_are_exact_under_concurrency(tmp_path):
    """Nine reports for five uses, each sent to both servers of one database: five are stored, once each."""
    database = f"sqlite:///{tmp_path}/field.db"
    of = survey()
    collector, _ = prepare(of, database)
    link, uses = new_station_link("https://survey.example/", 5)
    secret, count = link.partition("#s=")[2].split(".")
    assert (station_tokens(secret, int(count)), len({*uses})) == (uses, 5)
    collector._store.invite(map(token_hash, uses))
    collector._disconnect()
    stores = [open_store(database) for _ in range(2)]
    keys = [StationKey.load_or_create(store) for store in stores]
    assert keys[0] == keys[1]
    writers = [Writer(store) for store in stores]
    apps = [build_application(of, writer, station_key=keys[0]) for writer in writers]
    bodies = [sent({"sealed": sealed(report(of), keys[0]), "token": uses[i % 5]}) for i in range(9)]

    async def all_at_once():
        return await asyncio.gather(*(ask(app, "POST", "/sealed", body) for body in bodies for app in apps))

    statuses = [answer.status for answer in asyncio.run(all_at_once())]
    pairs = list(zip(statuses[::2], statuses[1::2], strict=True))
    assert sorted(pairs) == [(201, 201)] * 5 + [(403, 403)] * 4
    assert stores[0].count_reports() == 5
    for writer, store in zip(writers, stores, strict=True):
        writer.stop()
        store.close()
    collector.close()
    assert collector._store.get_setting(KEY_SETTING) is None  # reports that are still waiting can never be opened
    collector._disconnect()


def test_no_report_is_longer_than_what_all_are_filled_up_to():
    """Return the longest report that each kind of question allows, as a browser writes it."""
    many = [f"option {i}" for i in range(60)]
    questions = [
        Question("words", "Words?", free_text=True, warning="None."),
        Question("boxes", "Boxes?", options=many, multiple=True),
        Question("hash", "Hash?", design=oracles.local_hash(many, 1.0)),
        Question("unary", "Unary?", design=oracles.unary(many, 0.5)),
        Question("noise", "Noise?", design=numeric.local_laplace((-(10**6), 10**6), 0.5)),
        Question("number", "Number?", bounds=(-1e9, 1e9)),
    ]
    of = Survey("All", questions, consent="Why.", access="token", field=FIELD, ceiling=10)
    largest = 2**53 - 1
    answers = {"words": "\U0001f512" * (LONGEST_ANSWER // 2) + "“" * (LONGEST_ANSWER % 2), "boxes": list(range(60))}
    answers |= {"hash": [59, largest], "unary": list(range(60)), "noise": -largest, "number": -123456789.12345679}
    body = {"survey": of.hash, "key": secrets.token_hex(16), "answers": answers, "understood": False}
    assert len(sent(body)) <= station_padded_length(of) < len(sent(body)) + 4 * LONGEST_ANSWER


def test_what_cannot_be_filled_up_to_one_length_is_refused():
    def made(count):
        texts = [Question(f"words{i}", "Words?", free_text=True, warning="None.") for i in range(count)]
        return Survey("Words", texts, consent="Why.", access="token", field=FIELD)

    assert station_padded_length(made(5)) == 159 * 256  # 5 (6 + 30 + 4 * 2000) + 300 + 5 * 40 = 40,680, in blocks
    with pytest.raises(ValueError, match="must stay below 45000 bytes, got 48896"):
        station_padded_length(made(6))
    longest = sent({"sealed": sealed(b"", size=45_000), "token": "a" * 22})
    assert len(longest) <= Limits.body_bytes  # the server accepts a padded report


def test_a_survey_says_how_it_is_asked_there_and_only_where_it_can():
    of = survey()
    assert Survey.from_dict(of.to_dict()) == of
    assert of.hash != campus("token").hash
    for changes, said in (
        ({"access": "open"}, "needs access"),
        ({"field": {"station": "tent"}}, "kiosk"),
        ({"field": {"station": "kiosk", "auto": 1}}, "true or false"),
        ({"field": {"stations": "kiosk"}}, "station"),
        ({"field": "kiosk"}, r"\[field\]"),
        ({"field": {"station": "kiosk"}}, "must randomize by a wheel"),  # tick boxes have none
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            campus(**{"access": "token", "field": FIELD, **changes})


def test_there_is_no_station_without_its_key_or_its_words():
    of = survey()
    assert {"/station", "/sealed", "/returned"} <= build_application(of, Memory("token"), station_key=KEY)._table.keys()
    assert not {"/station", "/sealed", "/returned"} & build_application(of, Memory("token"))._table.keys()
    page = asked(build_application(of, Memory("token"), station_key=KEY), "GET", "/station").body.decode()
    phone = asked(build_application(of, Memory("token"), station_key=KEY), "GET", "/").body.decode()
    assert "This tablet belongs to the researchers" in page
    assert "tablet" not in phone
    assert '"station"' not in phone
    data = page_content(of, station_public_key=KEY.public_key)
    words = {name for name, said in data.pop("words")["en"].items() if "phone" in str(said)}
    assert words == {"another", "used_blind", "verify_2", "verify_5", "station_verify"}  # only the last is shown there
    assert "phone" not in json.dumps(data)
