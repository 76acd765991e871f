"""Runs tests that are not pytest's, and tells what became of each: those of unittest, or a script as one test."""

from __future__ import annotations

import io
import os
import runpy
import sys
import unittest

_WHOLE = "the check"


class ToldCases(unittest.TestResult):
    """Tells outcomes as they come."""

    def __init__(self, tell, candidate, watch):
        super().__init__()
        self._say, self._candidate, self._watch = tell, candidate, watch

    def tell(self, test, outcome):
        self._say("outcome", [test.id(), outcome])

    def startTest(self, test):
        super().startTest(test)
        self.tell(test, "passed")

    def stopTest(self, test):
        super().stopTest(test)
        if self._candidate is not None:
            self._candidate.tell_notes(self._say, test.id())
        if self._watch is not None:
            self._watch.look(test.id())

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, "failed")

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, "failed" if isinstance(test, unittest.TestCase) else "error")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.tell(test, "failed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.tell(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.tell(test, "xfailed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.tell(test, "failed")


def run(run, tell, only, candidate, watch):
    """Run what a check comes to (`testruns.SuiteRun`); the exit code."""
    words = list(run["arguments"])
    if run["runner"] == "unittest":
        return _unittest(words, tell, only, ToldCases(tell, candidate, watch))
    tell("ids", [_WHOLE])
    code = _script(run["runner"], words)
    tell("outcome", [_WHOLE, "failed" if code else "passed"])
    if candidate is not None:
        candidate.tell_notes(tell, _WHOLE)
    if watch is not None:
        watch.look(_WHOLE)
    tell("finished", True)
    return code


def _unittest(words, tell, only, heard):
    class Runner:
        def run(self, tests):
            every = [*_flat(tests)]
            tell("ids", [each.id() for each in every])
            unittest.TestSuite(each for each in every if only is None or each.id() in only)(heard)
            return heard

    sys.argv[:] = ["python -m unittest"]
    unittest.main(module=None, argv=["python -m unittest", *words], testRunner=Runner(), exit=False)
    tell("finished", True)
    return 0


def _flat(tests):
    for each in tests:
        if isinstance(each, unittest.TestSuite):
            yield from _flat(each)
        else:
            yield each


def _script(runner, words):
    sys.argv[:] = words
    heard = sys.stdout
    sys.stdout = io.StringIO()
    try:
        if runner == "code":
            sys.argv[:] = ["-c", *words[1:]]
            exec(compile(words[0], "<string>", "exec"), {"__name__": "__main__"})
        elif runner == "module":
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        return 0 if ended.code is None else ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        return 1
    finally:
        sys.stdout = heard
    return 0
