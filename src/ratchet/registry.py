"""Finds providers: built-ins and plugins register by the same entry points; a person may name a class directly."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from ratchet.errors import UsageError
from ratchet.ports import Proposer, Source

SOURCES = "ratchet.sources"
PROPOSERS = "ratchet.proposers"


def named(group: str, name: str) -> object:
    """The provider `name` of an entry point group, or the object at `package.module:Class`.

    Raises UsageError naming the known providers.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UsageError(f"cannot load {name!r}: {error}") from error
    known = {point.name: point for point in entry_points(group=group)}
    if name not in known:
        raise UsageError(f"no provider {name!r} in {group}; known: {', '.join(sorted(known))}, or package.module:Class")
    return known[name].load()


def plugin_sources() -> Iterator[Source]:
    """Sources that other distributions registered; they are asked before the built-in ones."""
    for point in entry_points(group=SOURCES):
        if not point.value.startswith("ratchet."):
            yield cast("type[Source]", point.load())()


def proposers(names: str) -> tuple[Proposer, ...]:
    """The proposers of a list of names separated by commas: functions, or classes that are called without arguments.

    Raises UsageError for a name that leads nowhere, or to nothing that can be called.
    """
    found = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        value = named(PROPOSERS, name)
        proposer = value() if isinstance(value, type) else value
        if not callable(proposer):
            raise UsageError(f"proposer {name!r} cannot be called; name a function of a Problem that yields Fixes")
        found.append(cast("Proposer", proposer))
    return tuple(found)
