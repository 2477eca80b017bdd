"""Addresses with a schema are parsed, or rejected without quoting a password."""

import pytest

from toolkit.core.postgres import address


def test_the_schema_is_taken_out_of_the_address_and_all_else_stays() -> None:
    options, schema = address("postgresql://ann@db:5433/office?schema=claims&sslmode=require", "ledger")
    assert schema == "claims"
    assert {name: options[name] for name in ("user", "host", "port", "dbname", "sslmode")} == {
        "user": "ann", "host": "db", "port": "5433", "dbname": "office", "sslmode": "require",
    }  # fmt: skip
    assert address("postgresql://db/office", "ledger")[1] == "ledger"
    assert (options["connect_timeout"], options["client_encoding"]) == (5, "utf8")
    assert address("postgresql://db/office?connect_timeout=9", "ledger")[0]["connect_timeout"] == "9"


@pytest.mark.parametrize("schema", ["", "Claims", "1st", "a-b", 'a"; drop', "x" * 64])
def test_a_schema_that_would_need_quotes_is_refused(schema: str) -> None:
    with pytest.raises(ValueError, match="`schema` must consist of lowercase letters"):
        address(f"postgresql://db/office?schema={schema}", "ledger")


def test_an_address_that_cannot_be_read_is_refused_without_its_password() -> None:
    with pytest.raises(ValueError, match="must be a URL") as refusal:
        address("postgresql://ann:secret@db/office?nonsense=1", "ledger")
    assert "secret" not in str(refusal.value)
