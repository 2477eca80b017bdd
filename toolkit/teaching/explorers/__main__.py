"""Recompute the numbers that an explorer stores in `static`: `python -m toolkit.teaching.explorers NAME`."""

import json
import sys
from importlib import import_module

for name in sys.argv[1:]:
    explorer = import_module(f"toolkit.teaching.explorers.{name}")
    text = json.dumps(explorer.compute_grid(), separators=(",", ":")).replace("],[", "],\n[")
    explorer.FILE.write_text(f"{text}\n", encoding="utf-8")
