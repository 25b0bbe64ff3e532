"""An event loop in a thread, for servers of tests that block."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any, Callable, Coroutine, TypeVar

Result = TypeVar("Result")


@functools.cache
def loop() -> asyncio.AbstractEventLoop:
    """The loop, which runs until the program ends."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, daemon=True).start()
    return made


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine in the loop, and waits for its result."""
    return asyncio.run_coroutine_threadsafe(work, loop()).result()


async def in_thread(work: Callable[[], Result]) -> Result:
    """The result of a function that blocks. Its thread does not keep the program from ending."""
    ours = asyncio.get_running_loop()
    ended: asyncio.Future[Result] = ours.create_future()

    def settle(act: Callable[[Any], None], value: Any) -> None:
        if not ended.done():
            act(value)

    def begin() -> None:
        act: Callable[[Any], None] = ended.set_result
        value: Any = None
        try:
            value = work()
        except BaseException as error:  # it is raised where the result is awaited
            act, value = ended.set_exception, error
        ours.call_soon_threadsafe(settle, act, value)

    threading.Thread(target=begin, daemon=True).start()
    return await ended
