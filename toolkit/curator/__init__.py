"""A trusted curator, who releases statistics of a confidential frame and charges a ledger before reading the frame."""

from toolkit.curator.curator import Curator

__all__ = ["Curator"]
