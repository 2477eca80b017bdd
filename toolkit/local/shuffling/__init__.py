"""Privacy amplification by shuffling: the privacy loss of a report when nobody knows who sent which of n reports."""

from toolkit.local.shuffling.amplification import (
    Shuffled,
    clones_2021,
    clones_2023,
    largest_local,
    local_epsilon,
    shuffled,
)

__all__ = ["Shuffled", "clones_2021", "clones_2023", "largest_local", "local_epsilon", "shuffled"]
