"""What processes of the tests need of the machine: ports, users, signals, directories, and an end that leaves nothing behind."""

from __future__ import annotations

import atexit
import ctypes
import os
import pathlib
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from typing import Any, Callable

TOP = pathlib.Path(__file__).resolve().parents[3]
"""The top of the checkout."""
TIMEOUT = 240.0
"""Timeout in seconds of events that must happen: far longer than they need on the busiest machine."""

_cleaner: subprocess.Popen[str] | None = None


def say(*words: object) -> None:
    """Prints at once."""
    print(*words, flush=True)


def keep_port() -> socket.socket:
    """A free port. The system gives it to no other program while the socket exists."""
    holder = socket.socket()
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):  # a server needs one of them to bind the port as well
        holder.setsockopt(socket.SOL_SOCKET, option, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def end_with_us(number: int = signal.SIGTERM) -> None:
    """Makes the kernel send this process a signal when its parent ends."""
    ctypes.CDLL(None).prctl(1, number)


def as_database_user() -> dict[str, Any]:
    """The options of a process that refuses to run as root, and does not write where it was started."""
    options: dict[str, Any] = {"cwd": "/", "stdin": subprocess.DEVNULL}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        options.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    return options


def raise_file_limit() -> None:
    """Permits this program and its children as many open files as the system does."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def new_directory(name: str) -> str:
    """A directory that PostgreSQL's user may enter. When this program ends, in any way, it is removed, and its processes are killed."""
    global _cleaner
    if _cleaner is None:
        _cleaner = subprocess.Popen(
            [sys.executable, "-B", "-m", "harness.cleaner"], cwd=pathlib.Path(__file__).parents[1], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        atexit.register(_cleaner.communicate)
    path = tempfile.mkdtemp(prefix=f"chatterd-{name}.")
    assert _cleaner.stdin is not None
    print(path, file=_cleaner.stdin, flush=True)
    os.chmod(path, 0o755)
    return path


def make_directory(tests: Any) -> str:
    """A directory that is removed after the tests of a class."""
    path = new_directory(tests.__name__)
    tests.addClassCleanup(shutil.rmtree, path, ignore_errors=True)
    return path


def run_program(name: str, work: Callable[[str], Any]) -> int:
    """Runs the program of a suite in a directory of its own: 0 if it returns true. After a failure the logs are kept in .build/logs."""
    os.environ.pop("PGOPTIONS", None)
    # SIGTERM ends as Ctrl-C does, so that the processes end in order; a shell has its programs in the background ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    directory = new_directory(name)
    is_well = False
    try:
        is_well = work(directory)
    except KeyboardInterrupt:
        return 130
    except Exception:
        traceback.print_exc()
        say("the run itself failed")
    if not is_well:
        say(f"logs are in {_keep_logs(directory, name)}")
    return 0 if is_well else 1


def _keep_logs(directory: str, name: str) -> pathlib.Path:
    """Moves the files of a directory to one that the next failed run of the suite replaces."""
    kept = TOP / ".build" / "logs" / name
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for entry in os.scandir(directory):
        if entry.is_file(follow_symlinks=False):
            shutil.move(entry.path, kept)
    return kept
