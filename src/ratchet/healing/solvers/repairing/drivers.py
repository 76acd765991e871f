"""Run the tests of a project inside a forked process: pytest, unittest, a script, or any other command.

A driver's `run` sets everything up that all candidates share, calls `serve` (which forks; it raises InChild in the
child), and in the child runs the tests.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import io
import itertools
import os
import runpy
import subprocess
import sys
import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .child import ForkedRun, InChild, guarded, is_installed

Serve = Callable[[], None]
_SETTINGS = {"pytest.ini": "", ".pytest.ini": "", "pytest.toml": "", ".pytest.toml": "", "tox.ini": "[pytest]",
             "pyproject.toml": "[tool.pytest", "setup.cfg": "[tool:pytest]"}  # fmt: skip


class Driver(Protocol):
    """Runs the tests in a child."""

    def run(self, serve: Serve) -> None: ...


@dataclass(slots=True)
class Forked:
    """A driver that needs nothing set up: `tests` are run by the child from the start."""

    tests: Callable[[ForkedRun], None]

    def run(self, serve: Serve) -> None:
        # Not within the handler: there, every test would find an exception that is being handled.
        job = _child_of(serve)
        if job is not None:
            _begin(job)
            self.tests(job)
            job.leave()


def _child_of(serve: Serve) -> ForkedRun | None:
    try:
        serve()
    except InChild as child:
        return child.job
    return None


class Pytest:
    """Pytest is set up once; children collect and run. Where a conftest imports the program itself, that would be
    stale in the children: then each of them sets pytest up."""

    def __init__(self, arguments: Sequence[str], root: str, stale: Callable[[], bool]) -> None:
        quick = ["-q", "--assert=plain", "--tb=short", "-p", "no:cacheprovider", "--capture=sys"]
        self._arguments = [*_here(arguments, root), *quick, *arguments]
        self._root = root
        self._stale = stale
        self._serve: Serve | None = None
        self._job: ForkedRun | None = None
        self._errors: dict[str, BaseException] = {}
        self._failed: set[str] = set()
        self._left = 0
        self._plain: Mapping[str, Callable[[], object]] = {}

    def run(self, serve: Serve) -> None:
        import pytest

        self._serve = serve
        kept = set(sys.modules)
        pytest.main([*self._arguments], plugins=[self])
        if self._job is None:
            # Only reached when what conftest imported is stale, or pytest could not start: children start afresh.
            for name in set(sys.modules) - kept:
                if _is_here(sys.modules[name], self._root):
                    del sys.modules[name]
            self._serve = None
            Forked(self._whole).run(serve)
        else:
            self._job.leave()

    def _whole(self, job: ForkedRun) -> None:
        import pytest

        self._job = job
        pytest.main([*self._arguments], plugins=[self])

    def pytest_collection(self, session: Any) -> object:
        if self._serve is not None:
            if self._stale():
                return True
            self._job = _child_of(self._serve)
            assert self._job is not None
            _begin(self._job)
        assert self._job is not None
        if self._job.wider:
            session.config.args = list(dict.fromkeys(each.split("::")[0] for each in session.config.args))
            session.config.option.keyword = ""
        return None

    # Tried last, so that what plugins leave out is left out.
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        assert self._job is not None
        items[:] = [items[i] for i in self._job.ordered([item.nodeid for item in items])]
        self._left = len(items)

    def pytest_collection_finish(self, session: Any) -> None:
        assert self._job is not None
        if not session.testsfailed:  # what could not be collected cannot be run
            if self._job.holding is not None:
                self._plain = _plain(session, self._root)
            self._job = self._job.loaded()

    def pytest_runtestloop(self, session: Any) -> object:
        """Call plain tests without pytest's ado, which takes many times as long as most of them do."""
        if self._job is None or not self._job.directly or not self._plain:
            return None
        rest = [each for each in session.items if each.nodeid not in self._plain]
        following = dict(itertools.zip_longest(rest, rest[1:]))
        for item in session.items:
            if item in following:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following[item])
            else:
                _called(self._job, item.nodeid, self._plain[item.nodeid])
                self._ended()
        return True

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and self._job is not None:
            # Which tests the file holds is not known: it stands for them.
            self._job.tell({"id": report.nodeid or "collection", "ok": False, "error": "collect"})

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        assert self._job is not None
        self._failed.discard(nodeid)
        self._errors.pop(nodeid, None)
        self._job.begin(nodeid)

    def pytest_runtest_makereport(self, item: Any, call: Any) -> object:
        """Without the text of the traceback, which costs more than the test (a thousand frames of a recursion)."""
        import pytest

        if call.excinfo is None or call.excinfo.errisinstance((pytest.skip.Exception, pytest.exit.Exception)):
            return None
        self._errors.setdefault(item.nodeid, call.excinfo.value)
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", "failed", call.when)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        assert self._job is not None
        passed = nodeid not in self._failed
        self._job.end(nodeid, passed, None if passed else self._errors.get(nodeid))
        self._ended()

    def _ended(self) -> None:
        assert self._job is not None
        self._left -= 1
        if self._left <= 0 or self._job.enough():
            # Pytest's own farewell has nothing to say to us.
            self._job.leave()


