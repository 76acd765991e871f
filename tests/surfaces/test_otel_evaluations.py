"""Verdicts, trials and lessons shown or withheld leave as events of OpenTelemetry."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

import ratchet
from ratchet.integrations import otel_evaluations
from ratchet.integrations.otel_evaluations import EvaluationEvents

ERROR = "fatal: The current branch main has no upstream branch."


def test_what_was_decided_leaves_once_as_an_evaluation(home: Path) -> None:
    kept = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    with ratchet.Ratchet(home, withheld_share=0.5) as r:
        r.lessons.add(when=ERROR, do="git push -u origin HEAD", state="active", scope="global")
        r.settings("shop", max_retries=ratchet.Range(1, 9, default=1)).current()
        events = EvaluationEvents(home=home, provider=provider, since=0.0)
        for number in range(20):
            r.failed("shop", tool="Bash", input={"command": "git push"}, error=ERROR, session=f"s{number}")
        trial = r.trials.open("settings:shop", {"max_retries": 3})
        r.trials.stop(trial.id, reason="enough")
        assert events.emit() == len(kept.get_finished_logs()) == 21
        assert events.emit() == 0
        events.close()
    provider.shutdown()
    told = [each.log_record for each in kept.get_finished_logs()]
    assert {each.event_name for each in told} == {"gen_ai.evaluation.result"}
    said = [dict(each.attributes or {}) for each in told]
    labels = [
        each["gen_ai.evaluation.score.label"] for each in said if each["gen_ai.evaluation.name"] == "ratchet.lesson"
    ]
    assert set(labels) == {"shown", "withheld"}
    assert all(each["gen_ai.conversation.id"] for each in said if each["gen_ai.evaluation.name"] == "ratchet.lesson")
    [closed] = [each for each in said if each["gen_ai.evaluation.name"] == "ratchet.trial"]
    assert closed["ratchet.record"] == trial.id
    assert closed["gen_ai.evaluation.score.value"] == 0.0


def test_a_span_processor_has_them_leave_by_themselves_and_of_two_one_tells_each(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    monkeypatch.setattr(
        otel_evaluations,
        "get_logger",
        lambda name, logger_provider: provider.get_logger(name),
    )
    first, second = ratchet.SpanProcessor(home=home), ratchet.SpanProcessor(home=home)
    first.force_flush()
    assert not kept.get_finished_logs()
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    with ratchet.Ratchet(home, withheld_share=0.5) as r:
        r.lessons.add(when=ERROR, do="git push -u origin HEAD", state="active", scope="global")
        second.force_flush()  # from here on
        for number in range(6):
            r.failed("shop", tool="Bash", input={"command": "git push"}, error=ERROR, session=f"s{number}")
        first.force_flush()
        second.force_flush()
        assert len(kept.get_finished_logs()) == 6
        r.failed("shop", tool="Bash", input={"command": "git push"}, error=ERROR, session="s6")
    first.shutdown()
    second.shutdown()
    assert len(kept.get_finished_logs()) == 7
    provider.shutdown()


def test_nothing_is_opened_where_no_logs_are_set_up(home: Path) -> None:
    processor = ratchet.SpanProcessor(home=home)
    processor.force_flush()
    processor.shutdown()
    assert not (home / "ratchet.db").exists()
