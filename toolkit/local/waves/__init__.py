"""The same people asked again: a permanent answer kept on the person's device, fresh noise each time."""

from toolkit.local.waves.memo import Memo

__all__ = ["Memo"]