def _plain(session: Any, root: str) -> dict[str, Callable[[], object]]:
    """The tests that are functions or methods which want nothing but the parameters of their marks, where neither the
    project's own plugins nor a setting of warnings do anything around a test."""
    import pytest

    config = session.config
    hooks = (each for name, each in vars(config.hook).items() if name.startswith(("pytest_runtest", "pytest_pyfunc")))
    around = [impl.plugin for each in hooks for impl in each.get_hookimpls()]
    modules = [sys.modules.get(type(each).__module__) if not hasattr(each, "__file__") else each for each in around]
    if any(_is_here(each, root) for each in modules) or config.getini("filterwarnings"):
        return {}
    found: dict[str, Callable[[], object]] = {}
    for item in session.items:
        marks = [*item.iter_markers()]
        alike = {each.name for each in marks} <= {"parametrize"} and all(
            len(each.args) == 2 and each.kwargs.keys() <= {"ids"} for each in marks
        )
        if type(item) is not pytest.Function or not alike or inspect.iscoroutinefunction(item.obj):
            continue
        named = {name.strip() for each in marks for name in _names(each.args[0])}
        if {*item.fixturenames} <= named:
            found[item.nodeid] = functools.partial(item.obj, **(item.callspec.params if named else {}))
    return found


def _names(said: str | Sequence[str]) -> Sequence[str]:
    return said.split(",") if isinstance(said, str) else said


def _called(job: ForkedRun, name: str, run: Callable[[], object]) -> None:
    """Run a test that may skip itself."""
    import pytest

    def test() -> None:
        with contextlib.suppress(pytest.skip.Exception), contextlib.redirect_stdout(io.StringIO()):
            run()

    guarded(job, name, test)


def driver_for(run: Mapping[str, Any], root: str, stale: Callable[[], bool]) -> tuple[Driver, list[str]]:
    """The driver of a run (`testruns.SuiteRun`), and the files that are the check itself."""
    runner, words = run["runner"], list(run["arguments"])
    if runner == "pytest":
        files = [each.split("::")[0] for each in words]
        return Pytest(words, root, stale), [each for each in files if each.endswith(".py")]
    if runner == "unittest":
        return Forked(lambda job: _unittest(job, words)), [each for each in words if each.endswith(".py")]
    if runner == "module":
        return Forked(lambda job: _script(job, words, module=True)), []
    if runner == "code":
        return Forked(lambda job: _code(job, words)), []
    if runner == "script" and os.path.isfile(words[0]):
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        return Forked(lambda job: _script(job, words, module=False)), [words[0]]
    return Forked(lambda job: _command(job, words)), [each for each in words if each.endswith(".py")]


def _begin(job: ForkedRun) -> None:
    job.confine()
    if job.tracer is not None:
        job.tracer.start()
    if job.call is not None:
        job.tell({"returned": job.call()})
        job.leave()


