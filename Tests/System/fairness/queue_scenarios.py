"""The scenarios: one app with many prompts beside small ones, equal apps, and the death of a process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from fairness.fair_cluster import FairCluster, Prompt
from harness.machine import TIMEOUT


@dataclass
class Findings:
    """Figures for the table, and the faults."""

    figures: list[tuple[str, str, str]] = field(default_factory=list)  # what, found, demanded
    faults: list[str] = field(default_factory=list)

    def figure(self, what: str, found: str, demanded: str, is_met: bool) -> None:
        """Notes a figure."""
        self.figures.append((what, found, demanded))
        if not is_met:
            self.faults.append(f"{what}: {found}, not {demanded}")

    def require(self, is_met: bool, fault: str) -> None:
        """Notes a fault unless the condition holds."""
        if not is_met:
            self.faults.append(fault)


def jain(shares: list[int]) -> float:
    """Jain's index of fairness: 1 for equal shares, 1/n if one has all."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


async def whole(prompts: list[Prompt], findings: Findings) -> None:
    """Waits for all, and checks that each was answered, once."""
    await asyncio.gather(*(prompt.reading for prompt in prompts if prompt.reading))
    for prompt in prompts:
        findings.require(prompt.outcome == "complete" and prompt.text == prompt.token,
                         f"{prompt.token}: {prompt.outcome}, {prompt.text!r}")


async def crowd(cluster: FairCluster, findings: Findings, name: str, size: int, few: int, is_parallel: bool) -> None:
    """One app with many prompts, in one conversation or on branches of it, and small apps that come later with two.

    The order does not depend on time: each answer begins only when all prompts that may come before it are in the queue.
    """
    slots = cluster.slots
    slots.close()
    more = {"parent": "start"} if is_parallel else {}
    many: list[Prompt] = []
    for number in range(size):
        many.append(await cluster.post(Prompt(name, number, number % 3), **more))
        if number == 0:
            # This prompt is at the model server then.
            await slots.wait_for(1, {many[0].token})
        elif is_parallel:
            await many[-1].is_queued.wait()
    crowded = {prompt.token for prompt in many}
    small: list[Prompt] = []
    overtaken: list[int] = []
    for number in range(few):
        # The crowd has another answer between two small apps.
        await _step(cluster, crowded)
        pair = [Prompt(f"{name}.few{number}", index, number % 3) for index in range(2)]
        small += pair
        tokens = crowded | {prompt.token for prompt in pair}
        before = len(slots.started(tokens))
        # The second waits for the first, and comes into the queue after it.
        for prompt in pair:
            await cluster.post(prompt)
        for prompt in pair:
            await _enter(cluster, prompt)
            while prompt.token not in slots.started(tokens):
                await _step(cluster, tokens)
            # The answer to the small app ends, and another one begins.
            await _step(cluster, tokens)
        first, second = (slots.started(tokens).index(prompt.token) for prompt in pair)
        overtaken += [first - before, second - first - 1]
    findings.require(len(slots.started(crowded)) < size, f"{name}: the crowd was gone before the last small app")
    slots.open()
    await whole(many + small, findings)
    most = max(overtaken)
    kind = "branches" if is_parallel else "turns"
    findings.figure(f"{size} {kind} against 2: of the others before each of the two, at most", str(most), "at most 2", most <= 2)


async def _enter(cluster: FairCluster, prompt: Prompt) -> None:
    """Waits until a prompt is in the queue or at the model server."""
    waits = [asyncio.create_task(prompt.is_queued.wait()), asyncio.create_task(cluster.slots.wait_for(1, {prompt.token}))]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


async def _step(cluster: FairCluster, tokens: set[str]) -> None:
    """Lets one answer of these end, and waits until the next one has begun."""
    count = len(cluster.slots.started(tokens))
    cluster.slots.open(1)
    await cluster.slots.wait_for(count + 1, tokens)


