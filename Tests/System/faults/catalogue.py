"""The faults: the behaviour of the first server, and the expected result.

After the published Failover FaultTable in kind; the names, rules and scores here are this project's own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from faults.behaviours import GOOD, Behaviour
from faults.numbered_words import TOTAL

MIDDLE = TOTAL // 3
"""The words that a call says before something happens in the middle."""
SOON = r"p1,s1"
"""Asked once, and then the other server, once."""
ALONE_AGAIN = r"p1,p2"
NO_MORE = r"p1"
"""Asked only once, because a second answer would be the same."""
REPEATED = r"p1(,p\d)*"
"""Asked again until the budget is used up, which is counted elsewhere."""


@dataclass(frozen=True)
class Fault:
    """One fault of the first server. The second server, if any, is healthy.

    There are four forms of each: with the second server, as a stream and in one piece (`stream` is false); without it, if the
    first one succeeds at the next call; and without it, if it does not.
    """

    name: str
    behaviour: Behaviour
    code: str = ""  # of the error if no server succeeds; empty if there is none
    continuation: str = "none"  # how both servers continue a text
    plan: str = SOON  # the calls, with two servers
    again: str = "pass"  # the score of one server that succeeds at the next call; empty: not tried
    again_plan: str = ALONE_AGAIN
    alone: str = "safe"  # the score of one server that does not; empty: not tried
    alone_plan: str = REPEATED
    other: tuple[Behaviour, ...] = (GOOD,)  # the behaviour of the second server
    is_refused: bool = False  # no server listens at its address
    kinds: tuple[str, ...] = ("openai", "ollama")
    is_mixed: bool = False  # the second server is of the other kind
    limits: tuple[tuple[str, str], ...] = ()  # of the first server's entry
    later: tuple[Behaviour, ...] = ()  # the behaviour of the first server at its further calls, in all forms
    slots: int | None = None  # of each server
    is_drawn: bool = False  # only broken guarantees count
    turns: int = 0  # long turns before the tested one
    is_restarted: bool | None = None  # whether the second server restarts the answer after a `reset`; None: before the first word
    has_tool: bool = False  # the answer is a tool call
    score: str = "pass"  # the score with two servers
    other_continuation: str | None = None  # how the second server continues, if that differs
    restarts: bool = False  # the first server is unreachable at the first request, or restarts, and chatterd waits for it
    is_healthy: bool = False  # the first server is not blamed

    def is_tried(self, form: str) -> bool:
        """Whether the fault is tried in a form."""
        return bool({"again": self.again, "alone": self.alone}.get(form, "pass"))


def middle(name: str, then: str, code: str, continuation: str, **rest: object) -> Fault:
    """A fault after the first words."""
    behaviour = Behaviour(words=MIDDLE, then=then, says="scripted failure in the middle")
    usual: dict[str, object] = {"alone": "partial", "is_restarted": continuation == "none"}
    return Fault(name, behaviour, code, continuation, **(usual | rest))  # type: ignore[arg-type]


HTML = "<!doctype html><title>Welcome</title><p>This is not the page you are looking for.</p>"
CATALOGUE = (
    # Refused.
    Fault("429 with Retry-After", Behaviour(status=429, retry_after=1, says="scripted rate limit", type="rate_limit_error"), "upstream_busy"),
    Fault("429 that asks for an hour", Behaviour(status=429, retry_after=3600, says="scripted rate limit"), "upstream_busy", again="safe",
          again_plan=NO_MORE, alone_plan=NO_MORE),
    Fault("429 without Retry-After", Behaviour(status=429, says="scripted rate limit", type="rate_limit_error"), "upstream_busy"),
    Fault("500", Behaviour(status=500, says="scripted failure"), "upstream_error"),
    Fault("500 and other words each time", Behaviour(status=500, says="scripted failure"), "upstream_error", again="",
          later=(Behaviour(status=500, says="another"), Behaviour(status=500, says="a third"), Behaviour(status=500, says="a fourth"),
                 Behaviour(status=500, says="a fifth"))),
    Fault("bad request as 500", Behaviour(status=500, says="option \"temperature\" must be of type float32"), "upstream_rejected",
          other=(Behaviour(silent=True),), score="safe", plan=NO_MORE, again="safe", again_plan=NO_MORE, alone_plan=NO_MORE, is_healthy=True),
    Fault("bad request, both say the same", Behaviour(status=500, says="scripted: what an odd picture"), "upstream_rejected",
          other=(Behaviour(status=500, says="scripted: what an odd picture"),), score="safe", alone="", is_healthy=True),
    Fault("502 with a web page", Behaviour(status=502, page=HTML), "upstream_error"),
    Fault("503 overloaded", Behaviour(status=503, says="scripted overload", type="overloaded_error"), "upstream_busy"),
    Fault("key rejected", Behaviour(status=401, says="scripted: no such key", type="authentication_error"), "upstream_auth", again="safe",
          again_plan=NO_MORE, alone_plan=NO_MORE),
    Fault("no such model", Behaviour(status=404, says="model 'm' not found", type="not_found_error"), "model_not_found", again="safe",
          again_plan=NO_MORE, alone_plan=NO_MORE),
    Fault("context too long", Behaviour(window=4096), "", plan=ALONE_AGAIN, turns=4, alone="pass", alone_plan=ALONE_AGAIN),
    Fault("redirect to another host", Behaviour(status=307, location="elsewhere", says="moved"), "upstream_malformed"),
    # Not reached, or silent.
    Fault("connection refused", GOOD, "upstream_unavailable", plan="s1", is_refused=True, again="", alone_plan=""),
    Fault("hangs up unanswered", Behaviour(hangs_up=True), "upstream_unavailable", plan=r"p1(,p2)?,s1"),
    Fault("bytes that are not HTTP", Behaviour(raw=b"SSH-2.0-OpenSSH_9.2\r\n"), "upstream_malformed"),
    Fault("timeout before the head", Behaviour(silent=True), "upstream_first_byte_timeout", limits=(("first_byte_timeout", "1s"),),
          again="safe", again_plan=NO_MORE, alone_plan=NO_MORE),
    Fault("timeout behind the head", Behaviour(words=0, then="stall", is_bare=True), "upstream_first_byte_timeout",
          limits=(("first_byte_timeout", "1s"),), again="safe", again_plan=NO_MORE, alone_plan=NO_MORE),
    Fault("comments only", Behaviour(words=0, then="comments", is_bare=True), "upstream_first_byte_timeout",
          limits=(("first_byte_timeout", "1s"),), again="safe", again_plan=NO_MORE, alone_plan=NO_MORE, kinds=("openai",)),
    Fault("an empty event and silence", Behaviour(words=0, then="stall"), "upstream_silence_timeout",
          limits=(("silence_timeout", "2s"),), kinds=("openai",)),
    Fault("slow first word, no fault", Behaviour(pause=1.5), "", plan=NO_MORE, again_plan=NO_MORE, alone="pass", alone_plan=NO_MORE),
    Fault("slow head, no fault", Behaviour(pause=1.5, is_late=True), "", plan=NO_MORE, again_plan=NO_MORE, alone="pass",
          alone_plan=NO_MORE),
    Fault("comments first, no fault", Behaviour(comments=5), "", plan=NO_MORE, again_plan=NO_MORE, alone="pass", alone_plan=NO_MORE),
    # Broken before the first word.
    Fault("cut before the first word", Behaviour(words=0, then="cut"), "upstream_incomplete"),
    Fault("reset before the first word", Behaviour(words=0, then="reset"), "upstream_incomplete"),
    Fault("empty body", Behaviour(empty=True), "upstream_incomplete"),
    Fault("empty end", Behaviour(words=0, then="empty end"), "upstream_incomplete"),
    Fault("web page with 200", Behaviour(page=HTML), "upstream_malformed"),
    Fault("200 with an error body", Behaviour(body_of_error=True, says="scripted failure"), "upstream_error"),
    Fault("error as the first event", Behaviour(words=0, then="error", says="scripted failure"), "upstream_error"),
    # Broken in the middle.
    middle("cut behind words, gone on", "cut", "upstream_incomplete", "prefill"),
    middle("gone on by another kind", "cut", "upstream_incomplete", "prefill", is_mixed=True),
    middle("restart by another kind", "cut", "upstream_incomplete", "none", is_mixed=True),
    middle("cut behind words, restart", "cut", "upstream_incomplete", "none"),
    middle("cut in a word, gone on", "cut in a line", "upstream_incomplete", "continue_final_message"),
    middle("reset behind words", "reset", "upstream_incomplete", "prefill"),
    middle("stall in the middle", "stall", "upstream_silence_timeout", "prefill", limits=(("silence_timeout", "2s"),)),
    middle("stall, the other restarts", "stall", "upstream_silence_timeout", "prefill", limits=(("silence_timeout", "2s"),),
           later=(Behaviour(silent=True),), other_continuation="none", is_restarted=True, again="", alone_plan=ALONE_AGAIN),
    middle("comments in the middle", "comments", "upstream_silence_timeout", "none", limits=(("silence_timeout", "2s"),),
           kinds=("openai",)),
    middle("malformed in the middle", "garbage", "upstream_malformed", "none"),
    middle("error in the middle", "error", "upstream_error", "prefill"),
    middle("error, then its end", "error, then end", "upstream_error", "none"),
    middle("clean end without finish", "clean end", "upstream_incomplete", "prefill"),
    middle("silent failure", "silent failure", "upstream_incomplete", "none", kinds=("openai",)),
    # Tool calls.
    Fault("tool call cut off", Behaviour(is_tool=True, then="cut"), "upstream_incomplete", has_tool=True),
    Fault("tool call that is no JSON", Behaviour(is_tool=True, then="broken call"), "upstream_malformed", has_tool=True),
    Fault("tool call cut by the limit", Behaviour(is_tool=True, is_limited=True), plan=NO_MORE, again_plan=NO_MORE, alone="pass",
          alone_plan=NO_MORE, has_tool=True, is_healthy=True),
    Fault("cut tool call that looks whole", Behaviour(is_tool=True, is_limited=True, then="closed"), plan=NO_MORE, again_plan=NO_MORE,
          alone="pass", alone_plan=NO_MORE, has_tool=True, is_healthy=True),
    # Restarts: chatterd asks another server first; without another server it waits.
    Fault("away when it is asked", GOOD, plan="s1", again="", alone="pass", alone_plan=NO_MORE, restarts=True),
    middle("restart midway, gone on", "restart", "", "prefill", later=(GOOD,), again="", alone="pass", alone_plan=ALONE_AGAIN,
           restarts=True),
    middle("server restart midway, restart", "restart", "", "none", later=(GOOD,), again="", alone="pass", alone_plan=ALONE_AGAIN,
           restarts=True),
    # Thinking, text and calls.
    Fault("both fail once", Behaviour(status=500, says="scripted failure"), "upstream_error", other=(Behaviour(status=503, says="scripted"), GOOD),
          later=(Behaviour(status=500, says="scripted once more"),), plan="p1,s1,p2,s2", again="", alone=""),
    middle("continues from the start", "cut", "upstream_incomplete", "prefill", other=(Behaviour(begins_again=True),), again="", alone="",
           later=(GOOD,), plan="p1,s1,p2"),
    middle("continues without a word", "cut", "", "prefill", other=(Behaviour(is_mute=True),), later=(Behaviour(is_mute=True),), again="",
           alone="pass", alone_plan="p1,p2,p3", plan="p1,s1,p2,s2", is_restarted=True),
    middle("stall, then not a word", "stall", "", "prefill", other=(Behaviour(is_mute=True),), later=(Behaviour(is_mute=True),), again="",
           alone="pass", alone_plan="p1,p2,p3", plan="p1,s1,s2", is_restarted=True, limits=(("silence_timeout", "2s"),)),
    # Unusual answers that cannot be detected as faults.
    Fault("a word sent twice", Behaviour(twice=7), "", plan=NO_MORE, again_plan=NO_MORE, alone="pass", alone_plan=NO_MORE),
    Fault("the end sent twice", Behaviour(then="end twice"), "", plan=NO_MORE, again_plan=NO_MORE, alone="pass", alone_plan=NO_MORE),
    Fault("another model's name", Behaviour(model="another-model"), "", plan=NO_MORE, again_plan=NO_MORE, alone="pass",
          alone_plan=NO_MORE),
)


def drawn(seed: int, number: int) -> Fault:
    """A random course of events: two servers, each with a few behaviours drawn from all."""
    chance = random.Random(f"{seed}/{number}")
    refusals = [fault.behaviour for fault in CATALOGUE if fault.behaviour.status != 200 or fault.behaviour.page or fault.behaviour.body_of_error]
    breaks = ("cut", "cut in a line", "reset", "stall", "garbage", "error", "error, then end", "clean end")

    def behaviour(is_last: bool) -> Behaviour:
        if is_last and chance.random() < 0.5:
            return Behaviour(thoughts=chance.choice((0, 0, 5)))
        if chance.random() < 0.4:
            return chance.choice(refusals + [Behaviour(hangs_up=True), Behaviour(silent=True), Behaviour(empty=True)])
        return Behaviour(
            words=chance.choice((0, 1, 2, 3, 5, 13, 30)), then=chance.choice(breaks), says="scripted failure",
            thoughts=chance.choice((0, 0, 0, 5)), begins_again=chance.random() < 0.2)

    first, second = ([behaviour(False)] * chance.randint(0, 2) + [behaviour(False), behaviour(True)] for _ in range(2))
    limits = (("first_byte_timeout", "2s"), ("silence_timeout", "2s"))
    return Fault(
        f"drawn {number}", first[0], plan=r".*", again="", alone="", later=tuple(first[1:]), other=tuple(second),
        continuation=chance.choice(("none", "prefill", "prefill")), limits=limits, is_mixed=chance.random() < 0.5,
        slots=chance.choice((None, 1)), is_drawn=True)
