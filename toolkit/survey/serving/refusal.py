"""An answer other than the one hoped for."""


class RefusalError(Exception):
    """A status of HTTP and a sentence of ours, never one of the client's.

    >>> RefusalError(503, "Later.", retry_after=5).headers
    {'retry-after': '5'}
    """

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.retry_after = status, sentence, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """When to come again."""
        return {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
