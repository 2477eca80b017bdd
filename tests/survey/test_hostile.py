"""14,500 hostile requests, from fixed seeds: each gets a clear 4xx response, and nothing is stored, printed or logged.

A second implementation of the rules (`is_report`) decides what is a report, so that a mutation that happens to be a
report must be stored, and everything else must not.
"""

import asyncio
import json
import logging
import random
import re
import string

import pytest

from tests.survey.blinding import issuer_key
from tests.survey.desk import ANSWERS, JSON, Memory, ask, campus, payload, sent
from toolkit.survey.serving.access import page_hash
from toolkit.survey.serving.server import build_application

MARK = "zQ7-mark"  # is in every body, and must not be in any response or log
CASES = 5000
SURVEY = campus()


def seeded(name):
    return random.Random(name)  # noqa: S311  # the same attack each time


def is_report(raw):
    """Return whether a body is a report to `SURVEY`, by a second implementation of the rules."""
    try:
        data = json.loads(raw.decode("utf-8"), object_pairs_hook=unrepeated, parse_constant=unknown, parse_int=whole)
        return fields(data) and answers(**data["answers"])
    except (ValueError, TypeError, RecursionError):
        return False


def unrepeated(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def unknown(_):
    raise ValueError


def whole(digits):
    if digits == "-0":  # no phone writes it
        raise ValueError
    return int(digits)


def fields(data):
    return (
        isinstance(data, dict)
        and sorted(data) == ["answers", "key", "survey", "understood"]
        and data["survey"] == SURVEY.hash
        and isinstance(data["key"], str)
        and re.fullmatch("[0-9a-f]{32}", data["key"]) is not None
        and isinstance(data["understood"], bool)
        and list(data["answers"]) == ["faculty", "cheated", "tried", "note"]
    )


def code(value, options):
    return type(value) is int and 0 <= value < options


def answers(faculty, cheated, tried, note):
    words = note is None or (
        isinstance(note, str) and len(note) <= 2000 and not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", note)
    )
    pair = isinstance(tried, list) and len(tried) == 2 and code(tried[0], 3) and code(tried[1], 2)
    return code(faculty, 3) and code(cheated, 2) and pair and words


def honest(rng):
    own = {**ANSWERS, "note": f"{MARK} {rng.choice(['ä', '中文', '😀', '<script>', '=1+1', ''])}"}
    return payload(SURVEY, key=f"{rng.getrandbits(128):032x}", answers=own)


NASTY = [
    *(None, True, False, 0, 1, 2, -1, 1.0, 0.5, -0.0, 2**31, 2**53, 2**63, 2**64, 10**300, "", "0", "1"),
    *(MARK, "\0", "a" * 2001, "\ud800", "\u2028", "${jndi:ldap://x}", "'; DROP TABLE report; --"),
    *("../../etc/passwd", {"$ne": None}, {"__proto__": 1}),
    *([], {}, [0], [0, 0], [[0, 0]], [0, 1, 2], [True, False], [0.0, 1.0], [None, None], {"0": 0}, [0] * 5000),
]


def places(data, path=()):
    yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places(value, (*path, key))


def replaced(data, path, value):
    if not path:
        return value
    copy = list(data) if isinstance(data, list) else dict(data)
    copy[path[0]] = replaced(data[path[0]], path[1:], value)
    return copy


def other_values(rng):
    data = honest(rng)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        data = replaced(data, rng.choice([path for path in places(data) if path] or [()]), rng.choice(NASTY))
        if not isinstance(data, dict):
            break
    return json.dumps(data).encode()


def other_fields(rng):
    data = honest(rng)
    part = rng.choice([data, data["answers"]])
    part = dict(part)
    names = list(part)
    what = rng.randrange(4)
    if what == 0:
        part[rng.choice([MARK, "extra", "token", "__class__", "", "Key", "cheated "])] = rng.choice(NASTY)
    elif what == 1:
        del part[rng.choice(names)]
    elif what == 2:
        rng.shuffle(names)
        part = {name: part[name] for name in names}
    else:
        name = rng.choice(names)
        part = {(key.upper() if key == name else key): value for key, value in part.items()}
    return json.dumps(part if "survey" in map(str.lower, part) else {**data, "answers": part}).encode()


def other_bytes(rng):
    raw = bytearray(sent(honest(rng)))
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(raw))
        what = rng.randrange(5)
        if what == 0:
            raw[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            del raw[at : at + rng.choice([1, 1, 10, 1000])]
        elif what == 2:
            raw[at:at] = rng.choice(
                [
                    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b'"', b"{", b"[" * 500, b",", b"\\u0000"),
                    *(b"9" * 400, b" "),
                ]
            )
        elif what == 3:
            raw[at:at] = raw[at : at + rng.randrange(1, 60)]
        else:
            raw[at] = rng.randrange(256)
        raw = raw or bytearray(b" ")
    return bytes(raw)


