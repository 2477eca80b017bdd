"""An answer other than the one hoped for."""


class RefusalError(Exception):
    """A status of HTTP and a sentence of ours, never one of the client's.

    >>> RefusalError(413, "This is too long.").body
    {'error': 'This is too long.'}
    """

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after

    @property
    def body(self) -> dict[str, str]:
        return {"error": self.sentence}

    @property
    def headers(self) -> dict[str, str]:
        """When to come again; and good-bye to a client that is still in the middle of a sentence."""
        again = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return {**again, **({"connection": "close"} if self.status == 408 else {})}
