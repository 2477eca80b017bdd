"""The command line, `toolkit`: thin, every verb a function of the floors below."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from toolkit.core.checks import refuse

Options = argparse.Namespace
_DATABASE = "sqlite:///survey.db"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; 0 if it went well, 2 with a sentence on stderr if not."""
    from toolkit.survey.background import CollectError
    from toolkit.survey.store import StoreError

    parser = _parser()
    options = parser.parse_args(arguments)
    if options.verb is None:
        parser.print_help()
        return 2
    try:
        options.run(options)
    except (ValueError, KeyError, OSError, CollectError, StoreError) as problem:
        said = problem.args[0] if isinstance(problem, KeyError) and problem.args else problem
        print(f"toolkit {options.verb}: {said}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="toolkit", description="Ask sensitive questions privately.")
    verbs = parser.add_subparsers(dest="verb", metavar="verb")
    serve = _verb(verbs, "serve", _serve, "collect answers to a survey, until it is closed; the server runs in the background")
    serve.add_argument("survey", help="a .toml or .json file")
    for name, told in _SERVE.items():
        serve.add_argument(f"--{name.replace('_', '-')}", help=told)
    serve.add_argument("--port", type=int, default=0, help="0: any free one")
    serve.add_argument("--plain-http-beyond-this-machine", action="store_true", help="without TLS; the refusal says why not")
    check = _verb(verbs, "check", _check, "read a survey, say what is wrong with it, or what people would agree to", database=False)
    check.add_argument("survey", help="a .toml or .json file")
    check.add_argument("--language", help="of the text; the first if left out")
    for verb, run, told in _PLAIN:
        _verb(verbs, verb, run, told)
    invite = _verb(verbs, "invite", _invite, "print links that work once, for surveys with access by token or blind")
    invite.add_argument("count", type=int)
    results = _verb(verbs, "results", _results, "print the estimates")
    results.add_argument("--by", action="append", help="a plain question; may be repeated")
    export = _verb(verbs, "export", _export, "write the reports to a .csv or .parquet file, with a codebook")
    export.add_argument("path")
    paper = _verb(verbs, "paper", _paper, "write a form for paper, where people throw their own dice", database=False)
    paper.add_argument("survey", help="a .toml or .json file")
    paper.add_argument("path", help="an .html file, to print")
    paper.add_argument("--language", help="the first of the survey if left out")
    _plan_options(_verb(verbs, "plan", _plan, "how many people, how private or how precise: leave one out", database=False))
    return parser


def _verb(verbs: Any, name: str, run: Callable[[Options], None], told: str, *, database: bool = True) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=told, description=told)
    parser.set_defaults(run=run)
    if database:
        known = os.environ.get("TOOLKIT_DATABASE", _DATABASE)
        told = f"sqlite:///file.db or postgresql://…; else TOOLKIT_DATABASE of the environment, as for a password; else {_DATABASE}"
        parser.add_argument("--database", default=known, help=told)
    return parser


_SERVE = {
    "host": "address to listen on (default: this machine only)",
    "certificate": "PEM file with the TLS certificate",
    "private_key": "PEM file with its key",
    "issuer_key": "PEM file with the key that signs blind tokens",
    "public_url": "the address that respondents use, if a proxy stands in front",
    "prefix": "the path below which a proxy passes requests on",
}


def _serve(options: Options) -> None:
    from toolkit.survey.collector import start
    from toolkit.survey.serving.access import PROMISES
    from toolkit.survey.sharing import qr_text
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    given = {name: getattr(options, name) for name in _SERVE if getattr(options, name) is not None}
    plain = options.plain_http_beyond_this_machine
    collector = start(survey, database=options.database, port=options.port, plain_http_beyond_this_machine=plain, **given)
    _say(qr_text(collector.url), collector.url, "", PROMISES[survey.access])
    _say(
        "The server runs in the background. See `toolkit status`, `toolkit results` and `toolkit close`, with the same --database."
    )


def _check(options: Options) -> None:
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    _say(repr(survey), f"hash {survey.hash}", "", survey.consent_text(options.language))


def _collector(options: Options) -> Any:
    from toolkit.survey.collector import Collector

    return Collector.attach(options.database)


def _status(options: Options) -> None:
    status = _collector(options).status()
    cap = "" if status.cap is None else f" of at most {status.cap:,}"
    serving = f"served at {status.url}" if status.serving else "no server that you started is running on this machine"
    _say(f"{status.state}: {status.reports:,} reports{cap}; {serving}", *(f"log: {line}" for line in status.log))


def _list_servers(options: Options) -> None:
    """The collection at hand, and what else this person runs."""
    from toolkit.survey.background import find, servers
    from toolkit.survey.store import settled

    _status(options)
    mine = find(settled(options.database))
    for server in servers():
        if server != mine:
            _say(f"also running: {server.url} (process {server.pid})")


def _pause(options: Options) -> None:
    _collector(options).pause()
    _status(options)


def _resume(options: Options) -> None:
    _collector(options).resume()
    _status(options)


