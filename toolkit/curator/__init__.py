"""A trusted curator, who releases statistics of a confidential frame and charges a ledger before reading the frame."""

from toolkit.curator.curator import Curator
from toolkit.curator.synthetic import SyntheticTable

__all__ = ["Curator", "SyntheticTable"]
