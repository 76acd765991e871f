"""Record and recall under `pytest --ratchet`: an outcome for each failure, and the lessons about it in the report."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Generator

import pytest

from ratchet.client import Ratchet
from ratchet.errors import NotFound, RatchetError

AGENT = "pytest"
TITLE = "Ratchet: what is known about this failure"
LESSONS = 2
"""Shown under one traceback: who has to read ten reads none."""
_SHOWN_CHARS = 1_000  # of one lesson
_NO_FAILURES = (pytest.skip.Exception, pytest.xfail.Exception, pytest.exit.Exception)

log = logging.getLogger(__name__)


class Recording:
    """One run of pytest, whose failures share a session."""

    def __init__(self, config: pytest.Config) -> None:
        self._ratchet = Ratchet(home=config.getoption("--ratchet-home"))
        self._project = str(config.rootpath)
        self._session = f"pytest-{uuid.uuid4().hex[:12]}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        error = call.excinfo.value if call.excinfo is not None else None
        if report.failed and isinstance(error, Exception) and not isinstance(error, _NO_FAILURES):
            try:
                self._failed(item, call, report, error)
            except RatchetError as fault:  # a run of tests must not fail by what only watches it
                log.warning("ratchet: %s", fault)
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        failed = [each for name in ("failed", "error") for each in terminalreporter.stats.get(name, [])]
        advised = sum(any(title == TITLE for title, _ in each.sections) for each in failed)
        if failed:
            line = f"ratchet: {len(failed)} recorded, advice for {advised}; `ratchet patterns` shows what recurs"
            terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        self._ratchet.close()

    def _failed(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, error: Exception
    ) -> None:
        self._ratchet.record(
            AGENT,
            task=item.nodeid,
            error=error,
            started_at=call.start,
            duration_s=call.duration,
            session=self._session,
            project=self._project,
            context={"phase": call.when},
        )
        told = self._told(f"{type(error).__name__}: {error}") or self._told(_as_printed(report, error))
        if told:
            report.sections.append((TITLE, told))

    def _told(self, text: str) -> str:
        """Write what helped before, the best first; "" where nothing is known."""
        try:
            found = self._ratchet.recall(text, LESSONS, project=self._project)
        except NotFound:  # the journal is not there yet
            return ""
        return "\n".join(
            f"- {each.text[:_SHOWN_CHARS]}  (worked {each.lesson.worked} of {each.lesson.tried} times)"
            for each in found.lessons
        )


def _as_printed(report: pytest.TestReport, error: Exception) -> str:
    """The failure as the output of a run has it, which is what lessons of `ratchet run` were learnt from."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return type(error).__name__
    said = str(crash.message).partition("\n")[0]
    return f"{report.longreprtext}\nFAILED {report.nodeid} - {said}"
