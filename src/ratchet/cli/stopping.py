"""Ctrl-C for long work: once to let what is under way end, twice to stop it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import click

Saying = ParamSpec("Saying")


@contextmanager
def draining(said: str = "beginning nothing new; again to stop what is under way") -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets, saying so; the second raises KeyboardInterrupt. Outside the main
    thread, which alone hears signals, nothing sets it."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def stop(_number: int, _frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        click.echo(said, err=True)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Resting:
    """Ctrl-Z for a command in a sandbox: it stands still first, then this process, as a shell expects; `fg` lets both
    go on. Called to ask whether the command is to stand still (`paused` of the port `Sandbox`)."""

    def __init__(self) -> None:
        self._asked = self._still = False

    def __call__(self) -> bool:
        if self._still:  # it was told the last time
            self._still = False
            os.kill(os.getpid(), signal.SIGSTOP)
            return False
        self._still, self._asked = self._asked, False
        return self._still

    def _rest(self, _number: int, _frame: object) -> None:
        self._asked = True


@contextmanager
def resting() -> Iterator[Resting]:
    """Hear Ctrl-Z. Outside the main thread, which alone hears signals, nothing rests."""
    made = Resting()
    if threading.current_thread() is not threading.main_thread():
        yield made
        return
    before = signal.signal(signal.SIGTSTP, made._rest)
    try:
        yield made
    finally:
        signal.signal(signal.SIGTSTP, before)


def heard(tell: Callable[Saying, None], asked: threading.Event) -> Callable[Saying, None]:
    """Return what tells of long work as it goes on; a reader that goes away (head, less) asks for its end, as Ctrl-C
    does: work that is cut off in the middle of a line would look done."""

    def told(*given: Saying.args, **named: Saying.kwargs) -> None:
        try:
            tell(*given, **named)
        except BrokenPipeError:
            asked.set()

    return told
