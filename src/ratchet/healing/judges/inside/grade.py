"""Runs the tests of a project inside the sandbox, and says what became of each in a way that the program under test
cannot say instead.

Reads one JSON object from its standard input; the token in it stands before the answer, on the last line of standard
output. This process holds the token and never imports a test or the program: children do, one with the program in
another process (`apart`), and one with the program in its own for what is left. A child tells outcomes over a pipe.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import linecache
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType


def main() -> int:
    spec = json.load(sys.stdin)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _keep_others_out()
    root = os.path.realpath(os.getcwd())
    here = os.path.dirname(os.path.abspath(__file__))
    import placing  # type: ignore[import-not-found]  # noqa: F401  (while the folder of this file is on the path)

    sys.path[:] = [path for path in sys.path if path and os.path.realpath(path) not in (root, here)]
    spec["sources"] = {os.path.join(root, path): _content(path) for path in spec["trusted"] if path.endswith(".py")}
    held = spec.pop("held").items()
    spec["sources"] |= {os.path.join(root, path): text.encode("utf-8", "surrogateescape") for path, text in held}
    answer: dict[str, object] = {"shadows": [name for name in spec["new_names"] if _is_installed(name)]}
    answer["python"] = (
        f"{sys.version.split()[0]} in {os.path.relpath(sys.prefix, root) if _is_below(root) else sys.prefix}"
    )
    if spec["run"]["runner"] == "pytest" and importlib.util.find_spec("pytest") is None:
        answer["missing"] = True
    elif not answer["shadows"]:
        if spec["run"]["runner"] == "pytest":
            import pytest  # noqa: F401  (before the fork, so that no child loads it again)

        wanted: list[str] | None = None
        if spec["apart"]:
            answer["apart"] = apart = _in_child(spec, root, here, together=False, only=None)
            left = [name for name in apart["ids"] if apart["outcomes"].get(name) not in ("passed", "xfailed")]
            complete = apart["finished"] and apart["ids"] and not apart["errors"]
            complete = complete and not any("_FailedTest" in name for name in left)
            wanted = None if not complete else [name for name in left if apart["outcomes"].get(name) != "skipped"]
        if wanted != [] and spec["together"]:
            answer["together"] = _in_child(spec, root, here, together=True, only=wanted)
    sys.stdout.flush()
    print("\n" + spec["token"] + " " + json.dumps(answer), flush=True)
    return 0


def _is_below(root: str) -> bool:
    return sys.prefix.startswith(root + os.sep)


def _keep_others_out() -> None:
    """No process may look into this one, nor into its children of the same program (prctl PR_SET_DUMPABLE)."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


_MOST_READS = 2_000
_MOST_WHY = 20_000  # characters; without all of it nobody could tell where an error comes from
_PATH = type(Path())  # the class that a path of this system has


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _pin_tests(sources: dict[str, bytes]) -> None:
    """Let pytest compile the tests as they were when this process began."""
    from _pytest.assertion import rewrite

    class Held(_PATH):  # type: ignore[misc, valid-type]
        def read_bytes(self) -> bytes:
            held = sources.get(os.path.realpath(self))
            return super().read_bytes() if held is None else held

    if hasattr(rewrite, "_rewrite_test"):
        compiled = rewrite._rewrite_test
        rewrite._rewrite_test = lambda fn, config: compiled(Held(fn), config)
    loader = importlib.machinery.SourceFileLoader
    read = loader.get_data
    loader.get_data = lambda self, path: sources.get(os.path.realpath(path)) or read(self, path)  # type: ignore[method-assign]
    for path, content in sources.items():
        lines = content.decode("utf-8", "replace").splitlines(keepends=True)
        linecache.cache[path] = (len(content), None, lines, path)  # no time: it is never read from the disk again


