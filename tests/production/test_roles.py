"""The roles that are shipped: the server works with the rights of survey_web, and can do no more with them."""

import json
import secrets
import shutil
import uuid

import psycopg
import pytest

from tests.production.shipped import shipped
from tests.survey.blinding import blind, unblind
from tests.survey.desk import campus, payload, sent
from tests.survey.lines import line, post, read_answer
from tests.survey.respondents import free_port
from tests.survey.servers import begin, finish
from toolkit.command import main
from toolkit.survey.collector import Collector
from toolkit.survey.serving.blind import IssuerKey, prepare_message
from toolkit.survey.storage import StoreError


class Roles:
    """The roles of one collection, as roles.sql and grants.sql make them."""

    def __init__(self, postgres):
        self.postgres, self.name = postgres, f"c{uuid.uuid4().hex[:12]}"
        self.names = {"campus": self.name, "survey_owner": f"{self.name}_owner", "survey_web": f"{self.name}_web"}
        self.run("roles.sql", "owner", self.names)

    def run(self, file, user, names):
        with psycopg.connect(self.address(user), autocommit=True) as connection:
            connection.execute(shipped(file, names))

    def grant(self):
        self.run(
            "grants.sql", self.names["survey_owner"], {name: self.names[name] for name in ("campus", "survey_web")}
        )

    def address(self, user):
        return f"postgresql://{user}@/postgres?host={self.postgres.folder}"

    def url(self, role):
        return f"{self.address(self.names[role])}&schema={self.name}"

    def tried(self, statement):
        """A statement as the servers' role: what PostgreSQL refuses it with, or None."""
        with psycopg.connect(self.address(self.names["survey_web"])) as connection:
            connection.execute(f"SET search_path = {self.name}")
            try:
                connection.execute(statement)
            except psycopg.Error as problem:
                return type(problem)
            finally:
                connection.rollback()


@pytest.fixture(params=["open", "token", "blind"])
def roles(request, postgres, tmp_path, monkeypatch):
    """A collection that its owner has opened, and granted."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    made = Roles(postgres)
    made.survey = campus(request.param)
    made.survey.save(tmp_path / "survey.toml")
    database = ("--database", made.url("survey_owner"))
    assert main(["open", "survey.toml", *database, "--public-url", "https://survey.example.org/survey/"]) == 0
    made.grant()
    return made


def sent_to(port, body, path="/report"):
    with line(port) as connection:
        connection.sendall(post(sent(body), path))
        status, _, answer = read_answer(connection)
        return status, json.loads(answer)


@pytest.mark.slow
def test_survey_web_serves_and_the_owner_does_the_rest(roles, tmp_path, capsys):
    """A server with the rights of survey web serves and the owner does the rest."""
    owner = Collector.attach(roles.url("survey_owner"))
    assert owner.url == "https://survey.example.org/survey/"
    options = ["--port", free_port()]
    if roles.survey.access == "blind":  # as on another machine, where the key lies elsewhere
        shutil.copy("issuer-key.pem", tmp_path / "copy.pem")
        options += ["--issuer-key", tmp_path / "copy.pem"]
    process, said = begin(tmp_path, roles.url("survey_web"), *options)
    try:
        port = said["port"]
        people = [honest(roles.survey, owner, said) for _ in range(4)]
        assert [sent_to(port, person)[0] for person in people[:3]] == [201, 201, 201]
        assert sent_to(port, people[0])[0] == 201  # a phone that sends again
        owner.pause()
        assert sent_to(port, people[3])[0] == 503
        owner.resume()
        assert sent_to(port, people[3])[0] == 201
        assert owner.status().n_stored == 4
        owner.close()
        assert len(owner.reports()) == 4
        assert sent_to(port, honest(roles.survey, None, said))[0] in (403, 410)
    finally:
        code, complaint = finish(process)
    assert (code, complaint) == (0, "")
    assert capsys.readouterr().err == ""


def honest(survey, owner, said):
    """A report with the pass that it needs; if there is no owner to hand it out, with one that is worth nothing."""
    if survey.access == "open":
        return payload(survey)
    token = "A" * 22 if owner is None else owner.invitations(1)[0].partition("#t=")[2]
    if survey.access == "token":
        return payload(survey, token=token)
    signature = {"nonce": "00" * 32, "signature": "00" * 256} if owner is None else signed(token, said)
    return payload(survey, survey=said["survey"], token=signature)


def signed(invitation, said):
    """A blind token, as a phone gets it for its invitation: for the page that the server says that it shows."""
    issuer, nonce = IssuerKey.load("issuer-key.pem").issuer, secrets.token_bytes(32)
    blinded, inverse = blind(issuer, prepare_message(nonce, bytes.fromhex(said["survey"])))
    asking = {"survey": said["survey"], "invitation": invitation, "blinded": blinded.hex()}
    status, answer = sent_to(said["port"], asking, "/sign")
    assert status == 200, answer
    return {"nonce": nonce.hex(), "signature": unblind(issuer, bytes.fromhex(answer["signature"]), inverse).hex()}


FORBIDDEN = [
    "UPDATE collection SET state = 'closed'", "UPDATE collection SET version = 1",
    "SELECT FROM collection FOR UPDATE", "UPDATE edition SET survey = '{}'",
    "INSERT INTO edition SELECT * FROM edition", "SELECT body FROM report", "DELETE FROM collection",
    "DELETE FROM report", "UPDATE report SET body = ''", "TRUNCATE report", "INSERT INTO invited VALUES ('x')",
    "DELETE FROM invited", "DELETE FROM pool", "INSERT INTO pool SELECT * FROM pool", "DELETE FROM tally",
    "DELETE FROM spent", "INSERT INTO setting VALUES ('port', '1')",
    "UPDATE setting SET value = 'https://example.com/'", "CREATE TABLE more (x int)", "DROP TABLE report",
    "ALTER TABLE report ADD COLUMN arrived timestamptz DEFAULT now()", "CREATE SCHEMA another",
    "COPY report TO PROGRAM 'cat'", "CREATE ROLE another",
]  # fmt: skip


@pytest.mark.parametrize("roles", ["token"], indirect=True)
def test_it_can_do_no_more(roles):
    for statement in FORBIDDEN:
        assert roles.tried(statement) is psycopg.errors.InsufficientPrivilege, statement
    web = Collector.attach(roles.url("survey_web"))
    for act in (
        web.pause,
        web.close,
        lambda: web.invitations(1),
        lambda: web._store_setting("public url", "https://example.com/"),
    ):
        with pytest.raises(StoreError):
            act()
    assert web.status().state == "open"


@pytest.mark.parametrize("roles", ["open"], indirect=True)
def test_nobody_else_sees_into_the_collection(roles):
    with psycopg.connect(roles.address("owner"), autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {roles.name}_other LOGIN")
    with (
        psycopg.connect(roles.address(f"{roles.name}_other")) as other,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        other.execute(f"SELECT * FROM {roles.name}.report")  # noqa: S608
