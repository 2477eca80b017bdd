"""Access control, end to end: a real store and application, and all attempts to use an invitation twice."""

import asyncio
import re
import secrets
from contextlib import contextmanager, nullcontext

import pytest

from tests.survey.blinding import blind, issuer_key, unblind
from tests.survey.desk import ANSWERS, asked, campus, payload, sent, sha256
from toolkit.survey.serving.access import (
    PROMISES,
    access_promise,
    new_tokens,
    page_hash,
    parse_sign_request,
    required_token_hash,
    token_hash,
    token_link,
)
from toolkit.survey.serving.blind import prepare_message
from toolkit.survey.serving.payload import BlindToken, OtherSurveyError, PayloadError, Submission
from toolkit.survey.serving.response import HttpError
from toolkit.survey.serving.server import build_application
from toolkit.survey.storage import State, open_store
from toolkit.survey.storage.writer import Writer


@pytest.fixture(scope="module")
def key():
    return issuer_key()


class Desk:
    """An open collection in a SQLite file, its server, and the invited `tokens`."""

    def __init__(self, folder, access, key=None, invited=3, earlier=()):
        self.survey, self.key = campus(access), key
        self.page = page_hash(self.survey.hash, key and key.issuer)
        self.store = open_store(f"sqlite:///{folder / 'campus.db'}")
        self.store.create(self.survey)
        self.tokens = new_tokens(invited)
        if access != "open":
            self.store.invite(map(token_hash, self.tokens))
        self.store.set_state(State.OPEN)
        self.writer = Writer(self.store)
        self.app = build_application(self.survey, self.writer, issuer_key=key, earlier_hashes=earlier)

    def send(self, data):
        return asked(self.app, "POST", "/report", sent(data)).status

    def sign(self, invitation, blinded, /, **changes):
        data = {"survey": self.page, "invitation": invitation, "blinded": blinded.hex(), **changes}
        return asked(self.app, "POST", "/sign", sent(data))

    def token(self, invitation):
        """Do what a browser does with its invitation."""
        nonce = secrets.token_bytes(32)
        message = prepare_message(nonce, bytes.fromhex(self.page))
        blinded, inverse = blind(self.key.issuer, message)
        signature = unblind(self.key.issuer, bytes.fromhex(self.sign(invitation, blinded).json["signature"]), inverse)
        return {"nonce": nonce.hex(), "signature": signature.hex()}


@contextmanager
def desk(folder, access, **rest):
    made = Desk(folder, access, **rest)
    try:
        yield made
    finally:
        made.writer.stop()
        made.store.close()


def test_invitations_are_128_random_bits_each():
    tokens = new_tokens(2000)
    assert len(set(tokens)) == 2000
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", token) for token in tokens)
    with pytest.raises(ValueError, match="must be at least 1"):
        new_tokens(0)


def test_no_number_of_invitations_fills_the_memory():
    with pytest.raises(ValueError, match="`count` must be at most 1,000,000, got 100000000000"):
        new_tokens(10**11)


def test_the_token_of_a_link_is_in_its_fragment():
    """The token follows the hash sign, so no server receives it."""
    token = new_tokens(1)[0]
    assert token_link("https://survey.example/path/", token) == f"https://survey.example/path/#t={token}"
    assert token_link("https://survey.example/#old", token) == f"https://survey.example/#t={token}"


def test_what_was_not_made_here_is_no_token():
    for wrong in ("", "short", "A" * 23, "ä" * 22, "A" * 21 + "="):
        with pytest.raises(ValueError, match="a token must be 22"):
            token_hash(wrong)


def test_each_mode_says_what_it_stops():
    assert set(PROMISES) == {"open", "token", "blind"}
    assert "nothing stops" in PROMISES["open"]
    assert "Experimental" in PROMISES["blind"]
    assert {mode: access_promise(mode) for mode in PROMISES} == PROMISES
    assert access_promise("open", 4) == PROMISES["open"]  # no person has a link of their own
    for mode in ("token", "blind"):
        assert re.fullmatch(
            rf"{PROMISES[mode]} .* people, on average up to .* after 4 waves, .*", access_promise(mode, 4)
        )


