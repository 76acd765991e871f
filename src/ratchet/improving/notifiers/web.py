"""Notices over HTTP: any webhook, Slack, Telegram. Addresses and tokens are secrets and are never shown."""

from __future__ import annotations

import json
import urllib.request
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit

from ratchet.errors import BackendError, UsageError
from ratchet.ports import Notice
from ratchet.records import Json, Row

TIMEOUT_S = 5.0
"""For connecting and for each read; a notice that takes longer is lost."""
_TELEGRAM = "https://api.telegram.org"
_TELEGRAM_LIMIT = 4096  # characters of one message (Bot API, sendMessage)
_SLACK_LIMIT = 3000  # characters of one text (Block Kit, section)
_MARKS = {"info": "", "warning": "Warning: ", "error": "Error: "}


class WebhookNotifier:
    """Sends each notice as a JSON object: title, text, level, record, at. `headers` may carry a token.

    Raises UsageError for an address that is not http or https.
    """

    name = "webhook"

    def __init__(self, url: str, *, headers: dict[str, str] | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._url = _checked(url, self.name)
        self._headers = dict(headers or {})
        self._timeout_s = timeout_s

    def send(self, notice: Notice) -> None:
        row: Row = {
            "title": notice.title,
            "text": notice.text,
            "level": notice.level,
            "record": notice.record,
            "at": notice.at,
        }
        _post(self.name, self._url, row, self._timeout_s, self._headers)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({urlsplit(self._url).hostname})"


class SlackNotifier:
    """Sends to a Slack incoming webhook. Raises UsageError for an address that is not http or https."""

    name = "slack"

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._url = _checked(url, self.name)
        self._timeout_s = timeout_s

    def send(self, notice: Notice) -> None:
        text = f"{_MARKS[notice.level]}{notice.title}" + (f"\n{notice.text}" if notice.text else "")
        # Else a text from a tool could mention a whole channel or dress a link up (Slack, "Escaping text").
        escaped = text[:_SLACK_LIMIT].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        _post(self.name, self._url, {"text": escaped}, self._timeout_s, {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({urlsplit(self._url).hostname})"


class TelegramNotifier:
    """Sends as a Telegram bot to one chat, as plain text. `server` is another Bot API server."""

    name = "telegram"

    def __init__(self, token: str, chat: str, *, server: str = _TELEGRAM, timeout_s: float = TIMEOUT_S) -> None:
        if not token or not chat or set(token) & set("/?# \t\r\n"):
            raise UsageError("telegram: the bot's token or the chat's id is missing or malformed")
        self._url = f"{_checked(server, self.name)}/bot{token}/sendMessage"
        self._chat = chat
        self._timeout_s = timeout_s

    def send(self, notice: Notice) -> None:
        text = f"{_MARKS[notice.level]}{notice.title}" + (f"\n\n{notice.text}" if notice.text else "")
        body: Row = {"chat_id": self._chat, "text": text[:_TELEGRAM_LIMIT], "disable_web_page_preview": True}
        _post(self.name, self._url, body, self._timeout_s, {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}(chat={self._chat})"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would hand the secret in the address or a header to another host."""

    def redirect_request(self, *_asked: object, **_named: object) -> None: ...


_opener = urllib.request.build_opener(_NoRedirects)


def _checked(url: str, name: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{name}: its address is no http or https address (not shown: it is a secret)")
    return url.rstrip("/")


def _post(name: str, url: str, body: Json, timeout_s: float, headers: dict[str, str]) -> None:
    """POST as JSON. Raises BackendError; its message and its causes hold nothing of the address."""
    data = json.dumps(body).encode()
    failed = ""
    try:
        request = urllib.request.Request(  # noqa: S310  (its scheme was checked)
            url, data, {"Content-Type": "application/json", "User-Agent": "ratchet", **headers}, method="POST"
        )
        with _opener.open(request, timeout=timeout_s) as answer:
            answer.read(1024)
    except HTTPError as error:
        failed = f"HTTP status {error.code}"
        error.close()
    except (OSError, HTTPException, ValueError) as error:  # URLError and timeouts are OSErrors
        failed = type(getattr(error, "reason", None) or error).__name__
    if failed:  # outside of `except`, so that no cause drags the address along
        raise BackendError(f"{name}: the notice was not delivered ({failed}); check its address and the network")
