"""A generator that has been begun, and is consumed as if it had not."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager


class Rest:
    """A generator whose first item has been fetched, as `yield from` takes it. `ended`: it had none."""

    def __init__(
        self, stream: Generator[object, object, object], within: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._stream = stream
        self._within = within
        self._value: object = None
        self._first: list[object] = []
        with within():
            try:
                self._first = [next(stream)]
            except StopIteration as stop:
                self._value = stop.value
        self.ended = not self._first

    def __iter__(self) -> Rest:
        return self

    def __next__(self) -> object:
        if self._first:
            return self._first.pop()
        if self.ended:
            raise StopIteration(self._value)
        return self.send(None)

    def send(self, value: object) -> object:
        with self._within():
            return self._stream.send(value)

    def throw(self, thrown: BaseException) -> object:
        with self._within():
            return self._stream.throw(thrown)

    def close(self) -> None:
        self._stream.close()
