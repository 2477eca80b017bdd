"""Limits of the process that runs a student's code: what the filter and the hook refuse, decision by decision."""

import os
import struct

import pytest

from tests.slowly import each
from toolkit.teaching import confinement

ALLOWED, REFUSED, UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026
THREAD = 0x10000


def decide(machine, number, *arguments, architecture=None):
    """What the kernel would do with a system call: an interpreter of the filter."""
    arch = confinement._AUDIT_ARCH[machine] if architecture is None else architecture
    data = struct.pack("=IIQ6Q", number, arch, 0, *(*arguments, *[0] * 6)[:6])
    steps = list(struct.iter_unpack("=HBBI", confinement._filter_program(machine)))
    index = accumulator = 0
    while True:
        code, if_true, if_false, value = steps[index]
        index += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            index += if_true if holds else if_false


@each(machine=("x86_64", "aarch64"))
def test_the_filter_refuses_processes_signals_and_sockets(machine):
    for number in confinement._FORBIDDEN_CALLS[machine] + confinement._FORBIDDEN_EVERYWHERE:
        assert decide(machine, number) == REFUSED
    clone, prlimit = confinement._CLONE[machine], confinement._PRLIMIT[machine]
    assert decide(machine, clone, 17) == REFUSED
    assert decide(machine, clone, 17 | THREAD) == ALLOWED
    assert decide(machine, 435) == UNKNOWN
    assert decide(machine, prlimit, 0, 7, 0) == ALLOWED
    assert decide(machine, prlimit, 0, 7, 4096) == decide(machine, prlimit, 0, 7, 1 << 32) == REFUSED
    read, write, mmap = {"x86_64": (0, 1, 9), "aarch64": (63, 64, 222)}[machine]
    assert {decide(machine, number) for number in (read, write, mmap)} == {ALLOWED}
    assert decide(machine, read, architecture=0x40000003) == decide(machine, 0x40000000) == REFUSED


@each(machine=("x86_64", "aarch64"))
def test_the_filter_refuses_what_landlock_allows(machine):
    """Modes, times and attributes of files, priorities of processes, and memory that outlives the process."""
    names = ("fchmod", "fchmodat", "fchownat", "utimensat", "setxattr", "setpriority", "sched_setaffinity", "shmget")
    numbers = {"x86_64": (91, 268, 260, 280, 188, 141, 203, 29), "aarch64": (52, 53, 54, 88, 5, 140, 122, 194)}
    decisions = {name: decide(machine, number) for name, number in zip(names, numbers[machine], strict=True)}
    assert decisions == dict.fromkeys(names, REFUSED)


@pytest.fixture
def hook(tmp_path):
    """The audit hook, for a folder that may be read and one that may be written."""
    for name in ("read", "write", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "write" / "link").symlink_to(tmp_path / "other")
    return confinement._make_hook((str(tmp_path / "read"),), (str(tmp_path / "write"),))


def refuses(hook, event, *arguments):
    try:
        hook(event, arguments)
    except PermissionError:
        return True
    return False


@pytest.mark.parametrize(
    ("path", "can_read", "can_write"),
    [
        ("read/a", True, False),
        ("write/a", True, True),
        ("write/../other/a", False, False),
        ("write/link/a", False, False),
        ("reading/a", False, False),
        ("other/a", False, False),
    ],
)
def test_the_hook_opens_only_files_of_its_folders(hook, tmp_path, path, can_read, can_write):
    name = str(tmp_path / path)
    assert refuses(hook, "open", name, "r", os.O_RDONLY) is not can_read
    assert refuses(hook, "os.listdir", name) is not can_read
    for mode, flags in (("w", os.O_WRONLY | os.O_CREAT), ("a", 0), ("r+", os.O_RDWR), (None, os.O_WRONLY)):
        assert refuses(hook, "open", name.encode(), mode, flags) is not can_write
    for event in ("os.remove", "os.chmod", "os.mkdir", "os.symlink"):
        target = (str(tmp_path / "x"), name) if event == "os.symlink" else (name,)
        assert refuses(hook, event, *target) is not can_write
    assert refuses(hook, "os.rename", str(tmp_path / "write" / "b"), name) is not can_write


def test_the_hook_refuses_programs_signals_and_the_network(hook):
    for event in ("os.fork", "os.system", "subprocess.Popen", "os.kill", "socket.connect", "resource.setrlimit"):
        assert refuses(hook, event, None)
    assert refuses(hook, "ctypes.dlopen", "libc.so.6")
    assert not refuses(hook, "ctypes.dlopen", None)
    assert not refuses(hook, "import", "json")
    assert not refuses(hook, "open", 3, "r", 0)
    assert not refuses(hook, "open", "/dev/null", "w", os.O_WRONLY)