def test_the_pass_of_each_mode(key):
    token = new_tokens(1)[0]
    assert required_token_hash([], Submission(bytes(16), "", None)) is None
    assert required_token_hash([], Submission(bytes(16), "", token)) == sha256(token) == token_hash(token)
    with pytest.raises(HttpError) as caught:
        required_token_hash(["0" * 64], Submission(bytes(16), "", BlindToken(bytes(32), bytes(256))), key.issuer)
    assert caught.value.status == 403
    with pytest.raises(HttpError):
        required_token_hash(["0" * 64], Submission(bytes(16), "", BlindToken(bytes(32), bytes(256))), None)


# Open


@pytest.mark.slow
def test_open_mode_takes_anybody_any_number_of_times(tmp_path):
    with desk(tmp_path, "open") as it:
        assert [it.send(payload(it.survey, survey=it.page)) for _ in range(3)] == [201] * 3
        assert it.send(payload(it.survey, survey=it.page, token="A" * 22)) == 400  # not a field of this mode


# Single-use links


@pytest.mark.slow
def test_a_link_works_once_and_its_retry_as_often_as_it_takes(tmp_path):
    with desk(tmp_path, "token") as it:
        mine = payload(it.survey, survey=it.page, token=it.tokens[0])
        assert [it.send(mine), it.send(mine), it.send(mine)] == [201] * 3
        assert it.send(payload(it.survey, survey=it.page, token=it.tokens[0])) == 403  # another report
        assert (
            it.send({**mine, "answers": {**ANSWERS, "cheated": 1}}) == 201
        )  # a changed one, which is treated like the first
        assert it.send(payload(it.survey, survey=it.page, token=it.tokens[1])) == 201
        assert it.store.count_reports() == 2


@pytest.mark.slow
def test_links_that_were_never_made_are_refused(tmp_path):
    with desk(tmp_path, "token") as it:
        assert it.send(payload(it.survey, survey=it.page, token=new_tokens(1)[0])) == 403
        without = payload(it.survey, survey=it.page)
        del without["token"]
        assert it.send(without) == 400
        assert it.store.count_reports() == 0


@pytest.mark.slow
def test_of_many_reports_with_one_link_at_the_same_time_one_is_stored(tmp_path):
    from tests.survey.desk import ask

    with desk(tmp_path, "token") as it:

        async def rush():
            bodies = [sent(payload(it.survey, survey=it.page, token=it.tokens[0])) for _ in range(30)]
            return [
                answer.status
                for answer in await asyncio.gather(*(ask(it.app, "POST", "/report", body) for body in bodies))
            ]

        assert sorted(asyncio.run(rush())) == [201, *[403] * 29]
        assert it.store.count_reports() == 1


# A person who knows a key, from a receipt or by looking over a shoulder, and guesses the report


GUESSES = [
    {},
    {"answers": {**ANSWERS, "cheated": 1}},
    {"answers": {**ANSWERS, "tried": [0, 0]}},
    {"answers": {**ANSWERS, "note": None}},
    {"understood": False},
]


def guesses(it, mine, token):
    """Return the responses to every guess at a stored report, including the right one, by a person with this token."""
    passing = {} if it.survey.access == "open" else {"token": token}
    return [asked(it.app, "POST", "/report", sent({**mine, **guess, **passing})) for guess in GUESSES]


@pytest.mark.slow
@pytest.mark.parametrize("state", [State.OPEN, State.PAUSED, State.CLOSED])
@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_a_key_and_a_guessed_report_tell_nobody_whether_the_guess_is_right(tmp_path, key, access, state):
    """With the person's own token, with another valid one and with an invented one, all guesses get the same
    response.
    """
    with desk(tmp_path, access, key=key if access == "blind" else None) as it:
        own, other = ([it.token(one) for one in it.tokens] if access == "blind" else it.tokens)[:2]
        mine = payload(it.survey, survey=it.page) if access == "open" else payload(it.survey, survey=it.page, token=own)
        assert it.send(mine) == 201
        before = list(it.store.reports())
        it.store.set_state(state)
        invented = {"nonce": "00" * 32, "signature": "11" * 256} if access == "blind" else new_tokens(1)[0]
        for token in (own, other, invented):
            first, *rest = guesses(it, mine, token)
            assert rest == [first] * len(rest)
        assert it.send(mine) == 201  # the person's own phone, which did not receive the response
        assert list(it.store.reports()) == before
        # without a token, one does not even learn that the key exists
        if access != "open" and state is not State.CLOSED:
            unknown = {**mine, "key": secrets.token_hex(16)}
            assert guesses(it, mine, invented) == guesses(it, unknown, invented)
            assert guesses(it, mine, invented)[0].status == 403


