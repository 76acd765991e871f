"""Regular expressions that are compiled at first use, and kept compiled for processes that live for one event.

The expressions that one failed call needs take 5 ms to compile and `re` takes 4 ms to import, a third of a hook's time
(`benchmarks/hook.py`). Kept in a file, as Python keeps its modules, they take 0.5 ms, and `re` is not needed. What is
in the file was compiled by the same Python from the same source, else it is not used. Lean: hook processes import this.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    Form = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
    """Flags, code, number of groups, groups by name, names by group."""

_MOST = 1_000  # expressions in a file: beyond, those of former versions are among them
_AT_ONCE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe in its place is not waited for
_cache: dict[str, re.Pattern[str]] = {}
_shelf: Shelf | None = None


def compiled(source: str) -> re.Pattern[str]:
    """Compile an expression once. Flags are given inside it."""
    found = _cache.get(source)
    if found is None:
        found = _cache[source] = _shelf.pattern(source) if _shelf is not None else _anew(source)
    return found


def keep_in(folder: str) -> None:
    """Take expressions from a file in this folder from now on, and have `kept` write there what was missing."""
    global _shelf
    if sys.implementation.name == "cpython":
        _shelf = Shelf(os.path.join(folder, f"expressions.{sys.implementation.cache_tag}"))


def are_kept() -> bool:
    """Tell whether this is a process for one event, which takes expressions from a file."""
    return _shelf is not None


def kept() -> None:
    """End `keep_in`: write the expressions that the file lacks. Where it cannot be written they are not kept."""
    global _shelf
    shelf, _shelf = _shelf, None
    if shelf is not None and shelf.missed:
        shelf.write()


def _anew(source: str) -> re.Pattern[str]:
    import re

    return re.compile(source)


class Shelf:
    """Expressions in a file, read when the first is asked for. `missed` are those that it did not hold."""

    __slots__ = ("_held", "_path", "missed")

    def __init__(self, path: str) -> None:
        self._path = path
        self._held: dict[str, Form] | None = None
        self.missed: list[str] = []

    def pattern(self, source: str) -> re.Pattern[str]:
        if self._held is None:
            self._held = self._read()
        form = self._held.get(source)
        if form is not None:
            import _sre  # type: ignore[import-not-found]

            flags, code, groups, names, index = form
            try:
                pattern: re.Pattern[str] = _sre.compile(
                    source, flags, memoryview(code).cast("I").tolist(), groups, names, index
                )
            except (RuntimeError, TypeError, ValueError):  # Python found that it is no expression of its own
                del self._held[source]
            else:
                return pattern
        self.missed.append(source)
        return _anew(source)

    def write(self) -> None:
        """Add what was missed. Of two processes that write at once, one writes in vain; a sum tells a torn file."""
        import marshal
        from binascii import crc32

        held = self._read()
        if len(held) + len(self.missed) > _MOST:
            held = {}
        try:
            held.update((source, form_of(source)) for source in self.missed)
        except (ImportError, AttributeError):  # a Python to come, whose `re` is built otherwise
            return
        data = marshal.dumps((_made_by(), held))
        new = f"{self._path}.new"
        try:
            os.makedirs(os.path.dirname(new), mode=0o700, exist_ok=True)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _AT_ONCE, 0o600)
            try:
                os.write(descriptor, crc32(data).to_bytes(4, "little") + data)
            finally:
                os.close(descriptor)
            os.replace(new, self._path)
        except OSError:
            return

    def _read(self) -> dict[str, Form]:
        """Nothing where there is no file, or none that this Python wrote whole."""
        import marshal
        from binascii import crc32

        try:
            descriptor = os.open(self._path, os.O_RDONLY | _AT_ONCE)
            try:
                data = os.read(descriptor, os.fstat(descriptor).st_size)
            finally:
                os.close(descriptor)
        except OSError:
            return {}
        if crc32(data[4:]).to_bytes(4, "little") != data[:4]:
            return {}
        made_by, held = marshal.loads(memoryview(data)[4:])  # noqa: S302  (as Python reads what it compiled)
        return held if made_by == _made_by() else {}


def form_of(source: str) -> Form:
    """Compile an expression to what `_sre.compile` takes, as `re` does."""
    from array import array
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(source)
    state = parsed.state
    index: list[str | None] = [None] * state.groups
    for name, group in state.groupdict.items():
        index[group] = name
    return (
        state.flags,
        array("I", _compiler._code(parsed, 0)).tobytes(),
        state.groups - 1,
        state.groupdict,
        tuple(index),
    )


def _made_by() -> tuple[str, int, int]:
    import _sre

    return sys.version, _sre.MAGIC, _sre.CODESIZE
