"""A trusted curator: releases statistics of a confidential frame, each charged to a ledger before it is read."""

from toolkit.curator.curator import Curator

__all__ = ["Curator"]
