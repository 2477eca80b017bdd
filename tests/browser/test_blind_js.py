"""blind.js in Chromium: the RFC's numbers, the whole way with the Python server, a page without a secure context."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.survey.desk import Memory, campus, payload, sent
from tests.survey.lines import line, post, read_answer, watched
from toolkit.survey.client import asset
from toolkit.survey.serving.access import new_tokens, page_hash, token_hash
from toolkit.survey.serving.blind import IssuerKey
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.server import build_application

pytestmark = pytest.mark.browser

RFC = json.loads((Path(__file__).parents[1] / "reference" / "rfc9474.json").read_text())
NAMES = [vector["name"] for vector in RFC["vectors"]]

BLINDED = """async ([issuer, message, vector]) => {
  const { request, finish } = await import("./blind.js");
  const salt = Uint8Array.from(vector.salt.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const state = await request(issuer, message, { nonce: vector.msg_prefix, salt, inverse: vector.inv });
  return [state, await finish(issuer, state, vector.blind_sig)];
}"""
OBTAINED = """async ([issuer, survey, invitation]) => {
  const { request, finish } = await import("./blind.js");
  const state = await request(issuer, survey);
  const body = JSON.stringify({ survey, invitation, blinded: state.blinded });
  const answer = await fetch("sign", { method: "POST", body, headers: { "Content-Type": "application/json" } });
  return await finish(issuer, state, (await answer.json()).signature);
}"""
CAUGHT = """async ([issuer, survey, signature]) => {
  const { request, finish } = await import("./blind.js");
  try {
    const state = await request(issuer, survey);
    return await finish(issuer, state, signature ?? state.blinded);
  } catch (error) {
    return error.message;
  }
}"""


@pytest.fixture(scope="module", params=[2048, 3072])
def desk(request):
    key, survey, tokens = IssuerKey.generate(request.param), campus("blind"), new_tokens(20)
    memory = Memory("blind", map(token_hash, tokens))
    app = build_application(survey, memory, issuer_key=key)
    with watched(app, Limits()) as (port, _):
        yield key, survey, tokens, memory, port


@pytest.fixture
def opened(page, desk):
    """The survey's page, under its own policy."""
    fresh = page.context.new_page()
    fresh.goto(f"http://127.0.0.1:{desk[4]}/")
    yield fresh
    fresh.close()


@pytest.mark.parametrize("vector", RFC["vectors"], ids=NAMES)
def test_the_numbers_of_the_rfc(opened, vector):
    state, token = opened.evaluate(BLINDED, [{"n": RFC["n"], "e": RFC["e"]}, RFC["msg"], vector])
    assert state["blinded"] == vector["blinded_msg"]
    assert state["inverse"] == vector["inv"]
    assert token == {"nonce": vector["msg_prefix"], "signature": vector["sig"]}


def test_tokens_of_the_browser_are_taken_by_the_server_once(opened, desk):
    key, survey, tokens, memory, port = desk
    made = [
        opened.evaluate(OBTAINED, [key.issuer.to_dict(), page_hash(survey.hash, key.issuer), token])
        for token in tokens[:10]
    ]
    assert len({token["nonce"] for token in made}) == 10
    with line(port) as connection:
        for token in made:
            for status in (201, 403):
                connection.sendall(post(sent(payload(survey, survey=page_hash(survey.hash, key.issuer), token=token))))
                assert read_answer(connection)[0] == status
    assert len(memory.reports) == 10


def test_a_signature_that_is_none_is_noticed_by_the_browser(opened, desk):
    issuer, survey = desk[0].issuer.to_dict(), desk[1].hash
    assert opened.evaluate(CAUGHT, [issuer, survey, None]) == "signature"
    assert opened.evaluate(CAUGHT, [issuer, survey, "00" * (len(issuer["n"]) // 2)]) == "signature"


DRAWN = """async ([issuer, survey, draws]) => {
  const { request } = await import("./blind.js");
  const system = crypto.getRandomValues;
  let drawn = 0;
  crypto.getRandomValues = (array) => {
    if (array.length !== issuer.n.length / 2) return system.call(crypto, array);
    drawn += 1;
    array.set(draws.shift());
    return array;
  };
  try {
    return [(await request(issuer, survey)).inverse, drawn];
  } finally {
    crypto.getRandomValues = system;
  }
}"""
SIGNED = """async ([issuer, survey, invitation, who]) => {
  const [{ signed }, { shelf }] = [await import("./signing.js"), await import("./queue.js")];
  const kept = shelf([survey], who, "localStorage");
  const token = await signed({ issuer, hash: survey }, invitation, kept);
  return [kept.read("blind"), token];
}"""


def test_a_blinding_factor_that_is_not_below_n_is_drawn_again(opened, desk):
    """By remainder small factors would come twice as often."""
    issuer = desk[0].issuer.to_dict()
    n, size = int(issuer["n"], 16), len(issuer["n"]) // 2
    draws = [[255] * size, [*n.to_bytes(size)], [*(0x1234567).to_bytes(size)]]
    inverse, drawn = opened.evaluate(DRAWN, [issuer, desk[1].hash, draws])
    assert drawn == 3
    assert int(inverse, 16) * 0x1234567 % n == 1


def test_a_request_that_was_kept_is_for_its_own_link_alone(page, desk):
    """Two people on one phone: the second has a request and a token of their own; the first, back on the
    page, the same ones as before.
    """
    key, survey, tokens = desk[:3]

    def visit(invitation):
        fresh = page.context.new_page()
        fresh.goto(f"http://127.0.0.1:{desk[4]}/")
        who = hashlib.sha256(invitation.encode()).hexdigest()
        found = fresh.evaluate(SIGNED, [key.issuer.to_dict(), page_hash(survey.hash, key.issuer), invitation, who])
        fresh.close()
        return found

    first, token = visit(tokens[11])
    second, another = visit(tokens[12])
    assert len({token["nonce"], another["nonce"], first["blinded"], second["blinded"]}) == 4
    assert visit(tokens[11]) == [first, token]


def test_on_plain_http_beyond_this_machine_it_says_so_instead_of_weakening(page, desk):
    """0.0.0.0 leads to the same server, but is no secure context: there browsers give no crypto.subtle."""
    fresh = page.context.new_page()
    fresh.goto(f"http://0.0.0.0:{desk[4]}/")
    assert not fresh.evaluate("isSecureContext")
    assert fresh.evaluate(CAUGHT, [desk[0].issuer.to_dict(), desk[1].hash, None]) == "insecure"
    fresh.close()


def test_its_draws_come_from_the_system_and_it_is_small():
    code = asset("blind.js").decode()
    assert len(code) < 3500
    assert "Math.random" not in code
    assert re.findall(r"crypto\.(\w+)", code) == ["subtle"] * 3
    assert re.findall(r"import .*", code) == ['import { hex, secret } from "./randomizer.js";']
    assert (
        "const secret = (size) => hex(crypto.getRandomValues(new Uint8Array(size)));" in asset("randomizer.js").decode()
    )
