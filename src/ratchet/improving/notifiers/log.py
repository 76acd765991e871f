"""Notices into the host's own log."""

from __future__ import annotations

import logging

from ratchet.ports import Notice

log = logging.getLogger("ratchet.notices")
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class LogNotifier:
    """Writes to the logger `ratchet.notices`."""

    name = "log"

    def send(self, notice: Notice) -> None:
        extra = {"record": notice.record, "at": notice.at}
        log.log(_LEVELS[notice.level], "%s%s", notice.title, f": {notice.text}" if notice.text else "", extra=extra)
