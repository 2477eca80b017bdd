"""Commands that open, watch, close, read, examine, merge and delete a collection."""

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING

from toolkit.commands import (
    DefaultDatabase,
    Options,
    Subparsers,
    add_command,
    add_json_option,
    attach_collector,
    echo,
    echo_json,
    print_error,
    running_servers_in_errors,
)
from toolkit.core.checks import reject
from toolkit.survey.serving.options import ServeOptions, add_arguments

if TYPE_CHECKING:
    from toolkit.survey.collector import Collector


def add(commands: Subparsers) -> None:
    _add_serve(commands)
    _add_open(commands)
    for command, run, about in _COMMANDS_WITHOUT_OPTIONS:
        add_command(commands, command, run, about)
    about = "print the status of a collection, and your other servers on this machine"
    add_json_option(add_command(commands, "status", _status, about))
    close = add_command(commands, "close", _close, "close a collection permanently, and stop its server")
    close.add_argument(
        "--anyway", action="store_true", help="close even if reports wait on tablets; they can then never be read"
    )
    invite = add_command(
        commands, "invite", _invite, "print single-use links, for surveys with access 'token' or 'blind'"
    )
    invite.add_argument("count", type=int, help="the number of links")
    about = "print the link of a station: one of your devices, on which many people answer, even without a network"
    station = add_command(commands, "station", _station, about)
    station.add_argument("what", choices=["new"], help="create a new station")
    station.add_argument("uses", type=int, help="the number of people who can answer on it")
    _add_reading(commands)
    _add_operating(commands)


def _add_serve(commands: Subparsers) -> None:
    about = "open a survey and serve it in the background until it is closed"
    serve = add_command(commands, "serve", _serve, about, examples=_EXAMPLES)
    serve.add_argument("survey", help="a .toml or .json file")
    add_arguments(serve)
    text = "run in the foreground, for systemd and containers: log to stderr, and stop on SIGTERM"
    serve.add_argument("--foreground", action="store_true", help=text)


def _add_open(commands: Subparsers) -> None:
    about = "create and open a collection without a server, if the server may not create tables"
    open_ = add_command(commands, "open", _open, about)
    open_.add_argument("survey", help="a .toml or .json file")
    add_arguments(open_, ("public_url", "issuer_key", "amend", "previous_wave"))


_EXAMPLES = """\
To try a survey on this machine, read its status and close it:
  toolkit serve survey.toml
  toolkit status
  toolkit close

To serve it to phones at https://survey.example, with a certificate:
  toolkit serve survey.toml --database sqlite:///campus.db --host 0.0.0.0 --port 443 \\
    --certificate cert.pem --private-key key.pem --public-url https://survey.example/
"""

TRY_AGAIN = 75
"""Exit code of a foreground server that could not start for a temporary reason: EX_TEMPFAIL of sysexits.h."""


def _serve(options: Options) -> int:
    # Without --database, a rehearsal must not use the database of the real collection.
    database = None if options.rehearsal and isinstance(options.database, DefaultDatabase) else options.database
    run = _serve_in_foreground if options.foreground else _serve_in_background
    try:
        return run(options.survey, database, ServeOptions.from_namespace(options))
    except Exception as problem:
        if options.rehearsal:
            problem.args = (f"{problem} The rehearsal was not started.",)
        raise


def _serve_in_background(survey: str, database: str | None, options: ServeOptions) -> int:
    from toolkit.survey.client import qr_text
    from toolkit.survey.collector import start
    from toolkit.survey.serving.access import access_promise

    started = start(survey, database, options)
    echo(qr_text(started.url), started.url, "", started.survey.name)
    echo(access_promise(started.survey.access, started.survey.waves))
    echo("", *_hash_lines(started.database), "")
    echo(
        "The server runs in the background. See `toolkit status`, `toolkit results` and `toolkit close`, "
        f"with --database {_shell_text(started.database)}."
    )
    return 0


def _shell_text(database: str) -> str:
    """Return the database as the user would type it in a shell, but hide other URLs, which may contain a password."""
    return database if database.startswith("sqlite") else "as you named it"


def _hash_lines(database: str) -> list[str]:
    """Return lines with the two hashes that every final screen shows, so that the user can publish them."""
    from toolkit.survey.client import code_hash
    from toolkit.survey.serving.background import find_server

    served = find_server(database)
    if served is None:
        return []
    advice = (
        'The last screen of the form shows these two hashes. Publish them, and write where: hashes = "…" in the survey.'
    )
    return [advice, f"survey  {served.page_hash}", f"program {code_hash()}"]


