"""`python -m toolkit`: the command line, where the script `toolkit` is not on the path."""

from toolkit.command import main

raise SystemExit(main())
