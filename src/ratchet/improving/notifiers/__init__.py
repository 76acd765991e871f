"""Ways to reach a person, and the outbox that keeps them away from the host.

Which ones are used is read from the environment, and nowhere else: their addresses are secrets.
"""

from __future__ import annotations

from collections.abc import Mapping

from ratchet.config import NOTIFY_PREFIX as PREFIX
from ratchet.errors import UsageError
from ratchet.improving.notifiers.email import EmailNotifier
from ratchet.improving.notifiers.log import LogNotifier
from ratchet.improving.notifiers.web import SlackNotifier, TelegramNotifier, WebhookNotifier
from ratchet.ports import Notifier


def from_environment(environ: Mapping[str, str]) -> list[Notifier]:
    """The notifiers that the environment names, the log first.

    Raises UsageError naming the variable that is wrong or missing, never its value.
    """
    given = {name.removeprefix(PREFIX): value.strip() for name, value in environ.items() if name.startswith(PREFIX)}
    found: list[Notifier] = [LogNotifier()]
    if given.get("WEBHOOK_URL"):
        found.append(WebhookNotifier(given["WEBHOOK_URL"]))
    if given.get("SLACK_URL"):
        found.append(SlackNotifier(given["SLACK_URL"]))
    if _together(given, "TELEGRAM_TOKEN", "TELEGRAM_CHAT"):
        found.append(TelegramNotifier(given["TELEGRAM_TOKEN"], given["TELEGRAM_CHAT"]))
    if _together(given, "SMTP_URL", "EMAIL_TO"):
        recipients = [each.strip() for each in given["EMAIL_TO"].split(",") if each.strip()]
        found.append(EmailNotifier(given["SMTP_URL"], recipients, sender=given.get("EMAIL_FROM", "")))
    return found


def _together(given: Mapping[str, str], *names: str) -> bool:
    held = [name for name in names if given.get(name)]
    missing = [name for name in names if not given.get(name)]
    if held and missing:
        raise UsageError(f"{PREFIX}{held[0]} is set, but {PREFIX}{missing[0]} is not; set both or neither")
    return bool(held)
