"""Notifiers against servers on this machine: what arrives, what never leaks, and that nothing touches the host."""

from __future__ import annotations

import json
import logging
import os
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ratchet.errors import BackendError, UsageError
from ratchet.improving.notifiers import from_environment
from ratchet.improving.notifiers.email import EmailNotifier
from ratchet.improving.notifiers.log import LogNotifier
from ratchet.improving.notifiers.outbox import Outbox
from ratchet.improving.notifiers.web import SlackNotifier, TelegramNotifier, WebhookNotifier
from ratchet.ports import Notice, Notifier

SECRET = "T0KENverysecret"
NOTICE = Notice(title="kept timeout_s=45", text="42 % -> 91 %", level="warning", record="t1", at=5.0)


class Http:
    """A server that keeps what it was sent and answers with one status."""

    def __init__(self, status: int = 200, location: str = "") -> None:
        got: list[tuple[str, dict[str, str], bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                got.append((self.path, dict(self.headers), body))
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.end_headers()

            def log_message(self, *args: object) -> None: ...

        self.got = got
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def http(status: int = 200, location: str = "") -> Iterator[Http]:
    server = Http(status, location)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


class Smtp(socketserver.StreamRequestHandler):
    """As much SMTP as one mail takes."""

    got: list[str]

    def handle(self) -> None:
        def say(line: str) -> None:
            self.wfile.write(line.encode() + b"\r\n")

        say("220 here")
        while line := self.rfile.readline().decode().strip():
            self.got.append(line)
            verb = line.split()[0].upper()
            if verb == "DATA":
                say("354 go on")
                while (text := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                    self.got.append(text)
            if verb == "QUIT":
                say("221 bye")
                return
            say("250 ok")


@contextmanager
def smtp() -> Iterator[tuple[int, list[str]]]:
    got: list[str] = []
    handler = type("Handler", (Smtp,), {"got": got})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1], got
        server.shutdown()


# -- what arrives ----------------------------------------------------------------------------------------------------


def test_a_webhook_gets_the_whole_notice_and_its_headers() -> None:
    with http() as server:
        WebhookNotifier(f"{server.url}/hook", headers={"Authorization": "Bearer x"}).send(NOTICE)
        (path, headers, body) = server.got[0]
    assert path == "/hook"
    assert headers["Authorization"] == "Bearer x"
    assert json.loads(body) == {
        "title": NOTICE.title,
        "text": NOTICE.text,
        "level": "warning",
        "record": "t1",
        "at": 5.0,
    }


def test_slack_gets_a_text_that_cannot_mention_a_channel() -> None:
    with http() as server:
        SlackNotifier(server.url).send(Notice(title="<!channel> a&b", text="x" * 5000))
        text = json.loads(server.got[0][2])["text"]
    assert text.startswith("&lt;!channel&gt; a&amp;b\n")
    assert len(text) < 3100


def test_telegram_gets_plain_text_within_its_limit() -> None:
    with http() as server:
        TelegramNotifier(SECRET, "42", server=server.url).send(Notice(title="t", text="*" * 9000, level="error"))
        path, _, body = server.got[0]
    assert path == f"/bot{SECRET}/sendMessage"
    said = json.loads(body)
    assert (said["chat_id"], len(said["text"]), "parse_mode" in said) == ("42", 4096, False)
    assert said["text"].startswith("Error: t\n")


def test_a_mail_has_one_subject_line_whatever_the_title_holds() -> None:
    with smtp() as (port, got):
        mail = EmailNotifier(f"smtp://127.0.0.1:{port}", ["a@example.org", "b@example.org"])
        mail.send(Notice(title="kept\r\nBcc: evil@example.org", text="why", record="t1"))
    assert "Subject: [ratchet] kept Bcc: evil@example.org" in got
    assert not any(line.startswith("Bcc") for line in got[: got.index("")])
    told = {
        line.lower() for line in got if line.lower().startswith("rcpt")
    }  # its case differs between versions of Python
    assert told == {"rcpt to:<a@example.org>", "rcpt to:<b@example.org>"}
    assert "why" in got


def test_a_password_is_not_given_to_a_server_without_encryption() -> None:
    with smtp() as (port, got):
        mail = EmailNotifier(f"smtp://me:{SECRET}@127.0.0.1:{port}", ["a@example.org"])
        with pytest.raises(BackendError):
            mail.send(NOTICE)
    assert not any("AUTH" in line.upper() or "MAIL" in line.upper() for line in got)


def test_the_log_has_the_notice_at_its_level(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        LogNotifier().send(NOTICE)
    assert caplog.record_tuples == [("ratchet.notices", logging.WARNING, "kept timeout_s=45: 42 % -> 91 %")]


# -- what never leaks -------------------------------------------------------------------------------------------------


def failing(port: int) -> list[Notifier]:
    return [
        WebhookNotifier(f"http://127.0.0.1:{port}/{SECRET}", timeout_s=0.2),
        SlackNotifier(f"http://127.0.0.1:{port}/{SECRET}", timeout_s=0.2),
        TelegramNotifier(SECRET, "42", server=f"http://127.0.0.1:{port}", timeout_s=0.2),
        EmailNotifier(f"smtp://me:{SECRET}@127.0.0.1:{port}", ["a@example.org"], timeout_s=0.2),
    ]


@pytest.mark.parametrize("at", range(4), ids=["webhook", "slack", "telegram", "email"])
def test_who_hangs_fails_in_time_and_says_no_secret(at: int) -> None:
    with silent_server() as port:
        notifier = failing(port)[at]
        with pytest.raises(BackendError, match="not delivered") as caught:
            notifier.send(NOTICE)
    seen = f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r} {notifier!r}"
    assert SECRET not in seen


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_refusal_is_told_by_its_status(status: int) -> None:
    with http(status) as server, pytest.raises(BackendError, match=str(status)):
        SlackNotifier(server.url).send(NOTICE)


def test_a_redirect_is_not_followed_to_another_host() -> None:
    with http() as other, http(302, other.url) as server:
        with pytest.raises(BackendError, match="302"):
            WebhookNotifier(server.url).send(NOTICE)
        assert other.got == []


def test_wrong_addresses_are_said_without_being_shown() -> None:
    for make in (
        lambda: WebhookNotifier(f"ftp://{SECRET}"),
        lambda: SlackNotifier(SECRET),
        lambda: TelegramNotifier(f"{SECRET}/..", "42"),
        lambda: EmailNotifier(f"smtp:{SECRET}", ["a@example.org"]),
        lambda: EmailNotifier(f"smtp://x:{SECRET}@host:port", ["a@example.org"]),
        lambda: EmailNotifier("smtp://host", ["a@example.org\r\nBcc: b@example.org"]),
    ):
        with pytest.raises(UsageError) as caught:
            make()
        assert SECRET not in str(caught.value)


# -- the environment ---------------------------------------------------------------------------------------------------


def test_the_environment_names_the_notifiers() -> None:
    found = from_environment(
        {
            "RATCHET_NOTIFY_WEBHOOK_URL": "https://example.org/x",
            "RATCHET_NOTIFY_SLACK_URL": "https://example.org/y",
            "RATCHET_NOTIFY_TELEGRAM_TOKEN": SECRET,
            "RATCHET_NOTIFY_TELEGRAM_CHAT": "42",
            "RATCHET_NOTIFY_SMTP_URL": f"smtp://u:{SECRET}@example.org",
            "RATCHET_NOTIFY_EMAIL_TO": "a@example.org, b@example.org",
        }
    )
    assert [each.name for each in found] == ["log", "webhook", "slack", "telegram", "email"]
    assert SECRET not in repr(found)
    assert [each.name for each in from_environment({})] == ["log"]


def test_half_a_setting_is_said() -> None:
    with pytest.raises(UsageError, match="TELEGRAM_CHAT"):
        from_environment({"RATCHET_NOTIFY_TELEGRAM_TOKEN": SECRET})


# -- the outbox --------------------------------------------------------------------------------------------------------


class Kept:
    """Keeps what it gets; `gate` holds it up, `fault` makes it fail."""

    def __init__(self, name: str = "kept", *, fault: Exception | None = None) -> None:
        self.name = name
        self.gate = threading.Event()
        self.gate.set()
        self.fault = fault
        self.got: list[Notice] = []

    def send(self, notice: Notice) -> None:
        self.gate.wait(10)
        if self.fault:
            raise self.fault
        self.got.append(notice)


def test_texts_are_redacted_and_capped_before_any_notifier_sees_them() -> None:
    kept = Kept()
    outbox = Outbox([kept])
    outbox.tell(Notice(title="a\nb", text=f"Authorization: Bearer {SECRET}{'0' * 20} {'x' * 9000}"))
    outbox.close()
    (got,) = kept.got
    assert got.title == "a b"
    assert SECRET not in got.text
    assert len(got.text) < 3_100


def test_one_that_hangs_or_fails_holds_up_neither_the_host_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    hangs, fails, works = Kept("hangs"), Kept("fails", fault=RuntimeError(f"api_key={SECRET}{'0' * 20}")), Kept("works")
    hangs.gate.clear()
    outbox = Outbox([hangs, fails, works], waiting=5)
    for n in range(20):
        outbox.tell(Notice(title=f"n{n}"))
        while len(works.got) < n + 1:  # so that only the hanging one falls behind
            time.sleep(0.001)
    outbox.close(0.1)
    assert [each.title for each in works.got] == [f"n{n}" for n in range(20)]
    assert outbox.dropped["hangs"] >= 14
    assert outbox.dropped["fails"] == 20
    assert SECRET not in caplog.text
    hangs.gate.set()


def test_closing_delivers_what_waits_and_takes_no_more() -> None:
    kept = Kept()
    outbox = Outbox([kept])
    for n in range(5):
        outbox.tell(Notice(title=f"n{n}"))
    outbox.close()
    outbox.tell(Notice(title="late"))
    assert len(kept.got) == 5
    assert outbox.dropped == {"kept": 1}
    outbox.close()


def test_a_forked_child_delivers_by_itself() -> None:
    with http() as server:
        outbox = Outbox([WebhookNotifier(server.url)])
        outbox.tell(Notice(title="parent"))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                outbox.tell(Notice(title="child"))
                outbox.close(5)
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        outbox.close(5)
        assert sorted(json.loads(body)["title"] for _, _, body in server.got) == ["child", "parent"]
