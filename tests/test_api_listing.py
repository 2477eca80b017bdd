"""Public names and signatures change only on purpose."""

import pytest

import api


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_every_public_name_and_signature_is_as_listed() -> None:
    """After a deliberate change, run `make api` and add a line to CHANGELOG.md."""
    listed, there = set(api.LIST.read_text(encoding="utf-8").splitlines()), set(api.listing().splitlines())
    assert listed - there == set(), "gone or changed"
    assert there - listed == set(), "new or changed"


def test_a_changed_default_a_new_parameter_and_a_lost_member_are_seen() -> None:
    class Before:
        def verb(self, n: int = 1) -> None: ...

        def gone(self) -> None: ...

    class After:
        def verb(self, n: int = 2, *, level: float = 0.95) -> None: ...

    for kind in (Before, After):
        kind.__module__ = "toolkit.somewhere"
        api.full_names()[id(kind)] = "toolkit.Kind"
    before, after = (list(api.lines("toolkit.Kind", kind)) for kind in (Before, After))
    assert before == ["toolkit.Kind()", "toolkit.Kind.gone(self)", "toolkit.Kind.verb(self, n=1)"]
    assert after == ["toolkit.Kind()", "toolkit.Kind.verb(self, n=2, *, level=0.95)"]
    for kind in (Before, After):
        del api.full_names()[id(kind)]