NUMBERS = ["NaN", "Infinity", "-Infinity", "0x0", "00", "+0", "0.0", "-0", "0e0", "1e-1", ".0", "1E400", "9" * 5000]
DOCUMENTS = [b"", b"null", b'"x"', b"[" * 10, b"[" * 1000, b"[" * 60_000, b'{"answers":' * 5000]


def other_texts(rng):
    """Return the same content in other spellings of JSON, other encodings, other documents."""
    text = sent(honest(rng)).decode()
    key = re.search(r'"key":"[0-9a-f]+"', text).group()
    spelled = [
        text + rng.choice(["x", "{}", text, "\0", "//", ",", " "]),
        text.replace(key, f"{key},{key}"),
        text.replace('"cheated":0', '"cheated":0,"cheated":1'),
        text.replace('"cheated":0', f'"cheated":{rng.choice(NUMBERS)}'),
        text.replace("{", "{ \n\t"),
        text.replace('"', "'"),
        json.dumps(json.loads(text)),
        *(f"[{text}]", f"{text[:-1]},}}", f"<xml>{text}</xml>", f"survey={text}"),
    ]
    coded = [
        text.encode("utf-16"),
        text.encode("utf-32-le"),
        b"\xef\xbb\xbf" + text.encode(),
        b"\x1f\x8b\x08" + text.encode(),
    ]
    return rng.choice([*(other.encode() for other in spelled), *coded, rng.choice(DOCUMENTS)])


def chunked(rng, raw):
    """Return the body in random pieces, as a network may deliver it."""
    cuts = sorted(rng.randrange(len(raw) + 1) for _ in range(rng.choice([0, 0, 1, 5])))
    return [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]


def check_refusal(answer, allowed):
    assert answer.status in allowed, (answer.status, answer.body)
    assert list(answer.json) == ["error"]
    assert MARK not in answer.body.decode()
    assert len(answer.body) < 300


