"""Stands in for the modules of the program under test, in the process of the tests: a call goes to the candidate's
process, and only plain values come back. What cannot be had so is noted, and the test is no plain call."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys

import plainly


class CandidateProcess:
    """The other process, started when first asked."""

    def __init__(self, paths):
        self._paths = paths
        self._process = None
        self.unplain = []  # what could not be had as a plain value, since last looked at

    def ask(self, **asked):
        if self._process is None:
            self._start()
        try:
            self._asking.write(json.dumps(asked) + "\n")
            self._asking.flush()
            line = self._answering.readline()
        except OSError:
            line = ""
        if not line:
            raise RuntimeError("the program under test ended its process")
        answer = json.loads(line)
        said = answer.get("said")
        if said:
            sys.stdout.write(str(said))
        if "unplain" in answer:
            self.refuse(str(answer["unplain"]))
        if "raised" in answer and "after" not in answer:
            raise plainly.exception(answer)
        return answer

    def refuse(self, what):
        self.unplain.append(what)
        raise plainly.NotPlain(what)

    def _start(self):
        here = os.path.dirname(os.path.abspath(__file__))
        to_read, self_write = os.pipe()
        self_read, to_write = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-B",
                os.path.join(here, "candidate.py"),
                str(to_read),
                str(to_write),
                json.dumps(self._paths),
            ],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._asking = os.fdopen(self_write, "w")
        self._answering = os.fdopen(self_read, "r")

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Finder:
    """Finds the program's modules (below `root`, no test, no conftest) and hands out stand-ins for them."""

    def __init__(self, candidate, root, is_trusted):
        self._candidate = candidate
        self._root = root
        self._is_trusted = is_trusted

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None:
            return None
        origin = os.path.realpath(spec.origin)
        if not origin.startswith(self._root + os.sep) or self._is_trusted(os.path.relpath(origin, self._root)):
            return None
        is_package = spec.submodule_search_locations is not None
        made = importlib.machinery.ModuleSpec(name, Loader(self._candidate), origin=spec.origin, is_package=is_package)
        if spec.submodule_search_locations is not None:
            made.submodule_search_locations = list(spec.submodule_search_locations)
        return made


class Loader(importlib.abc.Loader):
    """Fills a module with stand-ins for its functions, and its plain values."""

    def __init__(self, candidate):
        self._candidate = candidate

    def create_module(self, spec):
        del spec
        return

    def exec_module(self, module):
        candidate, name = self._candidate, module.__name__
        names = candidate.ask(do="import", module=name)["names"]
        for each, held in names.items():
            if "value" in held:
                setattr(module, each, plainly.unpacked(held["value"]))
            elif held.get("function"):
                setattr(module, each, Function(candidate, name, each))

        def missing(attribute):
            if attribute in names:
                candidate.refuse(name + "." + attribute + " is no plain function or value")
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

        module.__getattr__ = missing


class Function:
    """Stands in for one function."""

    def __init__(self, candidate, module, name):
        self.__name__ = self.__qualname__ = name
        self.__module__ = module
        self._candidate = candidate

    def __call__(self, *arguments, **named):
        candidate = self._candidate
        try:
            packed = plainly.packed(list(arguments)), plainly.packed(named)
        except (plainly.NotPlain, RecursionError) as error:
            candidate.refuse(str(error))
        answer = candidate.ask(
            do="call", module=self.__module__, name=self.__name__, arguments=packed[0], named=packed[1]
        )
        for given, after in zip(arguments, plainly.unpacked(answer.get("after", []))):
            _brought_up(given, after)
        if "raised" in answer:
            raise plainly.exception(answer)
        if "iterator" in answer:
            return _iterated(candidate, answer["iterator"])
        return plainly.unpacked(answer["value"])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__["_candidate"].refuse("an attribute of a function")


def _iterated(candidate, number):
    while True:
        answer = candidate.ask(do="next", iterator=number)
        if answer.get("end"):
            return
        yield plainly.unpacked(answer["value"])


def _brought_up(given, after):
    """Repeat what a function did to its argument in place."""
    if type(given) is not type(after) or given == after:
        return
    if type(given) in (list, bytearray):
        given[:] = after
    elif type(given) in (dict, set):
        given.clear()
        given.update(after)
