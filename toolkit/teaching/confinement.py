"""Limits for a process that runs a student's code: files, programs, signals, the network, time and memory.

Up to three layers are used, depending on the system: limits of the operating system (POSIX), Landlock and a seccomp
filter (Linux), and an audit hook that rejects Python calls with effects outside the process (everywhere). They stop
mistakes and simple attacks. Without Landlock and the filter, only the hook protects files, and it does not stop an
expert; `submissions.py` then warns.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_FORBIDDEN_EVENTS = {
    "os": ("fork", "forkpty", "posix_spawn", "spawn", "exec", "system", "startfile", "kill", "killpg"),
    "socket": ("connect", "bind", "sendto", "sendmsg", "getaddrinfo", "gethostbyname"),
    "resource": ("setrlimit", "prlimit"),
    "subprocess": ("Popen",),
    "pty": ("spawn",),
    "signal": ("pthread_kill",),
    "ctypes": ("dlopen",),
}
_READING_CALLS = ("listdir", "scandir", "getxattr", "listxattr")
_WRITING_CALLS = (
    *("remove", "rename", "rmdir", "mkdir", "chmod", "chown", "link", "symlink", "truncate", "utime"),
    *("setxattr", "removexattr", "chflags"),
)
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SYSTEM_FOLDERS = ("/usr", "/lib", "/lib64", "/System/Library", "/Library/Fonts", "/etc/fonts", "/etc/ld.so.cache")
_SYSTEM_FILES = ("/etc/localtime", "/etc/mime.types", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_MACHINE_FILES = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")


def confine(folder: str, readable: Iterable[str], *, cpu_seconds: int, gigabytes: int = 4) -> list[str]:
    """Confine this process for the rest of its life; return the names of the layers that are in force.

    The process may write in `folder` only. It may read the files and folders of `readable`, those of Python and its
    packages, and the fonts and libraries of the system. It cannot start programs, send signals or use the network.
    """
    write_roots = [os.path.realpath(folder)]
    read_roots = [os.path.realpath(path) for path in [*readable, *_readable_roots()] if path and Path(path).exists()]
    layers = []
    if _limit_resources(cpu_seconds, gigabytes):
        layers.append("limits")
    if sys.platform == "linux":
        if _apply_landlock(read_roots, write_roots):
            layers.append("landlock")
        if _apply_seccomp():
            layers.append("seccomp")
    sys.addaudithook(_make_hook(tuple(read_roots), tuple(write_roots)))
    return [*layers, "hook"]


def _readable_roots() -> list[str]:
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix]
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return [*prefixes, *packages, *_SYSTEM_FOLDERS, *_SYSTEM_FILES, *_MACHINE_FILES]


def _limit_resources(cpu_seconds: int, gigabytes: int) -> bool:
    """Limit processor time, memory, files and processes; return whether the system has such limits."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    limits = {
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_AS: gigabytes * 2**30,
        resource.RLIMIT_FSIZE: 64 * 2**20,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in limits.items():
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError):  # macOS has no limit on memory, for example
            continue
    return True