@pytest.mark.slow
@pytest.mark.parametrize("kind", [other_values, other_fields, other_bytes, other_texts], ids=lambda kind: kind.__name__)
def test_what_is_no_report_is_refused_and_leaves_nothing_behind(kind, caplog):
    rng = seeded(f"hostile {kind.__name__}")
    memory = Memory()
    app = build_application(SURVEY, memory)

    async def attack():
        refused = 0
        for _ in range(CASES // 2):
            raw = kind(rng)
            before = len(memory.reports)
            answer = await ask(app, "POST", "/report", chunked(rng, raw))
            if is_report(raw):
                assert answer.status == 201
                assert len(memory.reports) == before + 1
            else:
                check_refusal(answer, {400, 409})
                assert len(memory.reports) == before
                refused += 1
        return refused

    with caplog.at_level(logging.DEBUG):
        assert asyncio.run(attack()) > CASES // 4
    assert len(memory.reports) > 0  # some mutations do not change the content
    assert [record for record in caplog.records if record.name != "asyncio"] == []


WORDS = [
    *("report", "sign", "..", ".", "%2e%2e", "%2f", "//", "\\", "\0", "%00", MARK, "a" * 3000, "form.js"),
    *("static", "é", "\ud800", "*", "?", "#", ";", "{name}"),
]
METHODS = [
    *("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"),
    *("Post", "", MARK),
]
KINDS = [
    *("application/json", "text/plain", "application/json; charset=utf-16", "multipart/form-data", "*/*", ""),
    *(MARK, "application/json,text/plain"),
]


def random_headers(rng):
    names = [
        *("content-type", "content-length", "content-encoding", "transfer-encoding", "host", "cookie"),
        *("origin", "x-forwarded-for", MARK.lower()),
    ]
    values = [
        *(*KINDS, "0", "-1", "99999999999999999999", "1e3", "gzip", "chunked", "a" * 5000, "\xff\xfe"),
        "%0d%0aSet-Cookie: x",
    ]
    return [(rng.choice(names).encode(), rng.choice(values).encode("latin-1")) for _ in range(rng.randrange(6))]


@pytest.mark.slow
def test_paths_methods_and_headers_of_any_kind_are_answered_clearly(caplog):
    rng = seeded("hostile requests")
    memory = Memory()
    app = build_application(SURVEY, memory)
    known = set(app._table)

    async def attack():
        for _ in range(CASES // 2):
            path = rng.choice(
                ["/", "/report", "/randomizer.js", "/" + "/".join(rng.choices(WORDS, k=rng.randrange(1, 5)))]
            )
            method, headers = rng.choice(METHODS), rng.choice([JSON, random_headers(rng)])
            query = rng.choice([b"", b"a=b", MARK.encode(), b"%ff" * 500])
            answer = await ask(app, method, path, MARK.encode(), headers, query_string=query)
            if method in ("GET", "HEAD") and path in known - {"/report"}:
                assert answer.status == 200
            elif method == "HEAD":
                assert (answer.status, answer.body) == (404 if path not in known else 405, b"")
            else:
                check_refusal(answer, {400, 404, 405, 413, 415})
                assert (answer.status == 404) == (path not in known)
            assert MARK not in repr(answer.headers)

    with caplog.at_level(logging.DEBUG):
        asyncio.run(attack())
    assert memory.reports == {}
    assert [record for record in caplog.records if record.name != "asyncio"] == []


@pytest.mark.slow
@pytest.mark.parametrize("access", ["token", "blind"])
def test_tokens_and_requests_for_signatures_of_any_kind_admit_nobody(access, caplog):
    rng = seeded(f"hostile {access}")
    survey, memory = campus(access), Memory(access)
    key = issuer_key() if access == "blind" else None
    app, page = build_application(survey, memory, issuer_key=key), page_hash(survey.hash, key and key.issuer)
    letters = string.ascii_letters + string.digits + "-_"

    def guess():
        hexes = {"nonce": f"{rng.getrandbits(256):064x}", "signature": f"{rng.getrandbits(2048):0512x}"}
        return rng.choice(
            [*NASTY, "".join(rng.choices(letters, k=rng.choice([16, 22, 22, 128]))), hexes, {**hexes, "nonce": MARK}]
        )

    async def attack():
        for _ in range(CASES // 10):
            report = payload(survey, survey=page, token=guess())
            check_refusal(await ask(app, "POST", "/report", json.dumps(report).encode()), {400, 403})
            wanted = {
                "survey": page,
                "invitation": guess(),
                "blinded": rng.choice([guess(), f"{rng.getrandbits(2040):0512x}"]),
            }
            check_refusal(
                await ask(app, "POST", "/sign", json.dumps(wanted).encode()), {400, 403} if access == "blind" else {404}
            )

    with caplog.at_level(logging.DEBUG):
        asyncio.run(attack())
    assert (memory.reports, memory.issues) == ({}, {})
    assert [record for record in caplog.records if record.name != "asyncio"] == []


def test_the_second_implementation_agrees_on_reports():
    """It also distinguishes other bytes."""
    rng = seeded(1)
    data = honest(rng)
    assert is_report(sent(data))
    for wrong in (
        {**data, "understood": 1},
        {**data, "answers": {**data["answers"], "cheated": 2}},
        {**data, "x": 1},
        [data],
    ):
        assert not is_report(sent(wrong))
