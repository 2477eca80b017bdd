"""Verbs that read a collection: estimates, and the reports themselves."""

from toolkit.verbs.common import Options, Verbs, add_verb, collector, say


def add(verbs: Verbs) -> None:
    results = add_verb(verbs, "results", _results, "print the estimates")
    results.add_argument("--by", action="append", help="a plain question; may be repeated")
    export = add_verb(verbs, "export", _export, "write the reports to a .csv or .parquet file, with a codebook")
    export.add_argument("path")


def _results(options: Options) -> None:
    results = collector(options).results(options.by)
    table = results.to_frame().to_string(index=False) if results.findings else "There is no report yet to estimate from."
    say(table, *results.notes())


def _export(options: Options) -> None:
    from toolkit.survey.export import write

    found = collector(options)
    say(f"wrote {write(found.reports(), options.path, found.survey)}")
