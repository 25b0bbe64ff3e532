#!/usr/bin/env python3
"""Measures chatterd beside nginx, which passes the same bytes on and stores none. See docs/benchmarks.md.

Started by script/bench, which builds what it needs."""
import argparse, contextlib, ctypes, hashlib, http.client, json, math, os, pwd, re, resource, shutil, signal, socket, statistics
import subprocess, sys, tempfile, time
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
import readers  # noqa: E402

SERVERS = ("chatterd", "nginx")
OURS = ("chatterd", "before")  # "before" is another build of chatterd, see --before
IDLE = 2000


@dataclass
class Work:
    name: str
    title: str
    unit: str  # the divisor of the CPU time
    model: str = "t1r0b1"
    load: list = field(default_factory=list)  # arguments of Benchmarks/load.c
    servers: tuple = SERVERS


def works(quick):
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
        Work("history", "history of 1,000 messages, first prompt after a start", "request", servers=("chatterd",)),
        Work("history", "history of 1,000 messages, the next prompts", "request", servers=("chatterd",)),
    ]


def say(*words):
    print(*words, file=sys.stderr, flush=True)


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
    return subprocess.Popen(
        command, start_new_session=True, preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL),
        stdin=subprocess.DEVNULL, **options)


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
        data, log, self.port = f"{scratch}/postgres", f"{scratch}/postgres.log", free_port()
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

    def query(self, text, database="chatterd"):
        command = [f"{self.bin}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", database]
        environment = dict(os.environ, PGCLIENTENCODING="UTF8")
        return subprocess.run(command, input=text, text=True, encoding="utf-8", check=True, stdout=subprocess.PIPE, env=environment).stdout.strip()


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
    cpu, memory, start, stop = map(staticmethod, (cpu, memory, start, stop))

    def __init__(self, options, scratch, stack):
        self.options, self.scratch, self.stack, self.runs = options, scratch, stack, 0
        self.postgres = Postgres(scratch)
        self.migrated = set()
        stack.callback(stop, self.postgres.process, signal.SIGINT)
        upstream = start([f"{options.programs}/upstream"], stdout=subprocess.PIPE, text=True)
        stack.callback(stop, upstream)
        self.upstream = int(upstream.stdout.readline())

    @contextlib.contextmanager
    def server(self, name, settings={}):
        port, log = free_port(), f"{self.scratch}/{name}.log"
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("CHATTERD_", "PG", "DATABASE_URL", "OLLAMA_URL"))}
        if name in OURS:
            command = [getattr(self.options, name), "serve"]
            environment.update(
                CHATTERD_LISTEN=f"127.0.0.1:{port}", DATABASE_URL=self.postgres.url(name), OLLAMA_URL=f"http://127.0.0.1:{self.upstream}", **settings)
        else:
            home = tempfile.mkdtemp(dir=self.scratch)
            files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            with open(f"{home}/conf", "w") as file:
                file.write(NGINX.format(
                    dir=home, port=port, upstream=self.upstream, files=files, connections=min(files, 65536) - 100,
                    user="user root;" if os.geteuid() == 0 else ""))
            command = [self.options.nginx, "-p", home, "-e", f"{home}/error.log", "-c", f"{home}/conf"]
        with open(log, "w") as file:
            process = start(command, stdout=file, stderr=file, env=environment)
        process.port = port
        try:
            wait_for(process, port, log)
            yield process
        finally:
            stop(process)

    def load(self, server, work, name, prefix, arguments, expected_messages=1):
        """The results of `load`, with the CPU time of the server and of PostgreSQL."""
        path = "/llmchat" if name in OURS else "/api/chat"
        command = [f"{self.options.programs}/load", "-p", str(server.port), "-u", path, "-m", work.model, "-a", prefix,
                   "-e", str(expected_messages), *arguments]
        use = lambda: (cpu(server.pid), cpu(self.postgres.process.pid))  # noqa: E731
        memory_before, before, after, counted = memory(server.pid), use(), None, {}
        process = start(command, stdout=subprocess.PIPE, text=True)
        try:
            for line in process.stdout:
                result = json.loads(line)
                if "up" in result:
                    before, counted["up"] = use(), result["up"]
                    counted["memory"] = memory(server.pid) - memory_before
                elif "down" in result:
                    after, counted["down"] = use(), result["down"]
        finally:
            stop(process)
        after = after or use()
        units = result["requests"] if work.unit == "request" else counted.get("down", result["tokens"]) - counted.get("up", 0)
        result["cpu_us"], result["postgres_us"] = ((b - a) * 1e6 / max(1, units) for a, b in zip(before, after))
        if "memory" in counted:
            result["kib"] = counted["memory"] / int(arguments[arguments.index("-c") + 1])
        return result

    def stored(self, prefix, model, requests, name="chatterd"):
        """Whether there is exactly one whole reply for each request; an answer may end a moment before its row is written."""
        tokens = int(re.match(r"t(\d+)", model)[1])
        text = hashlib.md5("".join(map(token, range(tokens))).encode()).hexdigest()
        for _ in range(40):
            rows = self.postgres.query(
                f"SELECT count(*) FILTER (WHERE md5(message) = '{text}' AND state = 'complete'), count(*) FROM chatts"
                f" WHERE name = 'assistant' AND state IS NOT NULL AND appid LIKE '{prefix}%'", name)
            if rows == f"{requests}|{requests}":
                return "all"
            time.sleep(0.25)
        return f"NOT ALL: {rows.split('|')[0]} of {requests}"

    def run(self, work, name):
        """The results of one work on one server, as (title, result)."""
        self.runs += 1
        prefix = f"run{self.runs}-"
        if name in OURS and name in self.migrated:
            self.postgres.query("TRUNCATE chatts; CHECKPOINT", name)
        self.migrated.add(name)
        if work.name == "history":
            yield from self.history(prefix, name)
            return
        with self.server(name) as server:
            # The memory that many streams have left would hide the cost of one more.
            many = "1" if work.name == "idle" else "32"
            self.load(server, Work("", "", "request", "t20r0b1"), name, f"warm{self.runs}-", ["-c", many, "-n", "300"])
            if work.name == "idle":
                yield work.title, self.idle(server, name)
                return
            result = self.load(server, work, name, prefix, work.load)
            result["stored"] = self.stored(prefix, work.model, result["requests"], name) if name in OURS else "–"
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

    def history(self, prefix, name):
        count = 15 if self.options.quick else 40
        work = works(False)[-1]
        messages = [{"role": ("user", "assistant")[i % 2], "content": f"{i} " + "the quick brown fox " * 10} for i in range(1000)]
        with self.server(name) as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            long = f"warm{self.runs}-long-"
            for app in [f"{prefix}{i}" for i in range(count)] + [f"{long}{i}" for i in range(4)]:
                if not self.post(connection, "/llmprep", {"appID": app, "model": "t1r0b1", "messages": messages}):
                    sys.exit("/llmprep failed")
            connection.close()
        with self.server(name) as server:
            self.load(server, Work("", "", "request"), name, f"warm{self.runs}-", ["-c", "4", "-n", "60"])
            # A new database connection costs milliseconds, also the one for long conversations.
            self.load(server, work, name, long, ["-c", "1", "-n", "4"], 1001)
            for turn, title in enumerate(w.title for w in works(self.options.quick) if w.name == "history"):
                result = self.load(server, work, name, prefix, ["-c", "1", "-n", str(count)], 1001 + 2 * turn)
                result["stored"] = self.stored(prefix, work.model, count * (turn + 1), name)
                yield title, result


