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
import types

import foreign  # type: ignore[import-not-found]
import plainly


class CandidateProcess:
    """The other process, started when first asked."""

    def __init__(self, paths, root):
        self._paths = paths
        self._root = root
        self._process = None
        self._environ = {}
        self.unplain = []  # what could not be had as a plain value, since last looked at
        self.answers = 0  # plain values, other than None, that functions returned since last looked at
        self.made = foreign.Foreign(self.refuse).made

    def ask(self, **asked):
        if self._process is None:
            self._start()
        if asked["do"] == "import":
            asked["path"] = [*sys.path]
        asked |= {"cwd": os.getcwd(), "argv": list(map(str, sys.argv))}
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        if environ != self._environ:
            asked["environ"] = self._environ = environ
        try:
            self._asking.write(json.dumps(asked) + "\n")
            self._asking.flush()
            line = self._answering.readline()
        except OSError:
            line = ""
        if not line:
            raise RuntimeError("the program under test ended its process")
        answer = json.loads(line)
        for said, stream in zip(answer.get("said") or ("", ""), (sys.stdout, sys.stderr)):
            stream.write(str(said))
        if "moved" in answer:
            self.note(str(answer["moved"]))
        if "unplain" in answer:
            self.refuse(str(answer["unplain"]))
        if "raised" in answer and "after" not in answer:
            raise self.exception(answer)
        return answer

    def value(self, said):
        found = plainly.unpacked(said, made=self.made)
        self.answers += found is not None and not (isinstance(said, dict) and said.keys() & {"k", "o"})
        return found

    def exception(self, answer):
        return plainly.exception(answer, self._lacking)

    def _lacking(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse(name + " of an exception of the program's own class")

    def note(self, what):
        self.unplain.append(what)

    def tell_notes(self, tell, name):
        """Tell what was noted since last asked, as of a test."""
        if self.unplain:
            tell("unplain", [name, self.unplain[-1]])
            self.unplain.clear()
        if self.answers:
            tell("answers", name)
            self.answers = 0

    def refuse(self, what):
        self.note(what)
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
                self._root,
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
        return Module(spec.name)

    def exec_module(self, module):
        candidate, name = self._candidate, module.__name__
        said = candidate.ask(do="import", module=name)
        names = said["names"]
        for each in said["functions"]:
            module.__dict__[each] = Function(candidate, name, each)

        def missing(attribute):
            if attribute not in names:
                raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
            return candidate.value(candidate.ask(do="get", module=name, name=attribute)["value"])

        module.__dict__.update(__all__=said["all"], __getattr__=missing, _ratchet_note=candidate.note)


class Module(types.ModuleType):
    """Stands in for one module: who puts something else into it is noted."""

    def __setattr__(self, name, value):
        if not name.startswith("__") and not isinstance(value, types.ModuleType):
            self.__dict__["_ratchet_note"](f"{self.__name__}.{name} is replaced")
        super().__setattr__(name, value)


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
        for given, after in zip(arguments, plainly.unpacked(answer.get("after", []), made=candidate.made)):
            _brought_up(given, after)
        if "raised" in answer:
            raise candidate.exception(answer)
        if "iterator" in answer:
            return _iterated(candidate, answer["iterator"])
        if "same" in answer:
            return arguments[answer["same"]]
        return candidate.value(answer["value"])

    def __getattr__(self, name):
        if name.startswith("_") and name != "__signature__":
            raise AttributeError(name)
        return self.__dict__["_candidate"].refuse("an attribute of a function")


def _iterated(candidate, number):
    while True:
        answer = candidate.ask(do="next", iterator=number)
        if answer.get("end"):
            return
        yield candidate.value(answer["value"])


def _brought_up(given, after):
    """Repeat what a function did to its argument in place."""
    if type(given) is not type(after) or given == after:
        return
    if type(given) in (list, bytearray):
        given[:] = after
    elif type(given) in (dict, set):
        given.clear()
        given.update(after)
