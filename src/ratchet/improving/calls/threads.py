"""Work with a time limit where nothing can be cancelled: it gets a thread of its own, which is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context


def in_thread(
    work: Callable[[], object], limit_s: float, *, after: Callable[[], None], name: str, late: str = ""
) -> object:
    """Run `work` in a thread of its own, with this context's variables; `after` is called when it has ended.

    Raises TimeoutError, which says `late`, after `limit_s` seconds.
    """
    context = copy_context()
    ended = threading.Event()
    came: list[object] = []
    raised: list[BaseException] = []

    def body() -> None:
        try:
            came.append(context.run(work))
        except BaseException as error:  # noqa: BLE001  (raised again where it was called)
            raised.append(error)
        finally:
            after()
            ended.set()

    thread = threading.Thread(target=body, name=f"ratchet-call-{name}", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no more threads to be had
        after()
        raise
    if not ended.wait(limit_s):
        raise TimeoutError(late or too_long(name, limit_s))
    if raised:
        raise raised[0]
    return came[0]


def too_long(agent: str, limit_s: float) -> str:
    """Make the error of a call that was given up."""
    return f"{agent}: no answer within {limit_s:g} s, its setting timeout_s"
