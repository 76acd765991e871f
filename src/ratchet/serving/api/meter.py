"""Counters of a server about itself, in Prometheus' text form (version 0.0.4)."""

from __future__ import annotations

import resource
import sys
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Labels = tuple[tuple[str, str], ...]


class Meter:
    """Counts requests and outcomes. Safe under threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.time()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, float] = {}
        self.outcomes = 0
        """Outcomes that were taken over HTTP."""
        self.lost = 0
        """Outcomes that could not be written down: their senders were told so."""

    def served(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request of a route (its pattern, so that there are few of them)."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._buckets[route, bisect_left(_BOUNDS_S, seconds)] += 1
            self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def took(self, outcomes: int, lost: int = 0) -> None:
        with self._lock:
            self.outcomes += outcomes
            self.lost += lost

    def text(self, gauges: Mapping[str, tuple[str, Iterable[tuple[Labels, float]]]]) -> str:
        """Everything that was counted, and `gauges`: name -> (what it says, values by labels)."""
        with self._lock:
            lines = [*self._counted()]
        lines += _gauge("ratchet_process_start_time_seconds", "When this server started.", [((), self._started)])
        lines += _gauge("ratchet_process_resident_memory_bytes", "Memory in use.", [((), float(resident_bytes()))])
        used = resource.getrusage(resource.RUSAGE_SELF)
        lines += _counter("ratchet_process_cpu_seconds_total", "CPU time.", [((), used.ru_utime + used.ru_stime)])
        for name, (says, values) in gauges.items():
            lines += _gauge(name, says, values)
        return "\n".join(lines) + "\n"

    def _counted(self) -> Iterable[str]:
        requests = [
            ((("method", method), ("route", route), ("status", str(status))), float(n))
            for (method, route, status), n in sorted(self._requests.items())
        ]
        yield from _counter("ratchet_http_requests_total", "Requests that were answered.", requests)
        name = "ratchet_http_request_seconds"
        yield f"# HELP {name} How long answers took (a stream: until it began)."
        yield f"# TYPE {name} histogram"
        for route in sorted(self._seconds):
            total = 0
            for index, bound in enumerate(_BOUNDS_S):
                total += self._buckets[route, index]
                yield _line(f"{name}_bucket", (("route", route), ("le", f"{bound:g}")), total)
            total += self._buckets[route, len(_BOUNDS_S)]
            yield _line(f"{name}_bucket", (("route", route), ("le", "+Inf")), total)
            yield _line(f"{name}_sum", (("route", route),), self._seconds[route])
            yield _line(f"{name}_count", (("route", route),), total)
        yield from _counter("ratchet_outcomes_taken_total", "Outcomes taken over HTTP.", [((), float(self.outcomes))])
        yield from _counter("ratchet_outcomes_refused_total", "Outcomes not written down.", [((), float(self.lost))])


def resident_bytes() -> int:
    """Memory of this process that is in use now (on Linux; elsewhere the most that it ever used)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as told:  # noqa: PTH123
            return int(told.read().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def _counter(name: str, says: str, values: Iterable[tuple[Labels, float]]) -> list[str]:
    return [f"# HELP {name} {says}", f"# TYPE {name} counter", *(_line(name, labels, n) for labels, n in values)]


def _gauge(name: str, says: str, values: Iterable[tuple[Labels, float]]) -> list[str]:
    return [f"# HELP {name} {says}", f"# TYPE {name} gauge", *(_line(name, labels, n) for labels, n in values)]


def _line(name: str, labels: Labels, value: float) -> str:
    told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{told}}} {value:.10g}" if told else f"{name} {value:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
