"""Verbs that read a collection: estimates, and the reports themselves."""

import warnings

from toolkit.verbs.common import Options, Verbs, add_verb, collector, say

_REGISTERED = "what `toolkit register` wrote: everything then says whether it was registered or is exploratory"


def add(verbs: Verbs) -> None:
    add_result = add_verb(verbs, "results", _results, "print the estimates").add_argument
    add_result("--by", action="append", help="a plain question; may be repeated")
    add_result("--minimum", type=int, help="people below which no group is shown, if not the survey's; it is noted")
    add_result("--method", help="mle: shares inside 0 to 1, for display; else unbiased")
    add_result("--registration", help=_REGISTERED)
    about = "write a report of a closed collection, for readers: .html, .docx, .pdf or .md"
    report = add_verb(verbs, "report", _report, about).add_argument
    report("path")
    report("--by", action="append", help="a plain question; may be repeated")
    report("--registration", help=_REGISTERED)
    about = "write the reports to a .csv, .parquet, .feather, .sav (SPSS) or .dta (Stata) file, with a codebook"
    export = add_verb(verbs, "export", _export, about).add_argument
    export("path")
    export("--language", help="of the labels in .sav and .dta files; the first of the survey if left out")


def _results(options: Options) -> None:
    results = collector(options).results(options.by, method=options.method, minimum=options.minimum)
    if options.registration is not None:
        results = results.registered(options.registration)
    table = results.to_table().to_string(index=False) if results.findings else "There is nothing to estimate from yet."
    say(results.survey.name, table, *results.notes())


def _report(options: Options) -> None:
    say(f"wrote {collector(options).report(options.path, options.by, registration=options.registration)}")


def _export(options: Options) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not shown is said below
        collection = collector(options)
        path = collection.export(options.path, language=options.language)
    say(f"wrote {path}", *collection.results().remarks)
