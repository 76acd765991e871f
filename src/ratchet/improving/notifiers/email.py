"""Notices as e-mail."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

from ratchet.errors import BackendError, UsageError
from ratchet.ports import Notice

TIMEOUT_S = 10.0


class EmailNotifier:
    """Sends plain text through a mail server.

    `server` is `smtp://user:password@host:587`, which must offer STARTTLS before it is given a password, or
    `smtps://...` (TLS from the start, port 465). Without a user there is no login, and STARTTLS is used where offered.
    Raises UsageError for a malformed address; its message does not show it.
    """

    name = "email"

    def __init__(
        self, server: str, recipients: Sequence[str], *, sender: str = "", timeout_s: float = TIMEOUT_S
    ) -> None:
        try:
            parts = urlsplit(server)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
            raise UsageError("email: the server is no smtp://user:password@host:port (not shown: it is a secret)")
        if not recipients or any(set(each) & set("\r\n") or "@" not in each for each in [*recipients, sender or "@"]):
            raise UsageError("email: the recipients are missing or malformed; write name@example.org")
        self._host = parts.hostname
        self._from_start = parts.scheme == "smtps"
        self._port = port or (465 if self._from_start else 587)
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._recipients = tuple(recipients)
        self._sender = sender or recipients[0]
        self._timeout_s = timeout_s

    def send(self, notice: Notice) -> None:
        message = EmailMessage()
        # A line break in a header would begin another header.
        message["Subject"] = f"[ratchet] {' '.join(notice.title.split())}"[:200]
        message["From"], message["To"] = self._sender, ", ".join(self._recipients)
        message["Date"], message["Message-ID"] = formatdate(localtime=False), make_msgid(domain="ratchet.invalid")
        about = f"\n\n{notice.record}" if notice.record else ""
        message.set_content(f"{notice.title}\n\n{notice.text}{about}\n")
        failed = ""
        try:
            with self._connected() as server:
                server.send_message(message, self._sender, list(self._recipients))
        except smtplib.SMTPResponseException as error:
            failed = f"{type(error).__name__} {error.smtp_code}"
        except (OSError, smtplib.SMTPException, ValueError) as error:
            failed = type(error).__name__
        if failed:  # outside of `except`, so that no cause drags a secret along
            raise BackendError(f"email: the notice was not delivered ({failed}); check server, user and password")

    def _connected(self) -> smtplib.SMTP:
        if self._from_start:
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(self._host, self._port, timeout=self._timeout_s, context=context)
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=self._timeout_s)
        try:
            server.ehlo_or_helo_if_needed()
            if not self._from_start and (self._user or server.has_extn("starttls")):
                server.starttls(context=ssl.create_default_context())
            if self._user:
                server.login(self._user, self._password)
        except BaseException:
            server.close()
            raise
        return server

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._host}:{self._port})"