@pytest.mark.slow
def test_there_is_nothing_to_sign_without_blind_tokens(tmp_path):
    with desk(tmp_path, "token") as it:
        assert it.sign(it.tokens[0], bytes(256)).status == 404


# Blind tokens


@pytest.mark.slow
def test_blind_tokens_the_whole_way(tmp_path, key):
    with desk(tmp_path, "blind", key=key) as it:
        reports = [payload(it.survey, survey=it.page, token=it.token(invitation)) for invitation in it.tokens]
        assert [it.send(report) for report in reversed(reports)] == [201] * 3
        assert [it.send(report) for report in reports] == [201] * 3  # retries
        assert it.store.count_reports() == 3


@pytest.mark.slow
def test_a_blind_token_is_spent_by_its_first_report(tmp_path, key):
    with desk(tmp_path, "blind", key=key) as it:
        token = it.token(it.tokens[0])
        assert it.send(payload(it.survey, survey=it.page, token=token)) == 201
        assert it.send(payload(it.survey, survey=it.page, token=token)) == 403
        assert it.store.count_reports() == 1


@pytest.mark.slow
def test_an_invitation_gives_one_token(tmp_path, key):
    """The same request gets the same response."""
    with desk(tmp_path, "blind", key=key) as it:
        one, _ = blind(key.issuer, prepare_message(bytes(32), bytes.fromhex(it.page)))
        other, _ = blind(key.issuer, prepare_message(bytes(32), bytes.fromhex(it.page)))
        first = it.sign(it.tokens[0], one)
        assert first.status == 200
        assert it.sign(it.tokens[0], one).json == first.json  # its response was lost on the way
        refused = it.sign(it.tokens[0], other)
        assert (refused.status, list(refused.json)) == (403, ["error"])
        assert it.sign(it.tokens[1], other).status == 200


@pytest.mark.slow
def test_strangers_and_the_impatient_get_no_signature(tmp_path, key):
    with desk(tmp_path, "blind", key=key) as it:
        blinded, _ = blind(key.issuer, prepare_message(bytes(32), bytes.fromhex(it.page)))
        assert it.sign(new_tokens(1)[0], blinded).status == 403
        it.store.set_state(State.PAUSED)
        assert it.sign(it.tokens[0], blinded).status == 403
        it.store.set_state(State.OPEN)
        assert it.sign(it.tokens[0], blinded).status == 200


@pytest.mark.slow
def test_forged_and_foreign_signatures_are_refused(tmp_path, key):
    """Signatures of other keys and for other surveys are rejected as well."""
    with desk(tmp_path, "blind", key=key) as it:
        good = it.token(it.tokens[0])
        flipped = f"{int(good['signature'], 16) ^ 1:0512x}"
        foreign = Desk.token(_Elsewhere(issuer_key(1), it.page), "")
        other_survey = Desk.token(_Elsewhere(key, "0" * 64), "")
        for token in (
            {**good, "signature": flipped},
            {**good, "signature": "00" * 256},
            {**good, "signature": good["signature"][:-2]},
            {**good, "nonce": "00" * 32},
            foreign,
            other_survey,
        ):
            assert it.send(payload(it.survey, survey=it.page, token=token)) == 403
        assert it.store.count_reports() == 0
        assert it.send(payload(it.survey, survey=it.page, token=good)) == 201


class _Elsewhere:
    """A server that signs everything it receives, for another key or another survey."""

    def __init__(self, key, page):
        self.key, self.page = key, page

    def sign(self, _, blinded):
        return type("Signed", (), {"json": {"signature": self.key.sign(blinded).hex()}})


@pytest.mark.slow
def test_a_page_with_another_key_is_another_survey(tmp_path, key):
    """A phone that blinded for the key of another page is told so, and keeps its invitation."""
    other = issuer_key(1)
    with desk(tmp_path, "blind", key=key) as it:
        theirs = page_hash(it.survey.hash, other.issuer)
        blinded, _ = blind(key.issuer, prepare_message(bytes(32), bytes.fromhex(theirs)))
        for page in (theirs, it.survey.hash):
            assert it.sign(it.tokens[0], blinded, survey=page).status == 409
        assert it.sign(it.tokens[0], blinded).status == 200
        good = it.token(it.tokens[1])
        assert it.send(payload(it.survey, survey=theirs, token=good)) == 409
        assert it.send(payload(it.survey, survey=it.page, token=good)) == 201
        shown = asked(it.app, "GET", "/").body
    assert it.page.encode() in shown
    assert it.survey.hash.encode() not in shown


