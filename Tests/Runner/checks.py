"""The table of all checks: name, what it checks, what it needs, and its commands."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import comparisons
import environments
from processes import TOP, Commands, Failed, Log, NotRun
from swift_tests import SwiftTests

SYSTEM = TOP / "Tests" / "System"
DEBUG = TOP / ".build" / "debug"
# Reports of the sanitizers name lines with any debug information. Leaks are not detected: tests leave tasks suspended permanently,
# like a process that dies.
SANITIZERS = {"TSAN_OPTIONS": f"suppressions={TOP}/Tests/thread-sanitizer.txt", "ASAN_OPTIONS": "detect_leaks=0"}
# Not with a sanitizer, which has backtraces of its own: the runtime's handler stops all threads with a signal, which the thread
# sanitizer may hold back permanently.
BACKTRACE = {"SWIFT_BACKTRACE": "enable=yes,color=no"}


@dataclass
class Run:
    """One run of one check."""

    log: Log
    commands: Commands
    is_long: bool
    arguments: list[str] = field(default_factory=list)
    """Those after `--`, in place of the check's own."""
    swift_tests: SwiftTests | None = None

    def python(self, name: str) -> Path:
        try:
            return environments.environment(name, self.log.say)
        except environments.NotInstalled as error:
            raise Failed(str(error)) from error

    def unittest(self, python: str | Path, *tests: str, env: dict[str, str] | None = None) -> None:
        """Runs unittest in Tests/System; the modules' programs are those of `CHATTERD` and `CHATTER`."""
        words = self.arguments or list(tests)
        self.commands.run(python, "-B", "-m", "unittest", *words, cwd=SYSTEM, env=programs() | (env or {}))

    def module(self, name: str, short: str, long: str) -> None:
        """Runs a program of Tests/System with its options."""
        options = self.arguments or (long if self.is_long else short).split()
        self.commands.run("python3", "-B", "-m", name, "--program", programs()["CHATTERD"], *options, cwd=SYSTEM)


def programs() -> dict[str, str]:
    """The programs that the checks run: those of the debug build, or others that the environment names."""
    paths = {name: os.environ.get(name) or str(DEBUG / name.lower()) for name in ("CHATTERD", "CHATTER")}
    if "PAGE_FILES" in os.environ:  # the page from this folder, and not from the program
        paths["PAGE_FILES"] = os.environ["PAGE_FILES"]
    return {name: str(Path(path).resolve()) for name, path in paths.items()}


@dataclass(frozen=True)
class Check:
    name: str
    checks: str
    run: Callable[[Run], None]
    needs: str = "build run tests"
    """Sets of packages of script/bootstrap."""
    build: str = "chatterd"
    """What it needs of a debug build: `tests`, the names of products, or nothing."""
    form: str = "short"
    """`short`: part of script/test; `long`: of script/test --all only; `named`: runs if it is named."""
    time: str = ""
    """Typical minutes of the short and of the long form, on two cores."""
    limit: int = 1200
    """Seconds after which it hangs."""
    lane: str = "cores"
    """`cores`: it uses all cores; `waits`: it mostly waits, and runs beside those."""


def swift(*options: str, build: Path | None = None, is_sanitized: bool = False) -> Callable[[Run], None]:
    def run(run: Run) -> None:
        # The long form has more random histories, a thousand answers whose connections are cut, and the tests of memory.
        long = {"CHATTERD_TEST_LONG": "1", "CHATTERD_TEST_COURSES": "2000", "CHATTERD_TEST_CUT_ANSWERS": "1000"}
        run.swift_tests = SwiftTests(run.log.path.with_suffix(".events"))
        env = SANITIZERS if is_sanitized else BACKTRACE | (long if run.is_long else {})
        run.swift_tests.run(run.commands, build or DEBUG, [*options, *run.arguments], env)

    return run


def layout(run: Run) -> None:
    run.commands.run("swift", "format", "lint", "-s", "-r", "-p", "Sources", "Tests", "Package.swift")


def shell(run: Run) -> None:
    scripts = [path for path in (TOP / "script").iterdir() if path.is_file()]
    others = [TOP / ".ci" / "run", *(TOP / "Tests").glob("**/*.sh")]
    others += [path for path in (TOP / "deploy" / "debian").iterdir() if path.name != "control"]
    run.commands.run("shellcheck", "-x", *sorted(scripts), *sorted(others))