def _in_child(spec: dict, root: str, here: str, *, together: bool, only: list[str] | None) -> dict:
    """Run pytest in a process of its own; what it told until its end."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.close(reading)
        del spec["token"]  # of the child's copy: whatever runs there cannot speak for the parent
        code = 70
        try:
            code = _run(spec, root, here, writing, together=together, only=only)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.close(writing)
    told = _collected(reading)
    status = os.waitpid(pid, 0)[1]
    told["exit_code"] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    return told


def _collected(reading: int) -> dict:
    told: dict = {"ids": [], "outcomes": {}, "errors": [], "unplain": [], "strangers": [], "finished": False}
    told |= {"touched": [], "answers": []}
    told |= {"read_by_program": [], "read_by_tests": []}
    with os.fdopen(reading, errors="replace") as lines:
        for line in lines:
            try:
                said = json.loads(line)
                what, value = said["what"], said["value"]
            except (ValueError, KeyError, TypeError):
                continue
            if what == "outcome":
                told["outcomes"][value[0]] = value[1]
            elif what == "finished":
                told["finished"] = True
            elif what == "ids":
                told["ids"] = value
            elif what in told:
                told[what].append(value)
    return told


def _run(spec: dict, root: str, here: str, writing: int, *, together: bool, only: list[str] | None) -> int:
    """Run the tests in this process."""

    def tell(what: str, value: object) -> None:
        os.write(writing, (json.dumps({"what": what, "value": value}) + "\n").encode())

    # No test is read that somebody else may have written meanwhile, neither as text nor compiled.
    if "pytest" in sys.modules:
        _pin_tests(spec["sources"])
    sys.dont_write_bytecode = True
    sys.pycache_prefix = os.path.join(root, ".no-such-folder-" + os.urandom(8).hex())
    import placing

    sys.path[:0] = placing.place(spec["run"], root, spec["project"])
    candidate, watch = None, None
    sys.path.append(here)
    import cases  # type: ignore[import-not-found]
    import keeping  # type: ignore[import-not-found]

    if together:
        watch = keeping.HarnessWatch(tell, lambda: not _loaded(root, frozenset(spec["trusted"])))
        _tell_reads(tell, root, frozenset(spec["trusted"]))
    else:
        import apart
        import foreign  # type: ignore[import-not-found]

        trusted = frozenset(spec["trusted"])
        candidate = apart.CandidateProcess([*sys.path[:-1]], root)
        sys.meta_path.insert(0, apart.Finder(candidate, root, lambda path: path in trusted))
        foreign.note_patches(candidate.note)
    sys.path.remove(here)
    try:
        if spec["run"]["runner"] != "pytest":
            return cases.run(spec["run"], tell, only, candidate, watch)
        import pytest

        plugin = Outcomes(pytest, tell, spec, root, only, candidate, watch)
        return int(pytest.main(_arguments(spec, here, root, quiet=spec["together"] and not together), plugins=[plugin]))
    finally:
        if candidate is not None:
            candidate.close()


def _loaded(root: str, trusted: frozenset[str]) -> bool:
    """Tell whether a module of the program is loaded."""
    paths = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
    below = (os.path.realpath(path)[len(root) + 1 :] for path in paths if path and path.startswith(root + os.sep))
    return any(path not in trusted and not path.startswith((".venv", "venv")) for path in below)


def _tell_reads(tell: Callable[[str, object], None], root: str, trusted: frozenset[str]) -> None:
    """Tell each file of the project that is opened, and whose code is the nearest on the stack: a test's or the
    program's. What is opened by neither (the import of a module, pytest itself) is of no account."""
    inside = root + os.sep
    told: set[tuple[str, str]] = set()

    def opened(event: str, arguments: tuple) -> None:
        if event != "open" or not isinstance(arguments[0], (str, os.PathLike)) or len(told) >= _MOST_READS:
            return
        path = os.path.join(os.getcwd(), os.fspath(arguments[0]))
        if not path.startswith(inside) or path.endswith((".py", ".pyc")):
            return
        by = _nearest(inside)
        if not by:
            return
        said = ("read_by_tests" if by in trusted else "read_by_program", os.path.normpath(path)[len(inside) :])
        if said not in told:
            told.add(said)
            tell(*said)

    sys.addaudithook(opened)


