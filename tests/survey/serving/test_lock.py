import fcntl
import multiprocessing
import os
import signal
import time

import pytest

from tests.survey.lines import until
from toolkit.survey.serving import lock
from toolkit.survey.serving.lock import LockedError, hold_lock, read_locked


def test_what_the_holder_writes_is_read_only_while_it_holds(tmp_path):
    path = tmp_path / "deep" / "state.json"
    assert read_locked(path) is None
    with hold_lock(path) as held:
        assert read_locked(path) == ""
        held.write("a long line")
        held.write("short")
        assert read_locked(path) == "short"
    assert path.exists()
    assert read_locked(path) is None


def test_what_the_last_holder_left_is_not_read_as_the_next_one_s(tmp_path):
    path = tmp_path / "state.json"
    path.write_text("left behind")
    with hold_lock(path):
        assert read_locked(path) == ""


def test_only_one_holds_it_and_the_file_is_for_its_owner_alone(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    monkeypatch.setattr(lock, "_RETRY_SECONDS", 0.05)
    with hold_lock(path), pytest.raises(LockedError, match="got one that is running"), hold_lock(path):
        pass
    assert path.stat().st_mode & 0o077 == 0
    with hold_lock(path):
        pass


def test_the_folder_of_the_file_is_for_its_owner_alone(tmp_path):
    path = tmp_path / "new" / "state.json"
    usual = os.umask(0)
    try:
        with hold_lock(path):
            pass
    finally:
        os.umask(usual)
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_asking_whether_it_is_held_keeps_nobody_from_taking_it(tmp_path, monkeypatch):
    """Every check has a shared lock for a moment, and a process that takes the lock waits for it."""
    path = tmp_path / "state.json"
    path.touch()
    with path.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        monkeypatch.setattr(lock.time, "sleep", lambda _: asking.close())
        with hold_lock(path) as held:
            held.write("mine")
            assert asking.closed
            assert read_locked(path) == "mine"


def test_two_who_ask_at_once_do_not_take_each_other_for_a_server(tmp_path):
    path = tmp_path / "state.json"
    path.write_text("left behind")
    with path.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        assert read_locked(path) is None


def _hold(path, ready):
    with hold_lock(path) as held:
        held.write("mine")
        ready.set()
        time.sleep(60)


@pytest.mark.slow
def test_the_lock_is_released_with_its_process(tmp_path):
    """A killed child that its parent has not waited for is a zombie, whose number still exists."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    child = context.Process(target=_hold, args=(tmp_path / "state.json", ready))
    child.start()
    assert ready.wait(60)
    assert read_locked(tmp_path / "state.json") == "mine"
    os.kill(child.pid, signal.SIGKILL)
    until(lambda: read_locked(tmp_path / "state.json") is None)
    os.kill(child.pid, 0)  # still there, as a zombie
    child.join()
