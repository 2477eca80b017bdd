"""Verbs for those who run a server for others: a look from outside, and the end of what was collected."""

from toolkit.core.checks import refuse
from toolkit.verbs.common import Options, Verbs, add_verb, running_here, say

UNWELL = 1
"""How `doctor` ends if something must be done."""


def add(verbs: Verbs) -> None:
    about = "try the public address of a collection, as a phone would; stores nothing. Ends with 1 if something must "
    doctor = add_verb(verbs, "doctor", _doctor, f"{about}be done", database=False)
    doctor.add_argument("url", help="the address that respondents use")
    about = "make one closed collection, --database, of several closed ones of the same questions"
    merge = add_verb(verbs, "merge", _merge, about)
    merge.add_argument("others", nargs="+", help="their databases: sqlite:///file.db or postgresql://…")
    about = "remove a closed collection for good: its reports, tables and files. It asks for the title, unless --yes"
    delete = add_verb(verbs, "delete", _delete, about)
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _doctor(options: Options) -> int:
    from toolkit.survey.operating.doctor import examine

    failed = 0
    for finding in examine(options.url):
        say(str(finding))
        failed += finding.failed
    say("Not seen from here: what the proxy, a firewall and a load balancer write down. See docs/production.md.")
    return UNWELL if failed else 0


def _merge(options: Options) -> None:
    from toolkit.survey.store import merge

    with running_here():
        count, repeated = merge(options.database, options.others)
    say(f"{count:,} reports; {repeated:,} more were in two collections, and are in it once.")


def _delete(options: Options) -> None:
    from toolkit.survey.operating.deleting import deletable, delete

    with running_here():
        title, described = deletable(options.database)
    say(described)
    if not options.yes and _typed() != title:
        refuse("the title of the collection must be typed, or --yes given", "something else", "nothing was deleted")
    say("Deleted.", *delete(options.database))


def _typed() -> str:
    try:
        return input("Type its title to delete it for good: ").strip()
    except EOFError:  # nobody is there to type
        return ""