@pytest.mark.slow
def test_tokens_of_earlier_editions_are_accepted(tmp_path, key):
    """Reports and signatures of other pages are not accepted."""
    before = "ab" * 32
    with desk(tmp_path, "blind", key=key, earlier=[before]) as it:
        now, it.page = it.page, page_hash(before, key.issuer)
        assert it.send(payload(it.survey, survey=it.page, token=it.token(it.tokens[0]))) == 201
        assert (
            it.send(payload(it.survey, survey=now, token=it.token(it.tokens[1]))) == 201
        )  # signed before, reported after
        it.page = page_hash("cd" * 32, key.issuer)
        assert it.send(payload(it.survey, survey=it.page, token=Desk.token(_Elsewhere(key, it.page), ""))) == 409
        assert it.send(payload(it.survey, survey=now, token=Desk.token(_Elsewhere(key, it.page), ""))) == 403
        assert it.store.count_reports() == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        *({"invitation": "short"}, {"invitation": None}, {"blinded": ""}, {"blinded": "00" * 256}),
        *({"blinded": "ff" * 256}, {"blinded": "zz" * 256}, {"blinded": "AB" * 256}, {"blinded": "01" * 255}),
        *({"blinded": 5}, {"extra": "1"}, {"survey": None}),
    ],
)
def test_invalid_signature_requests_keep_the_invitation(tmp_path, key, change):
    """They are rejected before the invitation is used up."""
    with desk(tmp_path, "blind", key=key) as it:
        blinded, _ = blind(key.issuer, prepare_message(bytes(32), bytes.fromhex(it.page)))
        assert it.sign(it.tokens[0], blinded, **change).status == 400
        assert it.sign(it.tokens[0], blinded).status == 200


def test_a_request_for_another_survey_is_told_so(key):
    pages = ["1" * 64, "2" * 64]
    good = {"survey": "0" * 64, "invitation": "A" * 22, "blinded": "01" * 256}
    with pytest.raises(OtherSurveyError):
        parse_sign_request(pages, key.issuer, sent(good))
    short = {name: value for name, value in good.items() if name != "blinded"}
    for wrong in ([], list(good), short, good | {"more": "1"}, good | {"survey": 1}, good | {"blinded": None}):
        with pytest.raises(PayloadError, match="exactly the fields survey, invitation, blinded, all of them text"):
            parse_sign_request(pages, key.issuer, sent(wrong))
    good["survey"] = pages[1]
    assert "A" * 22 not in repr(parse_sign_request(pages, key.issuer, sent(good)))
    n, digits = key.issuer.n, 2 * key.issuer.n_bytes
    for number, fits in ((0, False), (1, True), (n - 1, True), (n, False)):
        with nullcontext() if fits else pytest.raises(PayloadError, match="a number below the issuer's modulus"):
            asked_for = parse_sign_request(pages, key.issuer, sent(good | {"blinded": f"{number:0{digits}x}"}))
            assert int.from_bytes(asked_for.blinded) == number


@pytest.mark.slow
def test_nothing_in_the_store_connects_an_invitation_with_a_report(tmp_path, key):
    """Each hash in the tables has a single purpose: no value is in two tables, except the hashes of the invited."""
    import sqlite3

    with desk(tmp_path, "blind", key=key) as it:
        reports = [payload(it.survey, survey=it.page, token=it.token(invitation)) for invitation in it.tokens]
        assert [it.send(report) for report in reports] == [201] * 3
        database = sqlite3.connect(tmp_path / "campus.db")
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        values = {
            name: {cell for row in database.execute(f"SELECT * FROM {name}") for cell in row}  # noqa: S608
            for name in names
        }
        database.close()
    invited = {token_hash(token) for token in it.tokens}
    reported = {bytes.fromhex(report["key"]) for report in reports}
    nonces = {sha256(bytes.fromhex(report["token"]["nonce"])) for report in reports}
    for name, found in values.items():
        kinds = [bool(found & kind) for kind in (invited, reported, nonces)]
        assert sum(kinds) <= 1, name