def _unittest(job: ForkedRun, arguments: list[str]) -> None:
    loader = unittest.TestLoader()
    named = [each for each in arguments if not each.startswith("-")]
    if job.wider and named and named[0] != "discover":
        named = list(dict.fromkeys(_module_of(_dotted(each)) for each in named))
    if not named or named[0] == "discover":
        folder, pattern, top = _discovery([each for each in arguments if each != "discover"])
        found = loader.discover(folder, pattern, top or None)
    else:
        found = loader.loadTestsFromNames([_dotted(each) for each in named])
    tests = list(_flat(found))
    job = job.loaded()
    for i in job.ordered([each.id() for each in tests]):
        if job.enough():
            return
        _one(job, tests[i])


def _one(job: ForkedRun, test: unittest.TestCase) -> None:
    result = _Result()
    job.begin(test.id())
    test.run(result)
    failed = result.failures or result.errors or result.unexpectedSuccesses
    job.end(test.id(), not failed, result.error)


class _Result(unittest.TestResult):
    """Keeps the first exception as it is, with its traceback."""

    error: BaseException | None = None

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802  (unittest's name)
        self.error = self.error or err[1]
        super().addError(test, err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.error = self.error or err[1]
        super().addFailure(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.error = self.error or (err[1] if err else None)
        super().addSubTest(test, subtest, err)


def _discovery(arguments: list[str]) -> tuple[str, str, str]:
    """Read which folder, which files and which top folder a discovery uses."""
    folder, pattern, top = ".", "test*.py", ""
    for name, value in itertools.pairwise([*arguments, ""]):
        if name in ("-s", "--start-directory"):
            folder = value
        elif name in ("-p", "--pattern"):
            pattern = value
        elif name in ("-t", "--top-level-directory"):
            top = value
    if arguments and not arguments[0].startswith("-"):
        folder = arguments[0]
    return folder, pattern, top


def _flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _flat(each)
        else:
            yield each


def _dotted(name: str) -> str:
    return name.removesuffix(".py").replace("/", ".") if name.endswith(".py") else name


def _module_of(name: str) -> str:
    """The module in which a named test lies."""
    parts = name.split(".")
    for end in range(len(parts), 1, -1):
        with contextlib.suppress(ImportError, ValueError):
            if importlib.util.find_spec(".".join(parts[:end])) is not None:
                return ".".join(parts[:end])
    return parts[0]


def _script(job: ForkedRun, words: list[str], *, module: bool) -> None:
    sys.argv = list(words)
    if module:
        guarded(job, words[0], lambda: runpy.run_module(words[0], run_name="__main__", alter_sys=True))
    else:
        guarded(job, words[0], lambda: runpy.run_path(words[0], run_name="__main__"))


def _code(job: ForkedRun, words: list[str]) -> None:
    sys.argv = ["-c", *words[1:]]
    guarded(job, "check", lambda: exec(words[0], {"__name__": "__main__"}))  # noqa: S102  (what the check says)


def _command(job: ForkedRun, argv: list[str]) -> None:
    def run() -> None:
        done = subprocess.run(argv, check=False, capture_output=True)  # noqa: S603
        sys.exit(done.returncode)

    guarded(job, "check", run)


def _here(arguments: Sequence[str], root: str) -> list[str]:
    """Options under which pytest looks into no folder above the project: it may see those, but not read them."""
    at = os.getcwd()
    named = [os.path.dirname(each.split("::")[0]) for each in arguments if not each.startswith("-")]
    own = any(_has_settings(folder) for folder in {at, *map(os.path.abspath, named)})
    return ["--rootdir", at, "--confcutdir", root, *([] if own else ["-c", os.devnull])]


def _has_settings(folder: str) -> bool:
    """Tell whether a file there holds settings of pytest."""
    for name, mark in _SETTINGS.items():
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                if mark in file.read(1_000_000):
                    return True
    return False


def _is_here(module: object, root: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(root + os.sep) and not is_installed(file[len(root) :])