def _make_hook(read_roots: tuple[str, ...], write_roots: tuple[str, ...]) -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook that raises PermissionError for actions outside the process or its folder."""
    realpath, fspath, fsdecode = os.path.realpath, os.fspath, os.fsdecode

    def is_inside(path: Any, roots: tuple[str, ...]) -> bool:
        if path is None or isinstance(path, int):  # an open file
            return True
        real = realpath(fsdecode(fspath(path)))
        return any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        module, _, call = event.partition(".")
        if event == "open":
            path, mode, flags = arguments
            is_writing = bool((flags or 0) & _WRITING_FLAGS) or any(sign in str(mode or "") for sign in "wax+")
            is_allowed = is_inside(path, write_roots) or path in ("/dev/null", b"/dev/null")
            if not is_allowed and (is_writing or not is_inside(path, read_roots)):
                raise PermissionError("this file may not be opened while a hand-in is graded")
        elif call in _FORBIDDEN_EVENTS.get(module, ()):
            if event != "ctypes.dlopen" or arguments[0] is not None:
                raise PermissionError(f"{event} is not allowed while a hand-in is graded")
        elif module == "os" and call in _READING_CALLS:
            if not is_inside(arguments[0], (*read_roots, *write_roots)):
                raise PermissionError("this folder may not be read while a hand-in is graded")
        elif module == "os" and call in _WRITING_CALLS:
            paths = arguments[:2] if call in ("rename", "link") else arguments[:1]
            paths = arguments[1:2] if call == "symlink" else paths  # a link's target is checked when the link is used
            if not all(is_inside(path, write_roots) for path in paths):
                raise PermissionError("this file may not be changed while a hand-in is graded")

    return hook


_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIRECTORY, _FILE_RIGHTS = 1 << 2, 1 << 3, 1 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15


def _apply_landlock(read_roots: list[str], write_roots: list[str]) -> bool:
    """Let the kernel deny access to all other files; return whether it supports this (Linux 5.13 or later)."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    files = (1 << 13 + (version >= 2) + (version >= 3)) - 1 | (1 << 15 if version >= 5 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("=QQQ", files, 3, 3)[:size]  # no TCP; no signals or abstract sockets to other processes
    ruleset = libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    reading = _READ_FILE | _READ_DIRECTORY
    rules = [(root, reading) for root in read_roots] + [(root, files & ~1) for root in write_roots]
    for root, rights in [*rules, ("/dev/null", _READ_FILE | 1 << 1)]:
        try:
            descriptor = os.open(root, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = rights & files & (~0 if Path(root).is_dir() else _FILE_RIGHTS)
        libc.syscall(_LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", allowed, descriptor), 0)
        os.close(descriptor)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    is_restricted = libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return bool(is_restricted)


_FORBIDDEN_CALLS = {
    # fork, vfork, execve, kill, tkill, rt_sigqueueinfo, socket, connect, bind, ptrace, setrlimit, setsid, setpgid,
    # execveat, process_vm_readv, process_vm_writev, bpf, unshare, setns, mount;
    # the modes, owners, times and attributes of files, which Landlock does not protect: chmod, fchmod, chown, fchown,
    # lchown, utime, utimes, futimesat, fchownat, fchmodat, utimensat, setxattr, lsetxattr, fsetxattr, removexattr,
    # lremovexattr, fremovexattr;
    # the priorities and processors of other processes: setpriority, sched_setparam, sched_setscheduler,
    # sched_setaffinity, sched_setattr, ioprio_set, migrate_pages, move_pages;
    # memory that outlives this process: shmget, semget, msgget, mq_open, add_key, request_key, keyctl;
    # then those of all processors
    "x86_64": (
        *(57, 58, 59, 62, 200, 129, 41, 42, 49, 101, 160, 112, 109, 322, 310, 311, 321, 272, 308, 165),
        *(90, 91, 92, 93, 94, 132, 235, 261, 260, 268, 280, 188, 189, 190, 197, 198, 199),
        *(141, 142, 144, 203, 314, 251, 256, 279),
        *(29, 64, 68, 240, 248, 249, 250),
    ),
    "aarch64": (
        *(221, 129, 130, 138, 198, 203, 200, 117, 164, 157, 154, 281, 270, 271, 280, 97, 268, 40),
        *(52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16),
        *(140, 118, 119, 122, 274, 30, 238, 239),
        *(194, 190, 186, 180, 217, 218, 219),
    ),
}
# pidfd_send_signal, io_uring_setup, pidfd_open, process_madvise, fchmodat2, setxattrat, removexattrat, file_setattr
_FORBIDDEN_EVERYWHERE = (424, 425, 434, 440, 452, 463, 466, 469)
_CLONE = {"x86_64": 56, "aarch64": 220}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # the last two are EPERM and ENOSYS


def _apply_seccomp() -> bool:
    """Let the kernel deny the forbidden system calls; return whether it supports this (Linux, common processors)."""
    machine = platform.machine()
    if machine not in _CLONE or sys.maxsize < 2**32:
        return False
    program = _filter_program(machine)
    libc = ctypes.CDLL(None, use_errno=True)
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(instructions))
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0) == 0)


def _filter_program(machine: str) -> bytes:
    """Return the filter in the kernel's format (BPF): eight bytes for each instruction."""
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _AUDIT_ARCH[machine]), (_RETURN, 0, 0, _REFUSE), (_LOAD, 0, 0, 0)]
    steps += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _REFUSE)]  # the x32 system calls of x86-64
    for number in (*_FORBIDDEN_CALLS[machine], *_FORBIDDEN_EVERYWHERE):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    steps += [(_EQUAL, 0, 1, 435), (_RETURN, 0, 0, _UNKNOWN)]  # without clone3, the C library uses clone
    # clone makes a thread if its flags contain CLONE_THREAD, and otherwise a process.
    steps += [(_EQUAL, 0, 4, _CLONE[machine]), (_LOAD, 0, 0, 16), (_ANY_BIT, 0, 1, 0x10000)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    # prlimit may read a limit, but not set one: its third argument, a pointer, must be null.
    steps += [(_EQUAL, 0, 5, _PRLIMIT[machine]), (_LOAD, 0, 0, 32), (_EQUAL, 0, 2, 0), (_LOAD, 0, 0, 36)]
    steps += [(_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
