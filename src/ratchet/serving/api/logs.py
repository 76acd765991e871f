"""Log lines that people and machines read: one event a line, its values beside it, secrets taken out."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Literal

from ratchet.failures.redaction.text import redact, redact_json

Form = Literal["text", "json"]
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class Lines(logging.Formatter):
    """`2026-01-31T12:00:00Z info request.served path=/v1/health status=200`, or the same as JSON."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z"
        values = {name: value for name, value in vars(record).items() if name not in _OWN}
        told = redact_json(values)
        assert isinstance(told, dict)
        event = redact(record.getMessage())
        trace = redact(self.formatException(record.exc_info)) if record.exc_info else ""
        if self._form == "json":
            line = {"at": at, "level": record.levelname.lower(), "event": event, "logger": record.name, **told}
            return json.dumps({**line, "trace": trace} if trace else line, ensure_ascii=False)
        said = " ".join(f"{name}={_plain(value)}" for name, value in told.items())
        return " ".join(filter(None, (at, record.levelname.lower(), event, said))) + (f"\n{trace}" if trace else "")


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return json.dumps(text, ensure_ascii=False) if not text or any(c.isspace() or c == "=" for c in text) else text


def configure(form: Form, level: str) -> None:
    """Send this process's log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(form))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("ratchet").setLevel(level.upper())