def _serve_in_foreground(survey: str, database: str | None, options: ServeOptions) -> int:
    from toolkit.survey.collector import RetryError, serve

    try:
        serve(survey, database, options)
    except RetryError as problem:
        print_error(f"toolkit serve: {problem}")
        return TRY_AGAIN
    return 0


def _open(options: Options) -> None:
    from toolkit.survey.collector import prepare
    from toolkit.survey.spec import Survey

    _, prepared = prepare(Survey.load(options.survey), options.database, ServeOptions.from_namespace(options))
    _print_status(attach_collector(options))
    if prepared.issuer_key is not None:
        echo(f"The key that signs blind tokens is in {prepared.issuer_key}. Every server needs it; keep a backup.")


def _print_status(collection: "Collector") -> None:
    status = collection.status()
    kind = "rehearsal, " if collection.survey.rehearsal else ""
    cap = "" if status.cap is None else f" of at most {status.cap:,}"
    serving = (
        f"served at {status.url}" if status.is_serving else "no server that you started is running on this machine"
    )
    disclosed = "" if status.state == "closed" else f" ({status.n_reports:,} of them disclosed so far, in steps)"
    line = f"{kind}{status.state}: {status.n_stored:,} reports{cap}{disclosed}; {serving}"
    out = f"Uses that stations hold, neither spent nor returned: {status.n_outstanding_uses:,}"
    echo(
        line,
        *[out] * bool(status.n_outstanding_uses),
        *_last_day_lines(collection),
        *(f"log: {line}" for line in status.log),
    )


def _last_day_lines(collection: "Collector") -> list[str]:
    """Return a sentence about the last day of a collection that is not closed."""
    from toolkit.survey.questions.survey_fields import is_over

    day = collection.survey.closes
    if day is None or collection.status().state == "closed":
        return []
    if is_over(day):
        return [f"Its last day, {day}, is over, and no more reports are accepted. Close it with `toolkit close`."]
    return [f"Reports are accepted until {day} is over in every time zone, at noon UTC of the next day."]


def _status(options: Options) -> None:
    """Print the status of the collection and the other servers of this user."""
    from toolkit.survey.serving.background import find_server, list_servers
    from toolkit.survey.storage import absolute_url

    collection = attach_collector(options)
    if options.json:
        survey = collection.survey
        facts = {"title": survey.name, "rehearsal": survey.rehearsal, "closes": survey.closes and str(survey.closes)}
        echo_json(facts | asdict(collection.status()))
        return
    _print_status(collection)
    mine = find_server(absolute_url(options.database))
    for server in list_servers():
        if server != mine:
            echo(f"also running: {server.url} (process {server.pid})")


def _state_command(command: str) -> Callable[[Options], None]:
    def run(options: Options) -> None:
        collection = attach_collector(options)
        getattr(collection, command)()
        _print_status(collection)

    return run


def _close(options: Options) -> None:
    from toolkit.survey.serving.background import find_server

    collection = attach_collector(options)
    alone = find_server(collection.database) is None and collection.status().state != "closed"
    collection.close(anyway=options.anyway)
    _print_status(collection)
    if alone:
        echo(
            "You run no server for it on this machine. A server that another account or machine runs accepts no more "
            "reports; whoever started it must stop it."
        )


def _migrate(options: Options) -> None:
    from toolkit.survey.storage import absolute_url, open_store
    from toolkit.survey.storage.schema import VERSION

    with closing(open_store(absolute_url(options.database))) as store:
        earlier = store.migrate()
    echo(
        f"version {earlier} of the tables"
        + (", which is current" if earlier == VERSION else f" was migrated to version {VERSION}")
    )


_COMMANDS_WITHOUT_OPTIONS = (
    ("pause", _state_command("pause"), "stop accepting reports for now"),
    ("resume", _state_command("resume"), "accept reports again"),
    ("migrate", _migrate, "migrate a collection made by an older version; stop its servers and make a copy first"),
)


def _station(options: Options) -> None:
    collection = attach_collector(options)
    link = collection.station(options.uses)
    echo(
        link,
        "",
        f"For one device and {options.uses:,} people. Open it on the device while it is online, and choose a PIN.",
    )
    if not link.startswith(("https:", "http://127.0.0.1", "http://localhost")):
        echo("Browsers require https for stations, so this address will not work on another device.")