def runner(run: Run) -> None:
    run.commands.run("python3", "-B", "-m", "unittest", *(run.arguments or ["test_runner"]), cwd=TOP / "Tests" / "Runner")


def texts(run: Run) -> None:
    if found := comparisons.violations(TOP, DEBUG):
        raise Failed("\n".join(found))


def schemas(run: Run) -> None:
    try:
        python, suite = environments.schemas(run.log.say)
    except environments.NotInstalled as error:
        raise Failed(str(error)) from error
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "random.json"
        count = "20000" if run.is_long else "2000"
        run.commands.run(python, "-B", "-m", "schemas", str(cases), count, *run.arguments, cwd=SYSTEM)
        files = ":".join(str(path) for path in [*suite, cases])
        run.swift_tests = SwiftTests(run.log.path.with_suffix(".events"))
        run.swift_tests.run(run.commands, DEBUG, ["--filter", "JSONSchemaTests"], BACKTRACE | {"JSON_SCHEMA_SUITE": files})


def clients(run: Run) -> None:
    run.unittest(run.python("clients"), "clients.test_clients", "clients.test_metrics", "clients.test_resume", "clients.test_turns")


def doors(run: Run) -> None:
    tests = ["doors.test_doors", "doors.test_found_chats", "doors.test_door_forms", "doors.test_door_programs", "doors.test_field"]
    run.unittest(run.python("clients"), *tests)
    if run.is_long and not run.arguments:
        run.unittest(run.python("llm"), "doors.test_llm")
        run.unittest(run.python("litellm"), "doors.test_litellm")


PROGRAMS = ("clients", "llm", "frameworks", "frameworks-2", "crewai", "shell-gpt", "gptme", "aider", "open-interpreter")


def compatibility(run: Run) -> None:
    if not run.arguments:
        run.unittest("python3", "compatibility.test_judge")
    run_programs(run, ["clients"], ["--short", "--jobs=1"])


def all_programs(run: Run) -> None:
    run_programs(run, PROGRAMS, [])


def run_programs(run: Run, names: Sequence[str], options: list[str]) -> None:
    """Runs the programs of these virtual environments, which are made if there are none."""
    pythons = [f"--python={name}={run.python(name)}" for name in names]
    run.commands.run("python3", "-B", "-m", "compatibility", *pythons, *(run.arguments or options), cwd=SYSTEM, env=programs())


def terminal(run: Run) -> None:
    tests = ["terminal.test_conversation", "terminal.test_pipes", "terminal.test_killed_server"]
    run.unittest(run.python("clients"), *tests)


def openapi(run: Run) -> None:
    long = {"API_LONG": "1"} if run.is_long else {}
    run.unittest(run.python("clients"), "openapi.test_openapi", *(["openapi.test_texts"] if run.is_long else []), env=long)


def chaos(run: Run) -> None:
    run.module("chaos", "--short", "--minutes 5 --failures 60")
    if run.is_long and not run.arguments:
        run.module("chaos", "", "--standby async --minutes 2 --failures 25")


def fairness(run: Run) -> None:
    run.module("fairness", "--short", "")


def faults(run: Run) -> None:
    run.module("faults", "--short", "")


def models(run: Run) -> None:
    run.commands.run("script/model-server", "--install")
    tests = ["models.test_answers", "models.test_failures", "models.test_libraries", "models.test_door_clients"]
    run.unittest(run.python("clients"), *tests)
    if not run.arguments:
        run.unittest(run.python("litellm"), "models.test_door_litellm")
        run.unittest(run.python("llm"), "models.test_door_llm")


def litellm_proxy(run: Run) -> None:
    run.commands.run("script/model-server", "--install")
    python = run.python("litellm-proxy")
    run.unittest("python3", "models.test_litellm", env={"LITELLM": str(python.parent.parent)})


def llama_cpp_python(run: Run) -> None:
    os.environ["CMAKE_ARGS"] = "-DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF"
    try:
        python = environments.environment("llama-cpp-python", run.log.say)
    except environments.NotInstalled as error:
        raise NotRun(f"llama-cpp-python cannot be compiled: {error}") from error
    run.unittest("python3", "models.test_llama_cpp_python", env={"LLAMA_CPP_PYTHON": str(python.parent.parent)})


def browser(run: Run) -> None:
    run.unittest("python3", "browser.test_browser", "browser.test_pages")


