"""Tests in several processes: `python .make/processes.py --processes 3`, with what else pytest is told.

One process finds the files of tests and forks the others. Each of them asks for a file, collects its tests, runs them
and asks for the next; of the tests it tells a few times a second. (pytest-xdist lets every process collect everything,
and tells of every test by itself: of ten thousand small ones that was a third of the time.)

A file whose end was not told of is a failure of the run.
"""

import os
import sys
import time
import traceback
from collections import defaultdict
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

import pytest

OFTEN = 0.3  # seconds from one telling to the next


class Hooks:
    @pytest.hookspec(firstresult=True)
    def pytest_place(self, path: Path) -> tuple[Any, ...]:
        """Files are taken in the order of their places, by the first process from the end; those with the same place
        by the same process. Where the first item of the place changes, all fixtures of a process end.
        """
        raise NotImplementedError


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=1, help="processes that share the files of tests")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Hooks)


def pytest_configure(config: pytest.Config) -> None:
    option = config.option
    needs_one = (
        option.collectonly or option.usepdb or config.getoption("lf", False) or any("::" in arg for arg in config.args)
    )
    if option.processes > 1 and not needs_one:
        config.pluginmanager.register(Processes(config))


class Processes:
    """The parent gives out files; what a fork makes of it takes them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.files: list[pytest.File] = []
        self.groups: list[tuple[Any, list[pytest.File]]] = []  # after the first item of their place
        self.children: dict[Any, int] = {}  # by the lines to them
        self.parent: Connection | None = None  # the line to it
        self.told: list[tuple[str, Any]] = []
        self.last = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """The parent looks into no file."""
        if self.parent or not isinstance(collector, pytest.File):
            return None
        self.files.append(collector)
        return pytest.CollectReport(collector.nodeid, "passed", None, [])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        together = defaultdict(list)
        for file in self.files:
            together[self.config.hook.pytest_place(path=file.path) or ("", str(file.path))].append(file)
        self.groups = [(place[0], together[place]) for place in sorted(together)]
        self.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
        for number in range(min(self.config.option.processes, len(self.groups))):
            self.fork(session, number)
        try:
            wrong = self.give_out(session)
        finally:  # when it is interrupted
            for line, child in self.children.items():
                line.close()
                os.waitpid(child, 0)
        if wrong and not session.shouldfail:
            session.shouldfail = f"a process ended in the midst of {', '.join(wrong)}"
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        return True

    def give_out(self, session: pytest.Session) -> list[str]:
        """Say what is told until all children have ended, and return what is wrong with that."""
        lines = list(self.children)
        waiting, doing, wrong, tests = [*range(len(self.groups))], {}, [], 0
        while self.children:
            for line in wait(list(self.children)):
                try:
                    told, has_done = line.recv()
                except (EOFError, ConnectionError):
                    _, status = os.waitpid(self.children.pop(line), 0)
                    wrong += self.names(doing.pop(line, [])) or ["the end"] * bool(status)
                    continue
                if has_done:
                    doing.pop(line, None)
                tests += sum(name == "pytest_runtest_logreport" for name, _ in told)
                done = len(self.groups) - len(waiting) - len(doing)
                session.testscollected = tests * len(self.groups) // max(done, 1)  # as it seems, for "[ 12%]"
                for name, data in told:
                    self.say(session, name, data)
                if has_done:
                    going_on = waiting and not session.shouldfail
                    doing[line] = [waiting.pop(-1 if line is lines[0] else 0)] if going_on else []
                    line.send(doing[line])
        session.testscollected = tests
        return wrong + self.names(waiting)

    def names(self, groups: list[int]) -> list[str]:
        return sorted({file.nodeid for group in groups for file in self.groups[group][1]})

    def say(self, session: pytest.Session, name: str, data: Any) -> None:
        hook = self.config.hook
        if name == "pytest_deselected":
            hook.pytest_deselected(items=[session] * data)
        else:
            getattr(hook, name)(report=hook.pytest_report_from_serializable(config=self.config, data=data))

    def fork(self, session: pytest.Session, number: int) -> None:
        ours, theirs = Pipe()
        child = os.fork()
        if child:
            theirs.close()
            self.children[ours] = child
            return
        code = 1
        try:
            for line in (ours, *self.children):
                line.close()
            self.parent = theirs
            self.work(session, number)
            code = 0
        except KeyboardInterrupt:
            pass
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def work(self, session: pytest.Session, number: int) -> None:
        os.environ["PYTEST_PROCESS"] = str(number)
        self.config.workerinput = {}  # type: ignore[attr-defined]  # pytest's own plugins write no cache here
        self.config.pluginmanager.unregister(name="terminalreporter")
        folder = self.config._tmp_path_factory  # type: ignore[attr-defined]
        folder._basetemp = folder.mktemp(f"process{number}", numbered=False)
        capture = self.config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        try:
            before = None
            while not session.shouldfail and (groups := self.tell(has_done=True)):
                kind, self.files = self.groups[groups[0]]
                if kind != before:
                    session._setupstate.teardown_exact(None)
                before = kind
                self.config.hook.pytest_collection(session=session)
                for item, following in pairwise([*session.items, session]):
                    self.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    if session.shouldfail:
                        break
        finally:
            self.config.hook.pytest_sessionfinish(session=session, exitstatus=0)
            self.tell()

    def tell(self, has_done: bool = False) -> list[int]:
        """Who has done asks for another group, and gets one or none."""
        assert self.parent
        self.parent.send((self.told, has_done))
        self.told, self.last = [], time.monotonic()
        return self.parent.recv() if has_done else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool | None:
        if not self.parent:
            return None
        for file in self.files:
            if (file.path.parent / "__init__.py").exists():  # as pytest imports it first, a package lacks its modules
                name = ".".join(file.path.relative_to(self.config.rootpath).with_suffix("").parts)
                with suppress(ImportError):
                    import_module(name.removesuffix(".__init__"))
        session.items = [item for file in self.files for item in session.genitems(file)]
        self.config.hook.pytest_collection_modifyitems(session=session, config=self.config, items=session.items)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of what was before and after a test only if it failed or took long."""
        if report.when == "call" or not report.passed or report.duration > OFTEN:
            self.note("pytest_runtest_logreport", report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self.note("pytest_collectreport", report)

    def note(self, name: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        if self.parent:
            data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
            self.told.append((name, data))
            if time.monotonic() - self.last > OFTEN:
                self.tell()

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        if self.parent:
            self.told.append(("pytest_deselected", len(items)))


if __name__ == "__main__":
    sys.exit(pytest.main(["-p", "processes", *sys.argv[1:]]))