def _close(options: Options) -> None:
    _collector(options).close()
    _status(options)


_PLAIN = (
    ("status", _list_servers, "how a collection stands, and what other servers you run here"),
    ("pause", _pause, "take no more reports for now"),
    ("resume", _resume, "take reports again"),
    ("close", _close, "end a collection for good, and its server"),
)


def _invite(options: Options) -> None:
    _say(*_collector(options).invitations(options.count))


def _results(options: Options) -> None:
    results = _collector(options).results(options.by)
    table = results.to_frame().to_string(index=False) if results.findings else "There is no report yet to estimate from."
    _say(table, *results.notes())


def _export(options: Options) -> None:
    from toolkit.survey.export import write

    collector = _collector(options)
    _say(f"wrote {write(collector.reports(), options.path, collector.survey)}")


def _paper(options: Options) -> None:
    from pathlib import Path

    from toolkit.survey.field import paper
    from toolkit.survey.spec import Survey

    Path(options.path).write_text(paper(Survey.load(options.survey), options.language), encoding="utf-8")
    _say(f"wrote {options.path}")


_UNPLANNED = ("additive", "multiplicative", "matrix", "square_wave")  # a deck and a matrix are not written in a shell; no formula
_PLAN = {
    "prevalence": "a guess of the truth: a share, shares as 0.5,0.3,0.2, or a mean",
    "epsilon": "what one person may lose",
    "margin": "half the width of the interval: 0.03 is 3 percentage points",
    "level": "of the interval; a test has the size 1 - level (default 0.95)",
    "detect": "another truth, to be told from the prevalence",
    "power": "the probability to tell it",
    "sd": "of a mean, the standard deviation of the answers",
    "subgroup": "share of the smallest subgroup that needs this precision",
    "response": "share of the invited who answer",
}


def _plan_options(parser: argparse.ArgumentParser) -> None:
    from toolkit.local.catalogue import makers, parameters

    free = [name for name, maker in makers().items() if name not in _UNPLANNED and "epsilon" in parameters(maker)]
    told = f"with --epsilon, or to solve for it: {', '.join(free)}; all others with arguments of their own"
    parser.add_argument("design", help=told)
    example = "what the design takes besides: forced yes=1/6 no=1/6, k_ary options=4, one_bit bounds=0,80"
    parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE", help=example)
    for name, words in _PLAN.items():
        parser.add_argument(f"--{name}", help=words, required=name == "prevalence", type=_listed)
    for name, words in (
        ("n", "people whose reports arrive"),
        ("population", "its size"),
        ("questions", "asked of the same people"),
    ):
        parser.add_argument(f"--{name}", type=int, help=words)
    parser.add_argument("--sides", type=int, choices=(1, 2), help="of the test (default 2)")


def _plan(options: Options) -> None:
    from toolkit.budget.planning import plan

    known = (*_PLAN, "n", "population", "questions", "sides")
    given = {name: getattr(options, name) for name in known if getattr(options, name) is not None}
    try:
        found = plan(_design(options.design, options.arguments), **given)
    except TypeError as problem:  # here everything was written in a shell: an argument of the wrong kind is a wrong argument
        raise ValueError(str(problem)) from problem
    except OverflowError:
        refuse("numbers must be below 1e308", "a larger one", "nothing can be computed with it")
    _say(repr(found), f"invite {found.invited:,} people", *found.notes)


def _design(name: str, arguments: Sequence[str]) -> Any:
    """A design of the catalogue that survey files use, or the family of those that wait for their epsilon."""
    from toolkit.local.catalogue import check_arguments, makers, parameters

    known = {key: maker for key, maker in makers().items() if key not in _UNPLANNED}
    if name not in known:
        refuse(f"`design` must be one of {', '.join(known)}", repr(name)[:40], "try warner")
    pairs = [argument.partition("=") for argument in arguments]
    for key, sign, _ in pairs:
        if not sign:
            refuse("what a design takes must be written as NAME=VALUE", repr(key)[:40], "for example forced yes=1/6 no=1/6")
    filled = {key: _listed(value, whole=True) for key, _, value in pairs}
    takes = parameters(known[name])
    waits = "epsilon" in takes and "epsilon" not in filled and (takes["epsilon"] or not filled)
    own = " ".join(f"{key}=…" for key in takes if key != "epsilon")
    check_arguments(known[name], [*filled, "epsilon"] if waits else filled, said=name, example=f"write toolkit plan {name} {own}")
    return partial(known[name], **filled) if waits else known[name](**filled)


def _listed(text: str, *, whole: bool = False) -> Any:
    """Text as it was written, or a list where there are commas; whole numbers as such, where things are counted."""
    if "," in text:
        return [_listed(part.strip(), whole=whole) for part in text.split(",")]
    return int(text) if whole and text.isdecimal() else text


def _say(*lines: str) -> None:
    print(*lines, sep="\n")  # noqa: T201  # a command speaks on stdout


if __name__ == "__main__":
    sys.exit(main())
