"""What a database must do for a collection: an `Engine` opens transactions, a `Session` is one of them."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from toolkit.survey.storage.admission import Head
from toolkit.survey.storage.mixing import Pool
from toolkit.survey.storage.protocol import Edition, State


class Session(Protocol):
    """One transaction. Whatever is given as a collection of keys or hashes is written in their order, not in
    that of arrival.
    """

    def head(self) -> Head | None: ...
    def begin(self, head: Head) -> None: ...
    def editions(self) -> list[Edition]: ...
    def publish(self, edition: Edition) -> None: ...
    def move(self, state: State) -> None: ...
    def sweep(self, *, again: bool) -> None:
        """Close: remove all tokens, and what of the rewriting can be done within the transaction. `again`:
        the list of those who were invited stays, for the next wave.
        """

    def held(self) -> int: ...
    def pool(self) -> Pool: ...
    def standing(self) -> tuple[int, Pool]:
        """Both."""

    def found(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those that are there, but for the pool; their bodies are not looked at."""

    def page(self, after: bytes, most: int) -> list[tuple[bytes, str]]: ...
    def keep(self, reports: dict[bytes, str]) -> set[bytes]:
        """Store and count them; the keys that are not stored because somebody else, who shares the
        collection, was faster.
        """

    def mix(self, stays: Pool, leaves: Pool, more: int) -> None:
        """Write the pool and what leaves it, and count so many reports more."""

    def invite(self, hashes: Sequence[bytes]) -> None: ...
    def invited(self, hashes: Sequence[bytes]) -> set[bytes]: ...
    def guests(self) -> list[bytes]:
        """All that were invited, in their order."""

    def unspent(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Those that were invited, and are not among the spent ones."""

    def spent(self, hashes: Sequence[bytes]) -> set[bytes]: ...

    def setting(self, name: str) -> str | None: ...
    def remember(self, name: str, value: str) -> None: ...
    def forget(self, beginning: str) -> None:
        """Remove the settings whose name begins so."""

    def issued(self, invitation: bytes) -> bytes | None: ...
    def issue(self, invitation: bytes, blinded: bytes) -> None: ...


class Engine(Protocol):
    """What opens sessions, and says every failure of its database as a `StoreError`."""

    def reading(self) -> AbstractContextManager[Session]: ...
    def writing(self, *, patient: bool = False, shared: bool = False) -> AbstractContextManager[Session]:
        """`patient`: for the researcher, who would rather wait than try again; a phone rather tries again.

        `shared`: others may add reports meanwhile, but nobody changes the state.
        """

    def making(self) -> AbstractContextManager[Session]:
        """As `writing`, where there may be nothing yet: `head` is then None; a database of something else is
        refused.
        """

    def wipe(self) -> None:
        """Wipe what the database's own log tells of the last commits, as far as it is ours to wipe."""

    def finish(self) -> None:
        """After closing: what of the rewriting no transaction can do."""

    def migrate(self) -> int: ...
    def remove(self) -> None:
        """Take the file away, or the schema."""

    def close(self) -> None: ...