def page(run: Run) -> None:
    python, variables = environments.page(run.log.say)
    tests = sorted(f"page.{path.stem}" for path in (SYSTEM / "page").glob("test_*.py"))
    run.unittest(python, *tests, env=variables)


def screenshots(run: Run) -> None:
    pictures = Path(os.environ.get("PICTURES") or TOP / ".build" / "pictures").resolve()
    pictures.mkdir(parents=True, exist_ok=True)
    python, variables = environments.page(run.log.say)
    run.unittest(python, "page.screenshots", env=variables | {"PICTURES": str(pictures)})
    run.log.say(f"the pictures are in {pictures}")


def package(run: Run) -> None:
    run.commands.run("Tests/Package/package.sh")


def deb(run: Run) -> None:
    run.commands.run("Tests/System/deb/deb.sh", *run.arguments)


def documentation(run: Run) -> None:
    run.commands.run("script/docc")


def proxies(run: Run) -> None:
    run.commands.run("Tests/System/proxies/proxies.sh", *(run.arguments or ["--short"]), env=programs())


def upgrade(run: Run) -> None:
    run.commands.run("Tests/System/proxies/upgrade.sh", *run.arguments, env=programs())


def patroni(run: Run) -> None:
    packages = next(run.python("patroni").parent.parent.glob("lib/python*/site-packages"))
    run.commands.run("Tests/System/chaos/patroni.sh", *run.arguments, env=programs() | {"PATRONI_PACKAGES": str(packages)})


def monitoring(run: Run) -> None:
    run.commands.run("Tests/System/monitoring/monitoring.sh", *run.arguments, env=programs())


def backup(run: Run) -> None:
    run.unittest("python3", "backup.test_backup")


def doctor(run: Run) -> None:
    run.unittest("python3", "doctor.test_doctor")


def tools(run: Run) -> None:
    run.unittest(run.python("clients"), "tools.test_mcp", "tools.test_hooks", env={"MCP_PYTHON": str(run.python("mcp")), "MCP_1_PYTHON": str(run.python("mcp-1"))})


def attacks(run: Run) -> None:
    run.module("attacks", "--seconds 10 --readers 0", "")


def fuzz(run: Run) -> None:
    """Each reader gets the inputs of the corpus, and new ones. An input that ends the process stays in .build/fuzz."""
    corpus = TOP / "Tests" / "Fuzz" / "Corpus"
    found = TOP / ".build" / "fuzz" / "found"
    found.mkdir(parents=True, exist_ok=True)
    for kept in sorted(path for path in corpus.iterdir() if path.name in (run.arguments or [path.name])):
        with tempfile.TemporaryDirectory() as new:
            options = [f"-max_total_time={60 if run.is_long else 10}", "-max_len=4096", "-timeout=600", "-rss_limit_mb=4096", "-print_final_stats=1"]
            run.commands.run(
                TOP / ".build" / "fuzz" / "debug" / "fuzz", *options, f"-artifact_prefix={found}/{kept.name}-", new, kept,
                env={"CHATTERD_FUZZ_TARGET": kept.name, "SWIFT_BACKTRACE": "enable=no"}, shown=False,
            )
        run.log.say(f"{kept.name}: no input ends it")


def compose(run: Run) -> None:
    home = environments.home_of("compose")
    run.commands.run("Tests/System/compose/compose.sh", env={"COMPOSE_PYTHON": str(home / "bin")})