async def equals(cluster: FairCluster, findings: Findings, apps: int, prompts: int) -> None:
    """Apps with as many prompts each, one app after the other: the slots of each app while all of them wait."""
    cluster.slots.close()
    everything: list[Prompt] = []
    for app in range(apps):
        for number in range(prompts):
            everything.append(await cluster.post(Prompt(f"equal{app}", number, (app + number) % 3), parent="start"))
    # The first one is at the model server.
    await asyncio.gather(*(prompt.is_queued.wait() for prompt in everything[1:]))
    cluster.slots.open()
    await whole(everything, findings)
    had = dict.fromkeys((f"equal{app}" for app in range(apps)), 0)
    for token in cluster.slots.started({prompt.token for prompt in everything}):
        app = token.split("/")[0]
        had[app] += 1
        if had[app] == prompts:
            break
    index = jain(list(had.values()))
    findings.figure(f"Jain's index of {apps} equal apps, {sum(had.values())} slots", f"{index:.4f}", "at least 0.95", index >= 0.95)


NOT_BACK = """
SELECT count(*) AS replies FROM chatts c
WHERE c.state = 'streaming' AND NOT EXISTS (
    SELECT FROM chatterd_queue q JOIN chatterd_processes l ON l.id = q.holder AND l.expires_at > now()
    WHERE q.reply = c.id AND q.holder = c.holder)
"""
"""Replies that no living process has in the queue."""


async def death(cluster: FairCluster, findings: Findings, apps: int, prompts: int, left: int) -> None:
    """A process is killed with prompts in its queue: the other prompts continue in order, its own are adopted with their ranks."""
    victim = 1
    lines: list[Prompt] = []
    cluster.slots.close()
    for number in range(prompts):
        for app in range(apps):
            # One after the other, so that the order is known: that of rounds, and of coming within a round.
            process = (victim if number < left else 0) if app == 0 else (0, 2)[app % 2]
            prompt = Prompt(f"line{app}", number, process)
            lines.append(await cluster.post(prompt, parent="start", on_interrupt="regenerate"))
            if len(lines) == 1:
                await cluster.slots.wait_for(1, {prompt.token})
            else:
                await prompt.is_queued.wait()
    # The last prompt, which waits when its process dies.
    closed = await cluster.post(Prompt("line0", prompts, victim), parent="start")
    await closed.is_queued.wait()
    cluster.slots.open()
    expected = [prompt.token for prompt in lines]
    await cluster.slots.wait_for(apps + 1, set(expected))
    await cluster.processes[victim].replace()
    # The others do not wait for its lease to run out.
    await cluster.slots.wait_for(2 * apps, set(expected))
    cluster.slots.close()
    await cluster.processes[victim].wait_until_ready()
    while (await cluster.database.rows(NOT_BACK))[0]["replies"] > 0:
        await asyncio.sleep(0.1)
    # One prompt is at the model server already.
    before = len(cluster.slots.started(set(expected)))
    cluster.slots.open()
    theirs = [prompt for prompt in lines if prompt.process == victim]
    others = [prompt for prompt in lines if prompt.process != victim]
    await whole(others, findings)
    for prompt in theirs + [closed]:
        await cluster.read_again(prompt, 0)
    await whole(theirs, findings)
    findings.require(closed.outcome == "interrupted", f"{closed.token}: {closed.outcome}, not interrupted")

    order = cluster.slots.started(set(expected))
    for name, part in (("processes that lived", others), ("the process that was killed", theirs)):
        tokens = [prompt.token for prompt in part]
        found = [token for token in order if token in set(tokens)]
        right = sum(one == other for one, other in zip(found, tokens))
        findings.figure(f"prompts of {name}, answered in their order", f"{right}", f"{len(part)}", right == len(part))
    rest = order[before:]
    back = [prompt for prompt in theirs if prompt.token in rest]
    positions = [expected.index(token) for token in rest]
    overtaken = sum(one > other for one, other in zip(positions, positions[1:]))
    findings.figure(f"of {len(rest)} prompts, {len(back)} of them taken over, out of order", str(overtaken), "0", overtaken == 0)
    findings.require(len(back) > 1, "no prompts were taken over")


async def tidy(cluster: FairCluster, findings: Findings) -> None:
    """Waits until the queue is empty: the tickets of dead processes are swept."""
    until = asyncio.get_running_loop().time() + TIMEOUT
    while (left := (await cluster.database.rows("SELECT count(*) AS left FROM chatterd_queue"))[0]["left"]):
        if asyncio.get_running_loop().time() > until:
            break
        await asyncio.sleep(0.1)
    findings.figure("tickets left in the queue", str(left), "0", left == 0)
    findings.figure("answers at once, at most", str(cluster.slots.most), "1", cluster.slots.most == 1)
