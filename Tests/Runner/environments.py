"""Virtual environments of Python, one for each file in Tests/Runner/requirements, in the cache folder of the user.

An environment has the hash of its file in its name, so that all checkouts of a machine share it, and none is made twice. The versions
are fixed, because others send other requests. `python3 environments.py NAME` makes one and prints the path of its Python.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chatterd"
PAUSES = (10, 30)
"""Seconds before the second and the third try of an installation."""


class NotInstalled(Exception):
    """pip could not install the packages; the text has its last lines."""


def home_of(name: str) -> Path:
    requirements = (REQUIREMENTS / f"{name}.txt").read_bytes()
    key = hashlib.sha256(requirements + platform.python_version().encode()).hexdigest()[:12]
    return CACHE / "python" / f"{name}-{key}"


def environment(name: str, say: Callable[[str], None], more: Callable[[Path], None] = lambda home: None) -> Path:
    """The Python of an environment, which is made if there is none; `more` completes a new one. Raises `NotInstalled`."""
    home = home_of(name)
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.with_suffix(".lock"), "w") as lock:
        # A second run, from another checkout, waits for the first one.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "installed").exists():
            # What the packages need themselves follows after an empty line.
            packages = (REQUIREMENTS / f"{name}.txt").read_text().partition("\n\n")[0]
            say(f"installing for Python: {' '.join(packages.split())}")
            shutil.rmtree(home, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
            install(home, ["install", "-r", str(REQUIREMENTS / f"{name}.txt")])
            more(home)
            (home / "installed").touch()
    return home / "bin" / "python"


def install(home: Path, arguments: list[str]) -> None:
    for pause in (*PAUSES, None):
        command = [str(home / "bin" / "pip"), "--disable-pip-version-check", "-q", *arguments]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return
        if pause is None:
            raise NotInstalled(f"pip failed (is there a network?): {' '.join(run.stderr.splitlines()[-3:])}")
        time.sleep(pause)


def commonmark(home: Path) -> None:
    """CommonMark's examples, which the source of markdown-it-py contains."""
    source = home / "source"
    install(home, "download --no-deps --no-binary :all: markdown-it-py==4.3.0 --dest".split() + [str(source)])
    archive = next(source.glob("*.tar.gz"))
    options = ["--strip-components=3", "--wildcards", "*/tests/test_cmark_spec/commonmark.json"]
    subprocess.run(["tar", "-xzf", archive, "-C", source, *options], check=True)


def page(say: Callable[[str], None]) -> tuple[Path, dict[str, str]]:
    """The Python of the page's tests, and their variables."""
    python = environment("page", say, commonmark)
    return python, {"COMMONMARK": str(home_of("page") / "source" / "commonmark.json")}


def schema_suite(home: Path) -> None:
    """The official JSON-Schema-Test-Suite, which the source of jsonschema contains."""
    source = home / "source"
    install(home, "download --no-deps --no-binary jsonschema jsonschema==4.26.0 --dest".split() + [str(source)])
    options = ["--strip-components=4", "--wildcards", "*/json/tests/draft2020-12/*.json"]
    subprocess.run(["tar", "-xzf", next(source.glob("*.tar.gz")), "-C", source, *options], check=True)


def schemas(say: Callable[[str], None]) -> tuple[Path, list[Path]]:
    """The Python with jsonschema, and the files of the suite but that of schemas that say themselves which keywords count."""
    python = environment("schemas", say, schema_suite)
    return python, sorted(path for path in (home_of("schemas") / "source").glob("*.json") if path.stem != "vocabulary")


if __name__ == "__main__":
    try:
        print(environment(sys.argv[1], lambda text: print(text, file=sys.stderr), commonmark if sys.argv[1] == "page" else lambda _: None))
    except NotInstalled as error:
        sys.exit(str(error))
