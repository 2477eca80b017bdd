"""Nothing outside the folder is read or written."""

import errno
import fcntl
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from toolkit.studio.folder import Folder


@pytest.mark.parametrize(
    "name",
    [
        "../a.toml", "/etc/passwd", "a/b.toml", "..", ".", "", ".hidden.toml", "a\\b.toml", "a\0.toml",
        "a\n.toml", None, 3, "x" * 200, "a.toml ", "~root.toml", "a:b.toml",
    ],
)  # fmt: skip
def test_a_name_is_a_plain_name(tmp_path, name):
    with pytest.raises(ValueError, match="must consist of letters"):
        Folder(tmp_path).path(name)


def test_links_are_neither_followed_nor_listed(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out.toml"
    inside.mkdir()
    outside.write_text("secret = 1")
    (inside / "link.toml").symlink_to(outside)
    folder = Folder(inside)
    for call in (lambda: folder.read("link.toml"), lambda: folder.write("link.toml", b"x")):
        with pytest.raises(ValueError, match="link"):
            call()
    assert folder.file_names(".toml") == []
    assert outside.read_text() == "secret = 1"


def test_a_file_is_written_completely_and_keeps_its_permissions(tmp_path):
    """No temporary file remains beside it."""
    folder = Folder(tmp_path)
    usual = os.umask(0)
    folder.write("a.toml", b"one", new=True)
    os.umask(usual)
    assert (tmp_path / "a.toml").stat().st_mode & 0o777 == 0o644
    (tmp_path / "a.toml").chmod(0o600)
    folder.write("a.toml", b"two")
    assert (tmp_path / "a.toml").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]
    with pytest.raises(FileExistsError):
        folder.write("a.toml", b"three", new=True)
    with pytest.raises(NotADirectoryError):
        Folder(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"the file must exist, got no file 'none\.toml': it was moved"):
        folder.read("none.toml")
    with pytest.raises(ValueError, match="end in"):
        folder.path("a.toml", ".csv")


def test_a_file_is_synced_before_it_gets_its_name(tmp_path, monkeypatch):
    """Nothing remains of a file that could not be written."""
    folder, sizes = Folder(tmp_path), []
    monkeypatch.setattr(os, "fsync", lambda one: sizes.append((os.fstat(one).st_size, (tmp_path / "a.toml").exists())))
    folder.write("a.toml", b"one")
    assert sizes == [(3, False)]

    def failing(*_):
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(OSError):
        folder.write("a.toml", b"two")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"one"]


def test_files_are_listed_latest_first_and_of_one_moment_by_name(tmp_path):
    for name, moment in {"b.toml": 1, "a.toml": 1, "c.TOML": 2, "d.csv": 3, ".e.toml": 4}.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (moment, moment))
    (tmp_path / "f.toml").mkdir()
    assert Folder(tmp_path).file_names(".toml") == ["c.TOML", "a.toml", "b.toml"]


@pytest.mark.parametrize(("number", "works"), [(errno.EBADF, True), (errno.ENOLCK, True), (errno.EIO, False)])
def test_a_drive_without_locks_is_used_without_them(tmp_path, monkeypatch, number, works):
    """Any other failure of a lock is raised."""

    def failing(*_):
        raise OSError(number, "")

    closed, close = [], os.close
    monkeypatch.setattr(fcntl, "flock", failing)
    monkeypatch.setattr(os, "close", lambda one: closed.append(one) or close(one))
    with nullcontext() if works else pytest.raises(OSError), Folder(tmp_path).lock():
        assert works
        assert closed == []
    assert len(closed) == 1


def test_a_folder_is_locked_for_one_action_at_a_time(tmp_path):
    """The lock needs no file of its own."""
    other = os.open(tmp_path, os.O_RDONLY)  # as another studio has it
    with Folder(tmp_path).lock():
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert list(tmp_path.iterdir()) == []
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
