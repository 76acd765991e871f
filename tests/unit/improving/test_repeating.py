"""What a failure proves decides whether a call is repeated; the dead is probed once; long waits are told."""

from __future__ import annotations

import asyncio
import errno
import functools
import gc
import logging
import socket
import threading
import time
import urllib.error
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratchet
from ratchet.errors import BackendError
from ratchet.improving.calls.breaker import Breakers, target_in
from ratchet.improving.calls.guarded import CallGuard, Options, Timing, guarded
from ratchet.improving.calls.safety import marked, never_sent
from ratchet.improving.calls.tries import Tries
from ratchet.improving.calls.waits import named_wait_s
from ratchet.improving.settings.builtin import Policy

QUICK_S = 0.001


class StatusError(Exception):
    """An SDK's error with a status and headers."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"Error code: {status}")
        self.status_code = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class ConnectTimeout(Exception):  # noqa: N818
    """As httpx and requests name it."""


class ReadTimeout(Exception):  # noqa: N818
    """As httpx and requests name it."""


class APIConnectionError(Exception):
    """As the SDKs name it, whatever the cause."""


def caused(outer: Exception, inner: BaseException) -> Exception:
    outer.__cause__ = inner
    return outer


NOTHING_HAPPENED = [
    ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
    OSError(errno.EHOSTUNREACH, "No route to host"),
    socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
    ConnectTimeout("timed out"),
    caused(APIConnectionError("Connection error."), ConnectionRefusedError(errno.ECONNREFUSED, "refused")),
    RuntimeError("HTTPSConnectionPool(host='x', port=443): Failed to establish a new connection: timed out"),
    RuntimeError("request failed: getaddrinfo ENOTFOUND api.example.com"),
    urllib.error.URLError(ConnectionRefusedError(errno.ECONNREFUSED, "")),
    urllib.error.URLError(socket.gaierror(socket.EAI_NONAME, "")),
    APIConnectionError(ConnectTimeout("timed out")),
    RuntimeError("StatusCode.UNAVAILABLE: failed to connect to all addresses"),
    StatusError(429),
    StatusError(503),
    StatusError(529),
]
AMBIGUOUS = [
    TimeoutError(),
    ReadTimeout("timed out"),
    ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    BrokenPipeError(errno.EPIPE, "Broken pipe"),
    caused(APIConnectionError("Connection error."), ConnectionResetError("reset by peer")),
    RuntimeError("Server disconnected without sending a response: connection reset"),
    RuntimeError("504 Gateway Timeout"),
    RuntimeError("502 Bad Gateway: connect() failed (111: Connection refused) while connecting to upstream"),
    ExceptionGroup("both", [ConnectionRefusedError("refused"), ConnectionResetError("reset by peer")]),
    urllib.error.URLError(ConnectionResetError(errno.ECONNRESET, "")),
    StatusError(500),
    StatusError(502),
    StatusError(504),
]


@pytest.fixture
def r(home: Path) -> Iterator[ratchet.Ratchet]:
    with ratchet.Ratchet(home=home) as made:
        yield made


def tries_of(r: ratchet.Ratchet, error: Exception, *, mark: bool | None = None, idempotent: bool | None) -> int:
    count = []

    def call() -> str:
        count.append(1)
        if len(count) < 3:
            raise error
        return "done"

    if mark is not None:
        call.idempotent = mark  # type: ignore[attr-defined]
    made = r.retry(attempts=3, backoff_s=QUICK_S, recall=False, idempotent=idempotent)(call)
    with suppress(type(error)):
        made()
    return len(count)


@pytest.mark.parametrize("error", [*NOTHING_HAPPENED, *AMBIGUOUS], ids=repr)
def test_only_what_proves_that_nothing_happened_is_repeated_unasked(r: ratchet.Ratchet, error: Exception) -> None:
    proven = any(error is each for each in NOTHING_HAPPENED)
    assert tries_of(r, error, idempotent=None) == (3 if proven else 1)
    assert tries_of(r, error, idempotent=True) == 3
    assert tries_of(r, error, idempotent=False) == 1
    assert tries_of(r, error, mark=False, idempotent=True) == 1
    assert tries_of(r, error, mark=True, idempotent=None) == 3


def test_a_program_that_was_refused_in_its_midst_proves_nothing() -> None:
    import subprocess

    error = subprocess.CalledProcessError(1, ["deploy"], stderr=b"uploaded 3 files\ncurl: connection refused")
    assert not never_sent(error)


def test_a_mark_counts_through_methods_partials_and_decorators() -> None:
    class Tool:
        def pay(self, amount: int) -> int:
            return amount

        pay.idempotent = False  # type: ignore[attr-defined]

    @functools.wraps(Tool.pay)
    def wrapped(*args: object) -> object:
        return None

    for function in (Tool.pay, Tool().pay, functools.partial(Tool().pay, 3), wrapped):
        assert marked(function, True) is False
    assert marked(len, None) is None


def test_that_it_did_not_repeat_is_said_once(r: ratchet.Ratchet, caplog: pytest.LogCaptureFixture) -> None:
    @r.retry(attempts=3, recall=False, circuit_breaker_failures=0)
    def pays() -> None:
        raise ConnectionResetError("reset by peer")

    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            with pytest.raises(ConnectionResetError):
                pays()
    (said,) = (each.getMessage() for each in caplog.records if "not tried again" in each.getMessage())
    assert "idempotent=True" in said


# -- long waits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ["86400", "301", "1e9", "inf", "Infinity", "999999999999"])
def test_a_wait_beyond_the_bound_is_raised_at_once_and_named(r: ratchet.Ratchet, asked: str) -> None:
    error = StatusError(429, retry_after=asked)
    assert tries_of(r, error, idempotent=True) == 1
    (note,) = error.__notes__
    assert f"{float(asked):g} s" in note
    assert tries_of(r, error, idempotent=True) == 1
    assert len(error.__notes__) == 1


@given(st.floats(0.1, 1e300), st.floats(1, 1e6), st.integers(0, 10))
def test_no_wait_that_is_asked_for_passes_the_bound(asked_s: float, bound_s: float, retries: int) -> None:
    policy = Policy(max_retries=retries, max_asked_wait_s=bound_s, wait_budget_s=float("inf"))
    tries = Tries(policy, idempotent=True, can_trim=False, draw=lambda: 0.0)
    again = tries.failed(StatusError(429, retry_after=f"{asked_s}"), now=0)
    assert (again is not None) == (retries > 0 and asked_s <= bound_s)
    assert again is None or again.wait_s == pytest.approx(asked_s)


def test_a_moment_in_the_place_of_a_duration_is_the_time_until_then() -> None:
    now = 1_790_000_000.0
    assert named_wait_s(StatusError(429, retry_after=f"{now + 20:.0f}"), now=now) == 20
    assert named_wait_s(StatusError(429, retry_after=f"{(now + 20) * 1000:.0f}"), now=now) == 20
    assert named_wait_s(RuntimeError("retry-after: 1e9"), now=now) == 1e9


@given(st.integers(0, 299), st.sampled_from(["America/New_York", "UTC", "Asia/Tokyo"]))
def test_a_wait_is_read_in_every_spelling_and_zone(seconds: int, zone: str) -> None:
    now = 1_800_000_000
    at = datetime.fromtimestamp(now + seconds, UTC)
    spelled: list[object] = [
        *(
            seconds,
            f"{seconds}",
            f" {seconds} ",
            f'"{seconds}"',
            f"{seconds}s",
            f"{seconds} seconds",
            f"{seconds * 1000}ms",
        ),
        *(f"{seconds}, 600", f"{seconds}".encode(), [f"{seconds}"], timedelta(seconds=seconds), at, at.isoformat()),
        *(format_datetime(at), format_datetime(at, usegmt=True), at.strftime("%a %b %d %H:%M:%S %Y")),
        *(at.strftime("%A, %d-%b-%y %H:%M:%S GMT"), at.strftime("%a, %d %b %Y %H:%M:%S -0000"), f"{now + seconds}"),
        *(f"{seconds // 60}m{seconds % 60}s", at.strftime("%Y-%m-%dT%H:%M:%SZ")),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        for each in spelled:
            pairs = [("RETRY-AFTER", each)]
            for headers in (dict(pairs), pairs):
                error = StatusError(429)
                error.headers = headers  # type: ignore[assignment]
                assert named_wait_s(error, now=now) == seconds, (each, headers)
            error = StatusError(429)
            error.retry_after = each  # type: ignore[attr-defined]
            assert named_wait_s(error, now=now) == seconds, each
    time.tzset()


class NoNumber:
    def __float__(self) -> float:
        raise RuntimeError("asked too early")


@pytest.mark.parametrize(
    "said",
    [
        NoNumber(),
        [NoNumber()],
        "",
        "soon",
        "nan",
        "-5",
        "Fri, 31 Dec 99999 23:59:59 GMT",
        -1,
        -(10**400),
        True,
        None,
        [],
    ],
)
def test_what_names_no_wait_is_none(said: object) -> None:
    error = RuntimeError("busy")
    error.retry_after = said  # type: ignore[attr-defined]
    assert named_wait_s(error, now=1_800_000_000) is None


@pytest.mark.parametrize("asked", [10**400, float("inf"), 1e12])
def test_a_wait_that_no_clock_holds_is_declined_whatever_may_be_waited(asked: float) -> None:
    policy = Policy(max_retries=3, max_asked_wait_s=float("inf"), wait_budget_s=float("inf"))
    error = StatusError(429)
    error.retry_after = asked  # type: ignore[attr-defined]
    assert Tries(policy, idempotent=None, can_trim=False, draw=lambda: 0.0).failed(error, now=0) is None
    assert "longer than" in error.__notes__[0]


@pytest.mark.parametrize("wrong", [-1, float("nan"), "3", None, True])
@pytest.mark.parametrize(
    "option", ["attempts", "backoff_s", "max_wait_s", "max_asked_wait_s", "circuit_breaker_failures"]
)
def test_an_option_that_is_no_such_number_is_refused_where_it_is_given(option: str, wrong: object) -> None:
    with pytest.raises(ratchet.UsageError, match=option):
        ratchet.retry(**{option: wrong})  # type: ignore[arg-type]


def test_an_answer_that_cannot_be_weighed_is_an_answer() -> None:
    class Scalar:
        def __len__(self) -> int:
            raise TypeError("len() of unsized object")

    service = Service(empty_retries=2)
    assert isinstance(guarded(service.guard, Scalar, Options())(), Scalar)


# -- circuits ----------------------------------------------------------------------------------------------------------


class Service:
    """A service that can be dead, and a clock."""

    def __init__(self, **values: object) -> None:
        self.now = 0.0
        self.error: Exception | None = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        self.asked: list[str] = []
        self.values: dict[str, object] = {"max_retries": 4, "backoff_s": 0.0, "circuit_breaker_failures": 3, **values}
        self.tried: dict[str, object] = {}
        timing = Timing(sleep=lambda s: None, sleep_async=lambda s: asyncio.sleep(0), monotonic=lambda: self.now)
        self.guard = CallGuard(agent="a", values=lambda: self.values, trying=self._trying, timing=timing)

    @contextmanager
    def _trying(self, **values: object) -> Iterator[None]:
        self.tried = values
        try:
            yield
        finally:
            self.tried = {}

    def ask(self, url: str) -> str:
        self.asked.append(f"{url}{self.tried.get('model', '')}")
        if self.error and not self.tried:
            raise self.error
        return "ok"

    def call(self, url: str, options: Options | None = None) -> int:
        """Make one call; how often the service was asked for it."""
        before = len(self.asked)
        with suppress(OSError, BackendError, ValueError, RuntimeError):
            guarded(self.guard, self.ask, options or Options())(url)
        return len(self.asked) - before


ONE, TWO = "https://one.example/v1", "https://two.example/v1"


def test_a_dead_service_costs_one_probe_and_not_all_tries_of_every_call() -> None:
    service = Service()
    assert [service.call(ONE) for _ in range(3)] == [5, 5, 5]
    assert [service.call(ONE) for _ in range(20)] == [0] * 20
    service.now += 61
    assert [service.call(ONE) for _ in range(5)] == [1, 0, 0, 0, 0]
    service.error = None
    assert service.call(ONE) == 0
    service.now += 61
    assert [service.call(ONE) for _ in range(3)] == [1, 1, 1]


def test_the_error_of_an_open_circuit_says_what_when_and_why() -> None:
    service = Service()
    for _ in range(3):
        service.call(ONE)
    with pytest.raises(BackendError, match=r"circuit breaker is open to one\.example.*60 s") as caught:
        guarded(service.guard, service.ask, Options())(ONE)
    cause = caught.value.__cause__
    assert (type(cause), str(cause)) == (type(service.error), str(service.error))
    assert ratchet.classify(caught.value).kind == "cascade"


def test_each_target_has_a_circuit_of_its_own() -> None:
    service = Service()
    for _ in range(4):
        service.call(ONE)
    assert service.call(TWO) == 5
    assert service.call(f"{ONE}/other?key=1") == 0


@pytest.mark.parametrize(
    "error", [ValueError("bad input"), RuntimeError("400 Bad Request: schema"), RuntimeError("429 Too Many Requests")]
)
def test_what_the_next_call_need_not_meet_opens_nothing(error: Exception) -> None:
    service = Service(max_retries=0)
    service.error = error
    assert [service.call(ONE) for _ in range(10)] == [1] * 10


def test_different_failures_and_answers_between_begin_the_count_anew() -> None:
    service = Service(max_retries=0)
    errors: list[Exception | None] = [ConnectionRefusedError("refused"), TimeoutError("late"), None]
    for n in range(12):
        service.error = errors[n % 3]
        assert service.call(ONE) == 1


def test_a_breaker_that_nobody_declared_does_nothing() -> None:
    service = Service(max_retries=0)
    del service.values["circuit_breaker_failures"]
    assert [service.call(ONE) for _ in range(5)] == [1] * 5
    service.values["circuit_breaker_s"] = 5.0
    assert [service.call(ONE) for _ in range(5)] == [1] * 5


def test_zero_switches_it_off_and_a_number_sets_it() -> None:
    assert [Service(circuit_breaker_failures=0, max_retries=0).call(ONE) for _ in range(5)] == [1] * 5
    service = Service(circuit_breaker_failures=1, max_retries=0, circuit_breaker_s=5.0)
    assert [service.call(ONE) for _ in range(3)] == [1, 0, 0]
    service.now += 5
    assert service.call(ONE) == 1


def test_an_open_circuit_sends_calls_to_the_next_model_at_once() -> None:
    service = Service(model="large", fallback_models=("small",), max_retries=0)
    for _ in range(3):
        service.call(ONE)
    del service.asked[:]
    assert service.call(ONE) == 1
    assert service.asked == [f"{ONE}small"]


@pytest.mark.parametrize("kind", ["coroutine", "lambda", "generator", "async generator"])
def test_every_kind_of_function_has_it(kind: str) -> None:
    service = Service(max_retries=0)

    async def coroutine() -> str:
        return service.ask(ONE)

    def generator() -> Iterator[str]:
        yield service.ask(ONE)

    async def stream() -> object:
        yield service.ask(ONE)

    async def first(made: Callable[[], object]) -> object:
        return [each async for each in made()]  # type: ignore[attr-defined]

    run: dict[str, Callable[[], object]] = {
        "coroutine": lambda: asyncio.run(guarded(service.guard, coroutine, Options())()),  # type: ignore[arg-type]
        "lambda": lambda: asyncio.run(guarded(service.guard, lambda: coroutine(), Options())()),  # type: ignore[arg-type]
        "generator": lambda: list(guarded(service.guard, generator, Options())()),  # type: ignore[call-overload]
        "async generator": lambda: asyncio.run(first(guarded(service.guard, stream, Options()))),
    }
    for _ in range(9):
        with pytest.raises((OSError, BackendError)):
            run[kind]()
    assert len(service.asked) == 3
    service.now += 61
    service.error = None
    run[kind]()
    run[kind]()
    assert len(service.asked) == 5


def test_the_probe_that_fails_is_waited_for_as_set_although_it_had_tries_left() -> None:
    service = Service(circuit_breaker_s=5.0)
    for _ in range(3):
        service.call(ONE)
    service.now += 5
    assert service.call(ONE) == 1
    service.now += 5
    assert service.call(ONE) == 1


def test_the_probe_that_fails_leaves_its_call_to_the_next_model() -> None:
    service = Service(model="large", fallback_models=("small",), max_retries=2)
    for _ in range(3):
        service.call(ONE)
    service.now += 61
    del service.asked[:]
    assert service.call(ONE) == 2
    assert service.asked == [ONE, f"{ONE}small"]


def test_the_probe_that_is_answered_by_a_refusal_closes_the_circuit_and_goes_on() -> None:
    service = Service()
    for _ in range(3):
        service.call(ONE)
    service.now += 61
    service.error = RuntimeError("429 Too Many Requests")
    assert [service.call(ONE), service.call(ONE)] == [5, 5]


class OwnWayError(ConnectionError):
    def __init__(self, *number: int, body: str) -> None:
        super().__init__(*number, f"refused: {body}")
        self.body = body


class ByNewError(ConnectionError):
    def __new__(cls, *, body: str) -> Self:
        return super().__new__(cls, body)

    def __init__(self, *, body: str) -> None:
        super().__init__(body)


@pytest.mark.parametrize(
    "made",
    [
        lambda: ConnectionRefusedError(111, "refused"),
        lambda: urllib.error.URLError("refused"),
        lambda: OwnWayError(body="x"),
        lambda: OwnWayError(111, body="x"),
        lambda: ByNewError(body="refused"),
    ],
    ids=["OSError", "URLError", "own", "numbered", "new"],
)
def test_a_failure_that_is_counted_keeps_where_it_came_from_and_the_circuit_keeps_no_call_alive(
    made: Callable[[], OSError],
) -> None:
    class Held:
        pass

    service = Service(max_retries=0)
    held: list[weakref.ref[Held]] = []

    def call() -> None:
        local = Held()
        held.append(weakref.ref(local))
        raise made()

    again = guarded(service.guard, call, Options())
    for _ in range(3):
        with pytest.raises(OSError, match="refused") as caught:
            again()
        assert caught.traceback[-1].name == "call"
    with pytest.raises(BackendError, match="refused") as opened:
        again()
    cause = opened.value.__cause__
    assert isinstance(cause, OSError)
    assert (type(cause), str(cause), cause.errno) == (type(made()), str(made()), made().errno)
    if not isinstance(cause, ByNewError):
        assert cause.__traceback__ is None
        del caught, opened, cause
        gc.collect()
        assert [each() for each in held] == [None] * 3


@pytest.mark.parametrize("kind", ["function", "coroutine", "lambda", "generator", "async generator"])
def test_a_probe_that_is_cancelled_lets_another_call_probe(kind: str) -> None:
    service = Service(max_retries=0)
    dead = service.error
    assert dead is not None
    ended = SystemExit() if kind in ("function", "generator") else asyncio.CancelledError()

    def ask() -> str:
        if service.error is None and len(service.asked) == 3:
            service.asked.append(ONE)
            raise ended
        return service.ask(ONE)

    async def coroutine() -> str:
        return ask()

    def generator() -> Iterator[str]:
        yield ask()

    async def stream() -> object:
        yield ask()

    async def first(made: Callable[[], object]) -> object:
        return [each async for each in made()]  # type: ignore[attr-defined]

    run: dict[str, Callable[[], object]] = {
        "function": guarded(service.guard, ask, Options()),
        "coroutine": lambda: asyncio.run(guarded(service.guard, coroutine, Options())()),  # type: ignore[arg-type]
        "lambda": lambda: asyncio.run(guarded(service.guard, lambda: coroutine(), Options())()),  # type: ignore[arg-type]
        "generator": lambda: list(guarded(service.guard, generator, Options())()),  # type: ignore[call-overload]
        "async generator": lambda: asyncio.run(first(guarded(service.guard, stream, Options()))),
    }
    for _ in range(3):
        with pytest.raises(type(dead)):
            run[kind]()
    service.now += 61
    service.error = None
    with pytest.raises(type(ended)):
        run[kind]()
    run[kind]()
    assert len(service.asked) == 5


def test_of_many_threads_one_probes() -> None:
    breakers = Breakers()
    assert breakers.failed("t", OSError("dead"), "dead", now=0, failures=1, open_s=10)
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(breakers.admit("t", now=11)[0])) for _ in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found.count(True) == 1


def test_targets_are_forgotten_and_never_hold_a_secret() -> None:
    breakers = Breakers()
    for n in range(5_000):
        breakers.failed(f"t{n}", OSError("dead"), "dead", now=0, failures=1, open_s=10)
    assert breakers.admit("t0", now=1) == (False, None)
    word = "w" * 12
    assert word not in target_in((f"https://me:{word}@host:1/x?key={word}", word), {"password": word})
    assert target_in((), {"model": "m", "url": ONE}) == "m one.example"