PAGE = "build run tests browser page"
CHECKS = [
    Check("layout", "the layout of Swift files", layout, needs="build", build="", time="0.1", lane="waits"),
    Check("shell", "shell scripts, with shellcheck", shell, needs="tests", build="", time="0.1", lane="waits"),
    Check("runner", "the runner itself: failures, hangs, crashes and limits are named", runner, needs="tests", build="", time="0.1", lane="waits"),
    Check("texts", "no text of a peer is compared by its characters, which may take minutes", texts, time="0.1", lane="waits"),
    Check("swift", "the Swift tests", swift(), build="tests", time="4 / 6", limit=2400),
    Check("fairness", "the order of three processes before a model server with one slot", fairness, time="0.5 / 1", lane="waits"),
    Check("proxies", "deploy/ with nginx, HAProxy and PgBouncer", proxies, needs="run tests proxies", form="long", time="3", lane="waits"),
    Check("upgrade", "the previous release and this one on one database under load, forward and back: no request fails", upgrade, needs="build run tests proxies", form="long", time="7", limit=2400),
    Check("clients", "curl and Python as clients", clients, time="1", lane="waits"),
    Check("doors", "programs for Ollama, OpenAI and Anthropic at the front doors; the long form: llm and LiteLLM too", doors, time="1 / 3", lane="waits"),
    Check("compatibility", "the packages of OpenAI, Anthropic and Ollama in both modes, against docs/compatibility.md", compatibility, time="1", lane="waits"),
    Check("terminal", "chatter, in pseudo-terminals and in pipes", terminal, build="chatterd chatter", time="1", lane="waits"),
    Check("openapi", "generated requests to all endpoints of /openapi.json but the feed", openapi, time="1 / 2", lane="waits"),
    Check("faults", "model servers that fail in every known way, as a scored table", faults, time="1 / 3", lane="waits"),
    Check("chaos", "processes and PostgreSQL killed, stopped and replaced, connections cut, credentials revoked", chaos, time="1.5 / 7.5", lane="waits"),
    Check("patroni", "chatterd on a Patroni cluster with deploy/patroni: nodes killed and frozen, switchovers (-- --events 15: more of them)", patroni, needs="build run tests proxies", form="named", time="3", limit=2400, lane="waits"),
    Check("monitoring", "the rules for alerts and the dashboard with a real Prometheus: each alert fires for planted faults, each query has a value (root)", monitoring, needs="build run tests prometheus", form="long", time="2.5", lane="waits"),
    Check("backup", "a dump and a base backup under load, restored and compared byte for byte", backup, form="long", time="0.5", lane="waits"),
    Check("doctor", "every fault of the table in docs/operating.md, planted: chatterd doctor names it (root)", doctor, form="long", time="2", lane="waits"),
    Check("tools", "servers of tools of PyPI's packages for the Model Context Protocol", tools, form="long", time="0.5", lane="waits"),
    Check("browser", "EventSource, and pages of other origins, in Chromium", browser, needs="build run tests browser", form="long", time="1", lane="waits"),
    Check("page", "the web page in Chromium; its Markdown against cmark; the app of the tutorial", page, needs=PAGE, form="long", time="3", limit=2400, lane="waits"),
    Check("schemas", "the check of JSON Schemas against the official suite, and random schemas against Python's jsonschema", schemas, build="tests", time="0.3", lane="waits"),
    Check("models", "llama.cpp's server behind chatterd, with clients at the doors, and with the Swift libraries", models, build="tests", form="long", time="2", lane="waits"),
    Check("package", "a package elsewhere that depends on this one, without a network", package, build="libraries", form="long", time="2"),
    Check("deb", "the Debian package and the archive of script/package in clean roots (-- --twice: two builds are equal) (root)", deb, needs="build tests package deb", build="", form="long", time="7", limit=2400),
    Check("docc", "the documentation of the libraries, without warnings", documentation, build="libraries", form="long", time="0.5"),
    Check("thread", "the Swift tests of what has threads, with the thread sanitizer", swift(build=TOP / ".build/thread/debug", is_sanitized=True), build="thread", form="long", time="20", limit=3000),
    Check("address", "the Swift tests of what has pointers, with the address sanitizer", swift(build=TOP / ".build/address/debug", is_sanitized=True), build="address", form="long", time="6", limit=3000),
    Check("compose", "docker-compose.yml with Docker or podman", compose, needs="tests", build="", form="long", time="7", limit=1800, lane="waits"),
    Check("attacks", "clients that try to exhaust the memory (CHATTERD=.build/release/chatterd)", attacks, form="named", time="1 / 15"),
    Check("screenshots", "makes pictures of the web page in the folder PICTURES (.build/pictures)", screenshots, needs=PAGE, form="named", time="1"),
    Check("fuzz", "readers of what peers send, with libFuzzer: none ends the process, and pieces are read as the whole", fuzz, build="fuzz", form="named", time="5 / 15"),
    Check("programs", "all programs of docs/compatibility.md in both modes (5 GB)", all_programs, form="named", time="10", limit=5400),
    Check("litellm-proxy", "LiteLLM's proxy before a real model server (700 MB)", litellm_proxy, form="named", time="3"),
    Check("llama-cpp-python", "another real model server, which is compiled for minutes", llama_cpp_python, form="named", time="7"),
]