def _invite(options: Options) -> None:
    echo(*attach_collector(options).invitations(options.count))


_METHOD_HELP = "mle: maximum likelihood, with shares from 0 to 1 (default: unbiased)"
_REGISTRATION_HELP = "the file from `toolkit register`; each result is then marked as registered or exploratory"


def _add_reading(commands: Subparsers) -> None:
    results = add_command(commands, "results", _results, "print the estimates")
    add_result = results.add_argument
    add_result("--by", action="append", help="a plain question whose answers form groups; may be repeated")
    add_result(
        "--minimum",
        type=int,
        help="the smallest number of people for whom an estimate is shown (default: the survey's); a note states it",
    )
    add_result("--method", help=_METHOD_HELP)
    add_result("--registration", help=_REGISTRATION_HELP)
    add_json_option(results)
    about = "write a report on a closed collection, as .html, .docx, .pdf or .md"
    report = add_command(commands, "report", _report, about).add_argument
    report("path", help="the file to write; its extension determines the format")
    report("--by", action="append", help="a plain question whose answers form groups; may be repeated")
    report("--method", help=_METHOD_HELP)
    report("--registration", help=_REGISTRATION_HELP)
    about = "export the reports as .csv, .parquet, .feather, .sav (SPSS) or .dta (Stata), with a codebook"
    export = add_command(commands, "export", _export, about).add_argument
    export("path", help="the file to write; its extension determines the format")
    export("--language", help="the language of the labels in .sav and .dta files (default: the survey's first)")


def _results(options: Options) -> None:
    results = attach_collector(options).results(options.by, method=options.method, minimum=options.minimum)
    if options.registration is not None:
        results = results.registered(options.registration)
    if options.json:
        rows = results.to_frame().to_dict("records") if results.group_estimates else []
        title = {"title": results.survey.name, "by": results.by, "minimum": results.minimum}
        echo_json(title | {"estimates": rows, "notes": [*results.notes()]})
        return
    table = results.summary().to_string(index=False) if results.group_estimates else "No results can be shown yet."
    echo(results.survey.name, table, *results.notes())


def _report(options: Options) -> None:
    settings = {"method": options.method, "registration": options.registration}
    echo(f"wrote {attach_collector(options).report(options.path, options.by, **settings)}")


def _export(options: Options) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the remarks printed below state which reports are not disclosed
        collection = attach_collector(options)
        path = collection.export(options.path, language=options.language)
    echo(f"wrote {path}", *collection.results().remarks)


PROBLEMS_FOUND = 1
"""Exit code of `doctor` if it found a problem."""


def _add_operating(commands: Subparsers) -> None:
    about = "test the public address of a collection as a phone would use it; the exit code is 1 if there are "
    doctor = add_command(commands, "doctor", _doctor, f"{about}problems", with_database=False)
    doctor.add_argument("url", help="the address that respondents use")
    about = "merge closed collections of the same questions into one, --database"
    merge = add_command(commands, "merge", _merge, about)
    merge.add_argument("others", nargs="+", help="the databases to merge: sqlite:///file.db or postgresql://…")
    about = "delete the reports, tables and files of a closed collection permanently, after asking for its title"
    delete = add_command(commands, "delete", _delete, about)
    delete.add_argument("--yes", action="store_true", help="do not ask for the title")


def _doctor(options: Options) -> int:
    from toolkit.survey.serving.doctor import examine

    failed = 0
    for finding in examine(options.url):
        echo(str(finding))
        failed += finding.is_failure
    echo("This cannot be checked from here: what a proxy, a firewall or a load balancer logs. See docs/production.md.")
    return PROBLEMS_FOUND if failed else 0


def _merge(options: Options) -> None:
    from toolkit.survey.storage import merge

    with running_servers_in_errors():
        count, repeated = merge(options.database, options.others)
    echo(f"{count:,} reports were merged; {repeated:,} of them were in two collections and are included once.")


def _delete(options: Options) -> None:
    from toolkit.survey.collector import delete, describe_deletable

    with running_servers_in_errors():
        title, description = describe_deletable(options.database)
    echo(description)
    if not options.yes and _typed_title() != title:
        reject(
            "the title of the collection must be typed, or `--yes` used",
            "another text",
            "nothing was deleted; try again",
        )
    echo("Deleted.", *delete(options.database))


def _typed_title() -> str:
    try:
        return input("Type its title to delete it permanently: ").strip()
    except EOFError:  # stdin is not a terminal
        return ""