def table(works, results):
    def cell(rows, key, scale=1.0):
        values = [row[key] / scale for row in rows if key in row]
        if not values:
            return "–"
        form = lambda value: f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"  # noqa: E731
        spread = f" ({form(min(values))}–{form(max(values))})" if len(values) > 1 else ""
        return form(statistics.mean(values)) + spread

    head = ["work", "server", "CPU µs", "× nginx", "PostgreSQL µs", "KiB each", "delay p50 ms", "p99 ms", "errors", "stored"]
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
                cell(rows, "postgres_us") if name in OURS else "–", cell(rows, "kib"), cell(slow, "delay_p50_us", 1000),
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


def comparison(works, results, limit=1.03):
    """The table of chatterd against the build before, pair by pair, and the rows that are certainly worse."""
    lines, worse = [["work", "figure", "before", "now", "ratio, median", "95 % interval"], ["---"] * 6], []
    for title in dict.fromkeys(title for title, name in results if name == "before"):
        now, before = results[title, "chatterd"], results[title, "before"]
        for key, figure in (("cpu_us", "CPU µs"), ("postgres_us", "PostgreSQL µs"), ("kib", "KiB each")):
            pairs = [(a[key], b[key]) for a, b in zip(now, before) if key in a and b.get(key, 0) > 0]
            if not pairs:
                continue
            ratios = [a / b for a, b in pairs]
            low, high = interval(ratios)
            if low > limit:
                worse.append(f"{title}: {figure}")
            medians = [statistics.median(values) for values in zip(*pairs)]
            lines.append([title, figure, f"{medians[1]:.3g}", f"{medians[0]:.3g}", f"{statistics.median(ratios):.3f}", f"{low:.3f}–{high:.3f}"])
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
    parser.add_argument("--before", metavar="PROGRAM", help="another build of chatterd, measured in nginx's place")
    for program in ("chatterd", "nginx", "programs"):
        parser.add_argument(f"--{program}", required=True)
    options = parser.parse_args()
    chosen, names = works(options.quick), options.only.split(",") if options.only else []
    if unknown := set(names) - {work.name for work in chosen}:
        parser.error(f"no such work: {', '.join(unknown)} (there are {', '.join(dict.fromkeys(w.name for w in chosen))})")
    chosen = [work for work in chosen if not names or work.name in names]
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
                        for title, result in readers.run(bench, options.quick, name) if work.name == "readers" else bench.run(work, name):
                            results.setdefault((title, name), []).append(result)
                            figure = f"{result['cpu_us']:.2f} µs a {work.unit}" if "cpu_us" in result else f"{result['kib']:.1f} KiB a {work.unit}"
                            trouble = f", {result['errors']} ERRORS: {result['first_error']}" if result["errors"] else ""
                            say(f"{time.monotonic() - begun:4.0f} s  {round_ + 1}/{rounds}  {work.name:9} {name:9} {figure}{trouble}")
    except KeyboardInterrupt:
        say("stopped")
    if results:
        print(f"\n{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, "
              f"{rounds} rounds, {time.monotonic() - begun:.0f} s\n\n{table([work for work in chosen if work.name != 'readers'], results)}")
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
