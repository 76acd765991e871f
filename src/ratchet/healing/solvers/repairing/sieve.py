"""Put edits last that can mend no failing test."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from .effects import Prober
from .ordering import Ranked
from .program import Program
from .server import ForkServer
from .untried import Sifted


class Sieve:
    """Looks at edits of the program as it was, many in one run of the failing tests."""

    def __init__(self, server: ForkServer, programs: Mapping[str, Program]) -> None:
        self._server = server
        self._programs = programs
        self._probers: dict[str, Prober] = {}

    def sifted(self, edits: Sequence[Ranked]) -> Sifted:
        """The edits that may mend all tests first, then those that some test would not feel; and those that none would,
        as far as a look can tell."""
        probes = {id(one): probe for one in edits if (probe := self._prober(one).probe(one.edit)) is not None}
        looked = [one for one in edits if id(one) in probes]
        if not looked:
            return edits, ()
        paths = [os.path.join(self._server.root, one.edit.path) for one in looked]
        vain = self._server.vain({}, [*zip(paths, (probes[id(one)] for one in looked), strict=True)])
        idle: dict[int, int] = {}
        for numbers in vain.values():
            for number in numbers:
                idle[id(looked[number])] = idle.get(id(looked[number]), 0) + 1
        now = [one for one in edits if id(one) not in idle]
        some = [one for one in edits if 0 < idle.get(id(one), 0) < len(vain)]
        return [*now, *some], [one for one in edits if idle.get(id(one), 0) == len(vain) > 0]

    def _prober(self, one: Ranked) -> Prober:
        path = one.edit.path
        if path not in self._probers:
            self._probers[path] = Prober(self._programs[path])
        return self._probers[path]
