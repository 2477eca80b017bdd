"""The command line, `toolkit`: thin, every verb a function of the floors below."""

import argparse
import sys
from collections.abc import Sequence

from toolkit.verbs import collecting, operating, planning, reading, surveys


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; 0 if it went well, 2 with a sentence on stderr if not; or what the verb says, as `doctor` does."""
    from toolkit.survey.background import CollectError
    from toolkit.survey.store import StoreError

    parser = _parser()
    options = parser.parse_args(arguments)
    if options.verb is None:
        parser.print_help()
        return 2
    try:
        code: int | None = options.run(options)
    except (ValueError, KeyError, OSError, ImportError, CollectError, StoreError) as problem:
        said = problem.args[0] if isinstance(problem, KeyError) and problem.args else problem
        print(f"toolkit {options.verb}: {said}", file=sys.stderr)  # noqa: T201
        return 2
    return code or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="toolkit", description="Ask sensitive questions privately.")
    verbs = parser.add_subparsers(dest="verb", metavar="verb")
    for subject in (surveys, planning, collecting, reading, operating):
        subject.add(verbs)
    return parser


if __name__ == "__main__":
    sys.exit(main())
