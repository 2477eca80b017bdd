"""Privacy amplification by shuffling: the privacy loss of a report when nobody knows who sent which of n reports."""

from toolkit.local.shuffling.amplification import Shuffled, largest_local_epsilon, local_epsilon, shuffled

__all__ = ["Shuffled", "largest_local_epsilon", "local_epsilon", "shuffled"]
