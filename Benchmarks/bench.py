#!/usr/bin/env python3
"""Measures chatterd beside nginx, which passes the same bytes on and stores none. See docs/benchmarks.md.

Started by script/bench, which builds what it needs."""
import argparse, contextlib, ctypes, hashlib, http.client, json, math, os, pwd, re, resource, shutil, signal, socket, statistics
import subprocess, sys, tempfile, time
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
import counts, doors, histories, journal, parked, prompts, readers, scrape  # noqa: E402

SERVERS = ("chatterd", "nginx")
OURS = ("chatterd", "before")  # "before" is another build of chatterd, see --before
IDLE = 2000
PROMPT = "What comes next?"  # of load.c


@dataclass
class Work:
    name: str
    title: str
    unit: str  # the divisor of the CPU time
    model: str = "t1r0b1"
    load: list = field(default_factory=list)  # arguments of Benchmarks/load.c
    servers: tuple = SERVERS


def works(quick, sizes=histories.SIZES):
    s = 2 if quick else 5
    slow = 50 if quick else 120
    return [
        Work("short", "short chats: 64 at once, 20 tokens", "request", "t20r0b1", f"-c 64 -n 1000000 -d {s}".split()),
        Work("fast", "fast streams: 16 × 2,000 tokens, 1 a write", "token", "t2000r0b1", f"-c 16 -n 100000 -d {s}".split()),
        Work("fast32", "fast streams: 16 × 2,000 tokens, 32 a write", "token", "t2000r0b32", f"-c 16 -n 100000 -d {s}".split()),
        Work("slow200", "slow streams: 200 at 10 tokens/s", "token", f"t{slow}r10b1", "-c 200 -n 200 -r 1 -w".split()),
        Work("slow2000", "slow streams: 2,000 at 10 tokens/s", "token", f"t{slow}r10b1", "-c 2000 -n 2000 -r 2.5 -w".split()),
        Work("idle", f"idle: {IDLE:,} connections, one chat each before", "connection"),
        Work("readers", "many readers of one reply", "event", servers=("chatterd",)),
        Work("doors", "front doors", "request", servers=("chatterd",)),
        Work("prompts", "prompts", "request", servers=("chatterd",)),
        Work("parked", "parked readers", "reader", servers=("chatterd",)),
        Work("scrape", scrape.TITLE, "scrape", servers=("chatterd",)),
        Work("journal", journal.TITLE, "token", f"t{journal.TOKENS}r10b1", servers=("chatterd",)),
    ] + [
        Work(name, title, "request", histories.MODEL, servers=("chatterd",))
        for name in histories.NAMES for size in sizes for title in histories.titles(name, size)
    ]


# The works whose allocations, system calls and dead rows are counted in a separate, shorter run: model and arguments of load.c.
COUNTED = {
    "short": ("t20r0b1", "-c 64 -n 2000"),
    "fast": ("t2000r0b1", "-c 16 -n 48"),
    "fast32": ("t2000r0b32", "-c 16 -n 48"),
    "slow200": ("t40r10b1", "-c 200 -n 200 -r 1 -w"),
    "slow2000": ("t60r10b1", "-c 2000 -n 2000 -r 2.5 -w"),
}


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def text_of(model):
    """The text of a whole answer of a model of `upstream`."""
    return "".join(map(token, range(int(re.match(r"t(\d+)", model)[1]))))


def token(i):
    """Token i as it is stored: the decoded token of tokens.h."""
    return f" w{i}" + {3: "\n", 7: '"q"', 9: "<b>", 11: "é", 13: "\\", 15: "\U0001f600"}.get(i % 16, "")


# --- CPU and memory of processes


def tree(pid):
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{found[-1]}/task"):
                with open(f"/proc/{found[-1]}/task/{task}/children") as file:
                    todo += map(int, file.read().split())
    return found


def cpu(pid):
    """CPU seconds of a process and its children, ended ones too: the process CPU clock, not ticks of 10 ms."""
    total = 0.0
    for member in tree(pid):
        with contextlib.suppress(OSError):
            total += time.clock_gettime((~member << 3) | 2)
            with open(f"/proc/{member}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            total += (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return total


def memory(pid):
    """KiB of a process and its children; pages that they share count once."""
    total = 0
    for member in tree(pid):
        with contextlib.suppress(OSError), open(f"/proc/{member}/smaps_rollup") as file:
            total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M)[1])
    return total


