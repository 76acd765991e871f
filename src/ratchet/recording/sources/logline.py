"""Takes the start of a log line apart: its time, its level, who wrote it, and where its message begins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from ratchet.recording.sources import fields

_HEAD_CHARS = 400  # no real prefix is longer
_ISO = re.compile(
    r"(?:(?:time|ts|timestamp|t)=)?[\"\[]?(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d:\d\d:\d\d)"
    r"(?:[.,](\d{1,9}))?\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)?[\"\]]?"
)
_SYSLOG = re.compile(
    r"([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d)(?:\.\d+)? (\S{1,100}) ([\w./@-]{1,80})(?:\[\d+\])?: "
)
_APACHE = re.compile(r"\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d)(?:\.\d+)? (\d{4})\]")
_KLOG = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d)\.\d+ +\d+ ([\w.-]{1,100}):\d+\] ")
_CLOCK = re.compile(r"\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s")
_LEVEL = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE|PANIC|EMERG|EMERGENCY|ALERT)\b"
    r"|\[(?:\w{1,30}:)?(trace|debug|info|notice|warn|warning|error|err|critical|crit|fatal|panic|emerg|alert)\d?\]"
    r"|\b(?:level|lvl|severity)=\"?(trace|debug|info|notice|warn|warning|error|err|critical|crit|fatal|panic)\b"
    r"|(?<=\s)(info|warn|error|fatal)(?=:? )"
)
_LEVEL_FIRST = re.compile(
    r"[\[<(]?(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE|PANIC)[\]>)]?(?:[:\s]|$)"
)
_WRITER_BEFORE = re.compile(r"(?:^|[\s\[(])([A-Za-z_][\w.$-]{1,80})[\])]? *[-:|]? *\Z")
_WRITER_AFTER = re.compile(
    r"[\]\s:|-]*(?:\[[^\]\n]{1,60}\] *)?([A-Za-z_][\w.$/-]{1,80})(?:\[[^\]\n]{0,40}\])?(?: - |: ?| \| )"
)
_FAILING = frozenset(("ERROR", "ERR", "CRITICAL", "CRIT", "FATAL", "SEVERE", "PANIC", "EMERG", "EMERGENCY", "ALERT"))
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_KLOG_LEVELS = {"I": "INFO", "W": "WARN", "E": "ERROR", "F": "FATAL"}


@dataclass(frozen=True, slots=True)
class LogEntry:
    """The first line of a log entry. `level` is "" where it names none; `message` the text behind the prefix."""

    at: float | None
    level: str
    writer: str
    message: str

    @property
    def fails(self) -> bool:
        """Tell whether the level reports a failure."""
        return self.level in _FAILING


def entry_of(line: str, year: int) -> LogEntry | None:
    """A line that begins a log entry taken apart; None for any other. `year` completes the times that lack one."""
    start = line[:_HEAD_CHARS]
    found = _klog(start, line, year) or _syslog(start, line, year)
    if found is not None:
        return found
    stamp = _ISO.match(start) or _APACHE.match(start) or _CLOCK.match(start)
    if stamp is None:
        first = _LEVEL_FIRST.match(start)
        return _levelled(line, 0, None, _LEVEL.search(start, 0, first.end())) if first else None
    return _levelled(line, stamp.end(), _time(stamp), _LEVEL.search(start, stamp.end(), stamp.end() + 120))


def _levelled(line: str, begin: int, at: float | None, level: re.Match[str] | None) -> LogEntry:
    if level is None:
        return LogEntry(at, "", "", line[begin:].removeprefix(" ").rstrip())  # a frame keeps its indentation
    name = next(group for group in level.groups() if group).upper()
    rest = line[level.end() :]
    before = _WRITER_BEFORE.search(line[begin : level.start()].rstrip(" [(<-:|"))
    after = None if before else _WRITER_AFTER.match(rest[:_HEAD_CHARS])
    writer = before[1] if before else after[1] if after else ""
    return LogEntry(at, name, writer, rest.lstrip(" \t]>):|-").strip() or line.strip())


def _klog(start: str, line: str, year: int) -> LogEntry | None:
    found = _KLOG.match(start)
    if found is None:
        return None
    at = _seconds(year, int(found[2]), int(found[3]), found[4])
    return LogEntry(at, _KLOG_LEVELS[found[1]], found[5].partition(".")[0], line[found.end() :].rstrip())


def _syslog(start: str, line: str, year: int) -> LogEntry | None:
    found = _SYSLOG.match(start)
    if found is None or found[1] not in _MONTHS:
        return None
    at = _seconds(year, _MONTHS.index(found[1]) + 1, int(found[2]), found[3])
    inner = line[found.end() :]
    level = _LEVEL.search(inner[:80])
    name = next(group for group in level.groups() if group).upper() if level else ""
    return LogEntry(at, name, found[5], inner.rstrip())


def _time(stamp: re.Match[str]) -> float | None:
    if stamp.re is _ISO:
        year, month, day, clock, part, zone = stamp.groups()
        zone = "+00:00" if zone in (None, "Z", "UTC", "GMT") else zone
        return fields.instant(f"{year}-{month}-{day}T{clock}.{(part or '0')[:6]:0<6}{zone}")
    if stamp.re is _APACHE and stamp[1] in _MONTHS:
        return _seconds(int(stamp[4]), _MONTHS.index(stamp[1]) + 1, int(stamp[2]), stamp[3])
    return None


def _seconds(year: int, month: int, day: int, clock: str) -> float | None:
    hour, minute, second = (int(part) for part in clock.split(":"))
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:  # the 31st of a short month, 25 o'clock
        return None
