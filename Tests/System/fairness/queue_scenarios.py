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
    """One app with many prompts, in one conversation or on branches of it, and small ones that come later with two."""
    more = {"parent": "start"} if is_parallel else {}
    many: list[Prompt] = []
    for number in range(size):
        many.append(await cluster.post(Prompt(name, number, number % 3), **more))
    crowded = {prompt.token for prompt in many}
    await cluster.slots.wait_for(3, crowded)
    small: list[Prompt] = []
    waits: list[float] = []
    overtaken: list[int] = []
    for number in range(few):
        before = len(cluster.slots.started(crowded))
        findings.require(before < size - 4, f"{name}: the crowd was gone before the last small app came")
        pair = [await cluster.post(Prompt(f"{name}.few{number}", index, number % 3)) for index in range(2)]
        small += pair
        await asyncio.gather(*(prompt.reading for prompt in pair if prompt.reading))
        if any(prompt.outcome != "complete" for prompt in pair):
            continue
        first, second = (cluster.slots.first(prompt.token) for prompt in pair)
        waits += [(first.began - pair[0].posted), (second.began - max(pair[1].posted, first.ended))]
        order = cluster.slots.started(crowded | {prompt.token for prompt in pair})
        overtaken += [order.index(pair[0].token) - before, order.index(pair[1].token) - order.index(pair[0].token) - 1]
    await whole(many + small, findings)
    kind = "branches" if is_parallel else "turns"
    _overtaken(findings, f"{size} {kind}", overtaken)
    if waits:
        service = cluster.slots.service
        for what, value in (("mean", sum(waits) / len(waits) / service), ("longest", max(waits) / service)):
            findings.figure(f"{size} {kind} against 2: {what} wait, in service times", f"{value:.2f}", "at most 2", value <= 2)


async def crowd_in_steps(cluster: FairCluster, findings: Findings, size: int) -> None:
    """The same with one small app. No answer begins before all prompts are in the queue, so that the order does not depend on time."""
    slots = cluster.slots
    slots.close()
    many: list[Prompt] = []
    for number in range(size):
        many.append(await cluster.post(Prompt("steps", number, number % 3), parent="start"))
        # One prompt is at the model server then.
        await (many[-1].is_queued.wait() if number else slots.wait_for(1, {many[0].token}))
    pair = [Prompt("steps.few", index, 0) for index in range(2)]
    tokens = {prompt.token for prompt in many + pair}
    slots.open(3)
    await slots.wait_for(4, tokens)
    # The second waits for the first, and comes into the queue behind it.
    for prompt in pair:
        await cluster.post(prompt)
    for prompt in pair:
        await prompt.is_queued.wait()
        while prompt.token not in slots.started(tokens):
            count = len(slots.started(tokens))
            slots.open(1)
            await slots.wait_for(count + 1, tokens)
        slots.open(1)
    order = slots.started(tokens)
    slots.open()
    await whole(many + pair, findings)
    first, second = (order.index(prompt.token) for prompt in pair)
    _overtaken(findings, f"{size} branches", [first - 4, second - first - 1])


def _overtaken(findings: Findings, crowd: str, counts: list[int]) -> None:
    most = max(counts, default=0)
    findings.figure(f"{crowd} against 2: of the others before each of the two, at most", str(most), "at most 2", most <= 2)


async def equals(cluster: FairCluster, findings: Findings, apps: int, prompts: int) -> None:
    """Apps with as many prompts each, one app after the other: the slots of each app while all of them waited."""
    everything: list[Prompt] = []
    for app in range(apps):
        for number in range(prompts):
            everything.append(await cluster.post(Prompt(f"equal{app}", number, (app + number) % 3), parent="start"))
    await asyncio.gather(*(prompt.is_queued.wait() for prompt in everything))
    tokens = {prompt.token for prompt in everything}
    before = len(cluster.slots.started(tokens))
    await whole(everything, findings)
    served = dict.fromkeys((f"equal{app}" for app in range(apps)), 0)
    had = dict(served)
    for index, token in enumerate(cluster.slots.started(tokens)):
        app = token.split("/")[0]
        had[app] += 1
        if index >= before:
            served[app] += 1
        if had[app] == prompts:
            break
    # The first apps had more of the time before all were there: from then on all are equal.
    index = jain(list(served.values()))
    findings.figure(f"Jain's index of {apps} equal apps, {sum(served.values())} slots", f"{index:.4f}", "at least 0.95", index >= 0.95)


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
