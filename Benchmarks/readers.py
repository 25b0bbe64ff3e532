"""Many readers of one reply, with and without slow ones that pause for seconds: part of bench.py."""
import http.client, json, statistics, subprocess

READERS, SLOW = 1000, 100
# The runs: the number of slow readers, and the bytes that the server keeps for each.
RUNS = (
    (f"{READERS:,} quick", 0, None),
    (f"{READERS - SLOW} quick, {SLOW} slow", SLOW, None),
    (f"{READERS - SLOW} quick, {SLOW} slow, 16 KiB kept for each", SLOW, "16KiB"),
)


def run(bench, quick, name):
    """The result of each run on one build of chatterd, as (title, result)."""
    bench.runs += 1
    seconds, join, pause = (9, 2, 3) if quick else (25, 3, 6)
    for number, (title, slow, kept) in enumerate(RUNS):
        with bench.server(name, {"CHATTERD_UNSENT_LIMIT": kept} if kept else {}) as server:
            yield title, reply(bench, server, name, f"readers{bench.runs}-{number}", slow, seconds, join, pause)


def reply(bench, server, name, app, slow, seconds, join, pause):
    ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    question = {"appID": app, "model": f"t{seconds * 10}r10b1s3000", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    memory = {"before": bench.memory(server.pid)}
    ask.request("POST", "/llmchat", json.dumps(question, separators=(",", ":")), {"Content-Type": "application/json"})
    path = ask.getresponse().getheader("Location")
    use = lambda: (bench.cpu(server.pid), bench.cpu(bench.postgres.process.pid))  # noqa: E731
    command = [f"{bench.options.programs}/readers", "-p", str(server.port), "-u", path, "-c", str(READERS), "-s", str(slow), "-r", str(join),
               "-d", str(pause), "-m", str(seconds / 2), "-e", str(seconds - 1), "-t", str(2 * seconds + 30)]
    process, used, got = bench.start(command, stdout=subprocess.PIPE, text=True), {}, {}
    try:
        for line in process.stdout:
            result = json.loads(line)
            if at := result.get("at"):
                used[at], got[at], memory[at] = use(), result["tokens"], bench.memory(server.pid)
    finally:
        bench.stop(process)
    ask.close()
    events = max(1, got.get("end", 0) - got.get("up", 0))
    result["cpu_us"], result["postgres_us"] = ((b - a) * 1e6 / events for a, b in zip(used["up"], used["end"]))
    result["memory"] = memory
    if result["unlike"]:
        result["errors"] += result["unlike"]
        result["first_error"] = result["first_error"] or f"{result['unlike']} have another text"
    stored = bench.postgres.query(f"SELECT message FROM chatts WHERE appid = '{app}' AND name = 'assistant' AND state = 'complete'", name)
    # query() removes the blank at its front.
    result["stored"] = "all" if checksum(f" {stored}") == result["text"] else "NOT ALL"
    return result


def checksum(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def table(results):
    """A table of the results of each title."""
    head = ["readers", "delay p50 ms", "more", "p99 ms", "server CPU µs an event", "PostgreSQL µs", "PSS MiB before",
            "all there", "middle", "end", "slow ones' p50 ms", "got behind", "errors", "stored"]
    rows, first = [head, ["---"] * len(head)], None
    for title, runs in results.items():
        mean = lambda value: statistics.mean(map(value, runs))  # noqa: E731, B023
        median = mean(lambda r: r["delay_p50_us"]) / 1000
        first = median if first is None else first
        rows.append([
            title, f"{median:.2f}", f"{median - first:+.2f}", f"{mean(lambda r: r['delay_p99_us']) / 1000:.1f}", f"{mean(lambda r: r['cpu_us']):.2f}",
            f"{mean(lambda r: r['postgres_us']):.2f}",
            *(f"{mean(lambda r: r['memory'].get(at, 0)) / 1024:.1f}" for at in ("before", "up", "middle", "end")),
            f"{mean(lambda r: r['slow_p50_us']) / 1000:.0f}" if runs[0]["slow_p50_us"] else "–", f"{mean(lambda r: r['behind']):.0f}",
            str(sum(r["errors"] for r in runs)), " ".join(sorted({r["stored"] for r in runs}))])
    return rows
