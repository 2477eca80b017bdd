"""A trusted curator: releases statistics of a confidential frame, each charged to a ledger before it is read."""

from toolkit.curator.curator import Curator
from toolkit.curator.release import Preview

__all__ = ["Curator", "Preview"]
