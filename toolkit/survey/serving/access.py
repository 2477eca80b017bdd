"""Access control: everybody, holders of a single-use link, or holders of a blindly signed token may answer.

A link contains its token in the fragment (after the #). Browsers do not send this part, so the token appears in no
proxy log and no Referer header. The server stores only the SHA-256 hash of a token. It marks the token as used, in a
separate table, in the transaction that stores the report.
"""

import hashlib
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from toolkit.core.checks import check_integer, reject
from toolkit.survey.consent.statement import unique_patterns
from toolkit.survey.serving.blind import Issuer, prepare_message
from toolkit.survey.serving.payload import TOKEN, BlindToken, OtherSurveyError, PayloadError, Submission, parse_json
from toolkit.survey.serving.response import HttpError

TOKEN_BYTES = 16
_HEX = re.compile(r"([0-9a-f]{2})+")
_FIELDS = ("survey", "invitation", "blinded")

PROMISES = {
    "open": "Anybody with the link may answer. A phone keeps itself from answering twice, but nothing stops "
    "a person who wants to.",
    "token": "Each link works once. Links and reports are stored separately; anybody who could watch the running "
    "server could connect them.",
    "blind": "Each link works once. A report carries a token that the server signed without seeing it, so that nothing "
    "in the report leads to a link; anybody who watches the network sees when each phone requests a token and when it "
    "sends a report. Experimental.",
}
"""Sentences about what each mode of access prevents and does not prevent."""


def access_promise(access: str, waves: int = 1) -> str:
    """Describe what a mode of access prevents, and how the waves that people answered could identify them."""
    if waves == 1 or access == "open":
        return PROMISES[access]
    joined = (
        "Reports of one phone are linked across waves: anybody who sees in each wave whose links were used can "
        "connect a link with reports if nobody else answered in the same waves. Of {people} people, on average "
        "up to {alone} have a unique pattern after {waves} waves, if somebody looks while they answer."
    )
    return f"{PROMISES[access]} {joined.format(**unique_patterns(waves))}"


@dataclass(frozen=True, repr=False)
class SignRequest:
    """An invitation and the blinded message to be signed in exchange for it."""

    invitation: bytes
    blinded: bytes

    @property
    def fingerprint(self) -> bytes:
        return hashlib.sha256(self.blinded).digest()


MAX_LINKS = 1_000_000
"""Largest number of links that a single call makes."""


def new_tokens(count: int) -> list[str]:
    """Make `count` new tokens of 128 random bits."""
    return [secrets.token_urlsafe(TOKEN_BYTES) for _ in range(check_integer(count, "count", maximum=MAX_LINKS))]


def token_hash(token: str) -> bytes:
    """Return the SHA-256 hash of a token, which is stored in place of the token."""
    if not TOKEN.fullmatch(token):
        rule = "a token must be 22 letters, digits, - and _"
        reject(rule, f"{len(token)} characters", "use a token that `invitations` made")
    return hashlib.sha256(token.encode()).digest()


def token_link(url: str, token: str) -> str:
    return f"{url.partition('#')[0]}#t={token}"


def page_hash(survey_hash: str, issuer: Issuer | None = None) -> str:
    """Return the hash that respondents can compare; it covers the survey and, with blind tokens, the signing key."""
    return (
        survey_hash if issuer is None else hashlib.sha256(bytes.fromhex(survey_hash + issuer.fingerprint)).hexdigest()
    )


def required_token_hash(
    page_hashes: Iterable[str], submission: Submission, issuer: Issuer | None = None
) -> bytes | None:
    """Return the hash of the token or nonce that a report uses up, or None with open access.

    A blind token must be signed for one of `page_hashes`.
    """
    token = submission.token
    if isinstance(token, BlindToken):
        if issuer is None or not any(
            issuer.verify(prepare_message(token.nonce, bytes.fromhex(page)), token.signature) for page in page_hashes
        ):
            raise HttpError(403, "This token was not signed for this survey.")
        return hashlib.sha256(token.nonce).digest()
    return None if token is None else hashlib.sha256(token.encode()).digest()


def parse_sign_request(page_hashes: Collection[str], issuer: Issuer, raw: bytes) -> SignRequest:
    """Parse and check a request for a blind signature, before its invitation is used up.

    Raises `PayloadError` if the request is malformed or belongs to none of `page_hashes`.
    """
    data = parse_json(raw)
    if (
        not isinstance(data, dict)
        or set(data) != set(_FIELDS)
        or not all(isinstance(value, str) for value in data.values())
    ):
        raise PayloadError(
            f"A request for a signature must have exactly the fields {', '.join(_FIELDS)}, all of them text."
        )
    if data["survey"] not in page_hashes:
        raise OtherSurveyError(
            "This request is for another survey, or for an earlier version of this one: load the page again."
        )
    if not TOKEN.fullmatch(data["invitation"]):
        raise PayloadError("An invitation must be 22 letters, digits, - and _.")
    number = data["blinded"]
    if len(number) != 2 * issuer.n_bytes or not _HEX.fullmatch(number) or not 0 < int(number, 16) < issuer.n:
        raise PayloadError("A blinded message must be a number below the issuer's modulus, in hexadecimal digits.")
    return SignRequest(token_hash(data["invitation"]), bytes.fromhex(number))