# --- processes


def start(command, **options):
    """Starts a process in a separate session, so that Ctrl-C reaches only this driver. It ends with the driver, even a killed one."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen(command, start_new_session=True, preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL), **options)


def stop(process, how=signal.SIGTERM):
    members = tree(process.pid)
    if process.poll() is None:
        process.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    if process.poll() is None:
        for member in members:
            with contextlib.suppress(OSError):
                os.kill(member, signal.SIGKILL)
        process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(process, port, log):
    for _ in range(600):
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), 1).close()
        if process.poll() is not None:
            break
        time.sleep(0.05)
    with open(log) as file:
        sys.exit(f"{process.args[0]} does not answer:\n{file.read()[-2000:]}")


class Postgres:
    def __init__(self, scratch):
        homes = sorted(os.listdir("/usr/lib/postgresql"), key=int) if os.path.isdir("/usr/lib/postgresql") else []
        self.bin = f"/usr/lib/postgresql/{homes[-1]}/bin" if homes else os.path.dirname(shutil.which("initdb") or "")
        self.data, self.log, self.port = data, log, _ = f"{scratch}/postgres", f"{scratch}/postgres.log", free_port()
        as_user = {"cwd": "/"}
        os.mkdir(data, 0o700)
        if os.geteuid() == 0:  # it refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chown(data, user.pw_uid, user.pw_gid)
            as_user.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
        subprocess.run(
            [f"{self.bin}/initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, **as_user)
        settings = dict(listen_addresses="127.0.0.1", port=self.port, unix_socket_directories=data, max_connections=500,
                        max_wal_size="4GB", checkpoint_timeout="30min", log_min_messages="warning")
        command = [f"{self.bin}/postgres", "-D", data]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with open(log, "w") as file:
            self.process = start(command, stdout=file, stderr=file, **as_user)
        wait_for(self.process, self.port, log)
        for _ in range(100):
            if subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0:
                break
            time.sleep(0.05)
        # A database for each build: their migrations may differ.
        for database in OURS:
            self.query(f"CREATE DATABASE {database}", "postgres")

    def url(self, database):
        return f"postgresql://bench@127.0.0.1:{self.port}/{database}"

    def psql(self, database):
        """The command of a session, which reads statements from its standard input."""
        return ["env", "PGCLIENTENCODING=UTF8", f"{self.bin}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port),
                "-U", "bench", database]

    def query(self, text, database="chatterd"):
        return subprocess.run(
            self.psql(database), input=text, text=True, encoding="utf-8", check=True, stdout=subprocess.PIPE).stdout.strip()


NGINX = """
daemon off; {user} pid {dir}/pid; error_log {dir}/error.log error;
worker_processes auto; worker_rlimit_nofile {files};
events {{ worker_connections {connections}; }}
http {{
  access_log off; tcp_nodelay on; keepalive_requests 100000000; client_max_body_size 64m; client_body_buffer_size 64k;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  upstream model {{ server 127.0.0.1:{upstream}; keepalive 4096; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096 reuseport;
    location / {{ proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
"""


class Bench:
    cpu, memory, start, stop, members, text_of, merge = map(
        staticmethod, (cpu, memory, start, stop, tree, text_of, lambda *both: merge(*both)))

    def __init__(self, options, scratch, stack):
        self.options, self.scratch, self.stack, self.runs = options, scratch, stack, 0
        self.postgres = Postgres(scratch)
        self.migrated = set()
        self.allocations = counts.Allocations(options.programs, scratch)
        self.counter_of_calls = counts.counter_of_calls()
        if options.counts and not self.counter_of_calls:
            say("System calls are not counted: neither perf nor strace can do that here.")
        stack.callback(stop, self.postgres.process, signal.SIGINT)
        upstream = start([f"{options.programs}/upstream"], stdout=subprocess.PIPE, text=True)
        stack.callback(stop, upstream)
        self.model_server, self.upstream = upstream, int(upstream.stdout.readline())

    def environment(self, name):
        """The environment of a program, without settings for another chatterd."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("CHATTERD_", "PG", "DATABASE_URL", "OLLAMA_URL"))}
        return environment | ({"DATABASE_URL": self.postgres.url(name)} if name in OURS else {})

    @contextlib.contextmanager
    def server(self, name, settings={}, counting=False):
        port, log, environment = free_port(), f"{self.scratch}/{name}.log", self.environment(name)
        if name in OURS:
            command = [getattr(self.options, name), "serve"]
            environment.update(CHATTERD_LISTEN=f"127.0.0.1:{port}", OLLAMA_URL=f"http://127.0.0.1:{self.upstream}")
            environment.update(settings)
        else:
            home = tempfile.mkdtemp(dir=self.scratch)
            files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            with open(f"{home}/conf", "w") as file:
                file.write(NGINX.format(
                    dir=home, port=port, upstream=self.upstream, files=files, connections=min(files, 65536) - 100,
                    user="user root;" if os.geteuid() == 0 else ""))
            command = [self.options.nginx, "-p", home, "-e", f"{home}/error.log", "-c", f"{home}/conf"]
        if counting:
            environment.update(self.allocations.environment)
        with open(log, "w") as file:
            process = start(command, stdout=file, stderr=file, env=environment)
        process.port = port
        try:
            wait_for(process, port, log)
            yield process
        finally:
            stop(process)

    def load(self, server, work, name, prefix, arguments, expected_messages=1, meter=None, path=None):
        """The results of `load`, with the figures of a meter of counts.py."""
        path = path or ("/llmchat" if name in OURS else "/api/chat")
        command = [f"{self.options.programs}/load", "-p", str(server.port), "-u", path, "-m", work.model, "-a", prefix,
                   "-e", str(expected_messages), *arguments]
        counted, windowed = {}, "-w" in arguments
        memory_before = memory(server.pid)
        if meter and not windowed:
            meter.begin()
        process = start(command, stdout=subprocess.PIPE, text=True)
        try:
            for line in process.stdout:
                result = json.loads(line)
                if "up" in result:
                    if meter:
                        meter.begin()
                    counted["up"] = result["up"]
                    counted["memory"] = memory(server.pid) - memory_before
                elif "down" in result:
                    if meter:
                        meter.end()
                    counted["down"] = result["down"]
        finally:
            stop(process)
        if windowed and not {"up", "down"} <= counted.keys():
            result["errors"], result["first_error"] = result["errors"] or 1, result["first_error"] or "the streams did not run at once"
        elif meter:
            if not windowed:
                meter.end()
            tokens = counted["down"] - counted["up"] if windowed else result["tokens"]
            answer = len(text_of(work.model).encode()) / int(re.match(r"t(\d+)", work.model)[1])
            # Prompts are in the window of no slow stream.
            text = tokens * answer + (0 if windowed else result["requests"] * len(PROMPT))
            result.update(meter.figures(result["requests"] if work.unit == "request" else tokens, text))
        if "memory" in counted:
            result["kib"] = counted["memory"] / int(arguments[arguments.index("-c") + 1])
        return result

    def stored(self, prefix, model, requests, name="chatterd", behind=0):
        """Whether there is exactly one whole reply for each request; an answer may end a moment before its row is written."""
        text = hashlib.md5(text_of(model).encode()).hexdigest()
        for _ in range(40):
            rows = self.postgres.query(
                f"SELECT count(*) FILTER (WHERE md5(message) = '{text}' AND state = 'complete'), count(*) FROM chatts"
                f" WHERE name = 'assistant' AND state IS NOT NULL AND appid LIKE '%{prefix}%' AND seq > {behind}", name)
            if rows == f"{requests}|{requests}":
                return "all"
            time.sleep(0.25)
        return f"NOT ALL: {rows.split('|')[0]} of {requests}"

    def clear(self, name):
        """Removes the conversations of earlier runs."""
        if name in OURS and name in self.migrated:
            # A vacuum after the truncation would have PostgreSQL plan for empty tables.
            self.postgres.query("SET client_min_messages = warning; VACUUM; TRUNCATE chatts, chatterd_conversations CASCADE; CHECKPOINT", name)
        self.migrated.add(name)

    @contextlib.contextmanager
    def meter(self, server, name, counting=False):
        meter = counts.Counts(self, server) if counting else counts.Costs(self, server, name if name in OURS else None)
        try:
            yield meter
        finally:
            meter.close()

    def run(self, work, name):
        """The results of one work on one server, as (title, result)."""
        self.runs += 1
        prefix = f"run{self.runs}-"
        self.clear(name)
        with self.server(name) as server:
            # The memory that many streams have left would hide the cost of one more.
            many = "1" if work.name == "idle" else "32"
            self.load(server, Work("", "", "request", "t20r0b1"), name, f"warm{self.runs}-", ["-c", many, "-n", "300"])
            if work.name == "idle":
                yield work.title, self.idle(server, name)
                return
            with self.meter(server, name) as meter:
                result = self.load(server, work, name, prefix, work.load, meter=meter)
            result["stored"] = self.stored(prefix, work.model, result["requests"], name) if name in OURS else "–"
            yield work.title, result

    def results(self, work, name, sizes, first):
        """The results of a work, as (title, result). Counts are taken in the first round only: they hardly vary."""
        counting = first and self.options.counts
        if work.name == "readers":
            yield from readers.run(self, self.options.quick, name)
        elif work.name == "doors":
            yield from doors.run(self, self.options.quick, name, counting)
        elif work.name == "prompts":
            yield from prompts.run(self, self.options.quick, name, counting)
        elif work.name == "parked":
            yield from parked.run(self, name)
        elif work.name == "scrape":
            yield from scrape.run(self, name)
        elif work.name == "journal":
            yield from journal.run(self, work, name, self.options.seconds or (40 if self.options.quick else 120))
        elif work.name in histories.NAMES:
            yield from histories.run(self, work, name, sizes, self.options.quick, counting)
        else:
            for title, result in self.run(work, name):
                for _, counted in self.count(work, name) if counting else ():
                    merge(result, counted)
                yield title, result

    def count(self, work, name):
        """The counts of a separate, shorter run of a work; none for works without one."""
        if work.name not in COUNTED:
            return
        self.runs += 1
        prefix = f"run{self.runs}-"
        model, arguments = COUNTED[work.name]
        shorter = Work(work.name, work.title, work.unit, model)
        self.clear(name)
        before = counts.tables(self, name) if name in OURS else {}
        with self.server(name, counting=True) as server:
            self.load(server, Work("", "", "request", "t20r0b1"), name, f"warm{self.runs}-", ["-c", "4", "-n", "8"])
            with self.meter(server, name, counting=True) as meter:
                result = self.load(server, shorter, name, prefix, arguments.split(), meter=meter)
            result["stored"] = self.stored(prefix, model, result["requests"], name) if name in OURS else "–"
        if name in OURS:
            result.update(counts.storage(before, counts.tables(self, name), result["requests" if work.unit == "request" else "tokens"]))
        yield work.title, result

    def post(self, connection, path, body):
        connection.request("POST", path, json.dumps(body, separators=(",", ":")), {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        return response.status == 200

    def idle(self, server, name):
        before, connections, errors = memory(server.pid), [], 0
        for i in range(IDLE):
            connections.append(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30))
            question = {"appID": f"idle-{i}", "model": "t1r0b1", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
            errors += not self.post(connections[-1], "/llmchat" if name in OURS else "/api/chat", question)
        kib = (memory(server.pid) - before) / len(connections)
        for connection in connections:
            connection.close()
        return {"kib": kib, "errors": errors, "first_error": "not 200" if errors else "", "stored": "–"}


COUNTS = ("allocations", "allocated", "calls", "hot", "for_vacuum", "dead_chatts", "dead_others", "vacuumed")


def merge(result, counted):
    """Adds the counts and the errors of a separate run."""
    if counted is result:
        return
    result.update((key, counted[key]) for key in COUNTS if key in counted)
    result["errors"] += counted["errors"]
    result["first_error"] = result["first_error"] or counted["first_error"]
    if counted["stored"] not in ("all", "–"):
        result["stored"] = counted["stored"]


def table(works, results):
    def cell(rows, key, scale=1.0):
        values = [row[key] / scale for row in rows if key in row]
        if not values:
            return "–"
        form = lambda value: f"{value:,.{3 if value < 0.1 else 2 if value < 10 else 1 if value < 100 else 0}f}"  # noqa: E731
        spread = f" ({form(min(values))}–{form(max(values))})" if len(values) > 1 else ""
        return form(statistics.mean(values)) + spread

    def dead(rows):
        return next((f"{row['dead_chatts']:,} + {row['dead_others']:,}{'*' * row['vacuumed']}" for row in rows if "dead_chatts" in row), "–")

    def sent(rows):
        least, most = ([row[key] for row in rows if key in row] for key in ("least_messages", "most_messages"))
        return f"{min(least):,}–{max(most):,}" if least else "–"

    head = ["work", "server", "CPU µs", "× nginx", "PostgreSQL µs", "WAL bytes a byte", "HOT %", "rows for vacuum", "dead: chatts + others", "allocations",
            "system calls", "messages sent", "KiB each", "delay p50 ms", "p99 ms", "errors", "stored"]
    lines = [head, ["---"] * len(head)]
    for work in works:
        for name in work.servers:
            rows = results.get((work.title, name), [])
            if not rows:
                continue
            key = "cpu_us" if "cpu_us" in rows[0] else "kib"
            beside = results.get((work.title, "nginx"), [])
            ratio = "–"
            if beside and name != "nginx":
                ratio = f"{statistics.mean(r[key] for r in rows) / statistics.mean(r[key] for r in beside):.2f}"
            stored = {row["stored"] for row in rows}
            slow = [row for row in rows if work.name.startswith("slow")]  # in the others it only shows the length of a queue
            lines.append([
                f"{work.title}; a {work.unit}", name, cell(rows, "cpu_us"), ratio,
                cell(rows, "postgres_us") if name in OURS else "–", cell(rows, "wal"), cell(rows, "hot", 0.01), cell(rows, "for_vacuum"), dead(rows),
                cell(rows, "allocations"), cell(rows, "calls"), sent(rows) if work.name in histories.NAMES else "–", cell(rows, "history_kib" if work.name in histories.NAMES else "kib"), cell(slow, "delay_p50_us", 1000),
                cell(slow, "delay_p99_us", 1000), str(sum(row["errors"] for row in rows)), " ".join(sorted(stored))])
    return markdown(lines)


def interval(values):
    """The least and the greatest value between which the median lies with 95 % confidence: order statistics, no assumption about noise."""
    values, n = sorted(values), len(values)
    below, k = 0.0, 0
    while k < n // 2 and (below := below + math.comb(n, k) / 2**n) <= 0.025:
        k += 1
    k = max(k - 1, 0)
    return values[k], values[n - 1 - k]


APART = ("readers", "doors", "prompts", "parked", "scrape", "journal")  # the works with tables of their own
FIGURES = {
    "cpu_us": "CPU µs", "postgres_us": "PostgreSQL µs", "wal": "WAL bytes a byte of text", "for_vacuum": "rows for vacuum",
    "allocations": "allocations", "calls": "system calls", "kib": "KiB each", **journal.FIGURES}


def comparison(works, results, limit=1.03):
    """The table of chatterd against the build before, pair by pair, and the rows that are certainly worse."""
    lines, worse = [["work", "figure", "before", "now", "ratio, median", "95 % interval"], ["---"] * 6], []
    for title in dict.fromkeys(title for title, name in results if name == "before"):
        now, before = results[title, "chatterd"], results[title, "before"]
        for key, figure in FIGURES.items():
            pairs = [(a[key], b[key]) for a, b in zip(now, before) if key in a and b.get(key, 0) > 0]
            if not pairs:
                continue
            ratios = [a / b for a, b in pairs]
            low, high = interval(ratios)
            # Fewer pairs have no interval of 95 %.
            if low > limit and len(pairs) >= 6:
                worse.append(f"{title}: {figure}")
            medians = [statistics.median(values) for values in zip(*pairs)]
            between = f"{low:.3f}–{high:.3f}" if len(pairs) > 1 else "–"
            lines.append([title, figure, f"{medians[1]:.4g}", f"{medians[0]:.4g}", f"{statistics.median(ratios):.3f}", between])
    return markdown(lines), worse


def markdown(lines):
    if len(lines) < 3:
        return ""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "| " + " | ".join("-" * w if c == "---" else c.ljust(w) for c, w in zip(line, widths)) + " |" for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="NAME[,NAME]")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--messages", default=",".join(map(str, histories.SIZES)), metavar="N[,N]", help="the lengths of the histories")
    parser.add_argument("--seconds", type=int, help="the time of the work journal")
    parser.add_argument("--no-counts", dest="counts", action="store_false", help="no separate runs that count")
    parser.add_argument("--before", metavar="PROGRAM", help="another build of chatterd, measured in nginx's place")
    for program in ("chatterd", "programs"):
        parser.add_argument(f"--{program}", required=True)
    parser.add_argument("--nginx", default="nginx")
    options = parser.parse_args()
    sizes = tuple(map(int, options.messages.split(",")))
    chosen, names = works(options.quick, sizes), options.only.split(",") if options.only else []
    if unknown := set(names) - {work.name for work in chosen}:
        parser.error(f"no such work: {', '.join(unknown)} (there are {', '.join(dict.fromkeys(w.name for w in chosen))})")
    # The work scrape needs 20,000 descriptors and four minutes.
    chosen = [work for work in chosen if work.name in names or (not names and work.name != "scrape")]
    rounds = options.rounds or (7 if options.before else 1 if options.quick else 2)
    if options.before:
        for work in chosen:
            work.servers = ("before", "chatterd")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    begun, results = time.monotonic(), {}
    try:
        with contextlib.ExitStack() as stack:
            scratch = tempfile.mkdtemp(prefix="chatterd-bench-")
            stack.callback(shutil.rmtree, scratch, ignore_errors=True)
            os.chmod(scratch, 0o755)
            bench = Bench(options, scratch, stack)
            for round_ in range(rounds):
                for work in {work.name: work for work in chosen}.values():
                    # Every other round is reversed, so that no build is always the second.
                    for name in work.servers if round_ % 2 == 0 else work.servers[::-1]:
                        for title, result in bench.results(work, name, sizes, first=round_ == 0):
                            results.setdefault((title, name), []).append(result)
                            figure = f"{result['cpu_us']:.2f} µs a {work.unit}" if "cpu_us" in result else f"{result['kib']:.1f} KiB a {work.unit}"
                            trouble = f", {result['errors']} ERRORS: {result['first_error']}" if result["errors"] else ""
                            say(f"{time.monotonic() - begun:4.0f} s  {round_ + 1}/{rounds}  {work.name:9} {name:9} {figure}{trouble}")
    except KeyboardInterrupt:
        say("stopped")
    if results:
        print(f"\n{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, "
              f"{rounds} rounds, {time.monotonic() - begun:.0f} s\n\n{table([work for work in chosen if work.name not in APART], results)}")
        for module in (doors, prompts, parked):
            rows = {title: rows for (title, name), rows in results.items() if title in module.TITLES and name == "chatterd"}
            for text in filter(None, map(markdown, module.tables(rows))):
                print(f"{text}\n")
        print(markdown(scrape.table({name: rows for (title, name), rows in results.items() if title == scrape.TITLE}, interval)))
        print(markdown(journal.table({name: rows for (title, name), rows in results.items() if title == journal.TITLE})))
        print(markdown(readers.table({title: rows for (title, name), rows in results.items() if "unlike" in rows[0] and name == "chatterd"})))
    worse = []
    if options.before and results:
        text, worse = comparison(chosen, results)
        print(f"{text}\n")
        for row in worse:
            print(f"WORSE by more than 3 %: {row}")
    wrong = any(row["errors"] or row["stored"].startswith("NOT") for rows in results.values() for row in rows)
    sys.exit(1 if wrong or worse or not results else 0)


if __name__ == "__main__":
    main()