def _nearest(inside: str) -> str:
    """The file of the project whose code is nearest on the stack; "" for none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = os.path.join(inside, frame.f_code.co_filename)
        if path.startswith(inside):
            return path[len(inside) :]
        frame = frame.f_back
    return ""


def _arguments(spec: dict, here: str, root: str, *, quiet: bool) -> list[str]:
    # Of a run in a folder of its own, that one: ids are told from there, as by the command itself.
    at = os.getcwd()
    fixed = ["-p", "no:cacheprovider", "--rootdir", at, "--confcutdir", root]
    if not spec["conftests"]:
        fixed.append("--noconftest")
    if not spec["has_settings"]:
        fixed += ["-c", os.path.join(here, "pytest.ini")]
    if quiet:
        fixed += ["--tb=no", "-q", "--no-header", "--no-summary"]
    return [*fixed, *spec["arguments"]]


class Outcomes:
    """Plugin: tells what was collected and what became of each test."""

    def __init__(
        self,
        pytest,
        tell: Callable[[str, object], None],
        spec: dict,
        root: str,
        only: list[str] | None,
        candidate,
        watch,
    ) -> None:
        self._tell = tell
        self._conftests = frozenset(os.path.join(root, path) for path in spec["conftests"])
        self._only = None if only is None else frozenset(only)
        self._candidate = candidate
        self._watch = watch
        self._quarantined = frozenset(spec["quarantined"])
        self._selected = {name: at for at, name in enumerate(spec["selected"])}
        # Whoever judges must run before, and see after, all other plugins; marks need the live module.
        for name, order in (("pytest_cmdline_main", "tryfirst"), ("pytest_collection_modifyitems", "trylast")):
            hook = getattr(type(self), name)
            setattr(type(self), name, pytest.hookimpl(**{order: True})(hook))

    def pytest_cmdline_main(self, config) -> None:
        """All tests, one after another, in this process."""
        for name, value in (("maxfail", 0), ("numprocesses", None), ("dist", "no"), ("usepdb", False), ("tx", [])):
            if hasattr(config.option, name):
                setattr(config.option, name, value)

    def pytest_plugin_registered(self, plugin) -> None:
        path = getattr(plugin, "__file__", None)
        if path and os.path.basename(path) == "conftest.py" and os.path.realpath(path) not in self._conftests:
            self._tell("strangers", path)

    def pytest_collection_modifyitems(self, config, items) -> None:
        items[:] = self._asked(items)
        self._tell("ids", [item.nodeid for item in items])
        if self._only is not None:
            left_out = [item for item in items if item.nodeid not in self._only]
            items[:] = [item for item in items if item.nodeid in self._only]
            config.hook.pytest_deselected(items=left_out)

    def _asked(self, items):
        """Without tests that count for nothing; those that were selected, in that order, where any were."""
        left = [item for item in items if item.nodeid not in self._quarantined]
        if not self._selected:
            return left
        return sorted(
            (item for item in left if item.nodeid in self._selected), key=lambda item: self._selected[item.nodeid]
        )

    def pytest_sessionstart(self) -> None:
        if self._watch is not None:
            self._watch.begin()

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            why = str(report.longrepr)
            self._tell("errors", [report.nodeid, why if len(why) <= _MOST_WHY else ""])
        self._note(report.nodeid)

    def pytest_runtest_setup(self, item) -> None:
        # What the program logs, warns of or writes itself is not heard from another process.
        if self._candidate is not None and _HEARD.intersection(getattr(item, "fixturenames", ())):
            self._candidate.note("it listens to the process of the program")

    def pytest_runtest_makereport(self, item, call) -> None:
        if call.excinfo is not None and call.excinfo.typename == "NotPlain":  # a fixture's, told of once
            self._tell("unplain", [item.nodeid, str(call.excinfo.value)])

    def pytest_runtest_logreport(self, report) -> None:
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if outcome == "skipped" else "xpassed"
        if report.when == "call" or outcome in ("failed", "skipped", "xfailed"):
            self._tell("outcome", [report.nodeid, outcome if report.when == "call" or outcome != "failed" else "error"])
        self._note(report.nodeid)
        if self._watch is not None and report.when == "teardown":
            self._watch.look(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._tell("finished", True)

    def _note(self, name: str) -> None:
        if self._candidate is not None:
            self._candidate.tell_notes(self._tell, name)


_HEARD = frozenset(("caplog", "capfd", "capfdbinary", "recwarn", "mocker"))


if __name__ == "__main__":
    sys.exit(main())
