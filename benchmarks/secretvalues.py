"""Draws texts from forms such as `password=«[x8]»`: «...» is the secret, [CLASS LENGTH] is drawn anew at each call."""

from __future__ import annotations

import random
import re
import string
import uuid
from dataclasses import dataclass
from pathlib import Path

FORMS = Path(__file__).parent / "data" / "secret_forms.txt"
HARMLESS = Path(__file__).parent / "data" / "harmless_forms.txt"
_CLASSES = {
    "w": string.ascii_letters + string.digits,
    "b": string.ascii_letters + string.digits + "-_",
    "s": string.ascii_letters + string.digits + "+/",
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "a": string.ascii_lowercase,
    "d": string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "i": "0123456789abcdef0123456789abcdef-",
    "c": string.ascii_letters + string.digits + "._",
    "r": string.ascii_letters + string.digits + "/",
    "g": string.ascii_letters + string.digits + "!#*+^~?=",
}
_FIELD = re.compile(r"\[(?:([a-zA-Z])(\d+)|U)\]")
_SECRET = re.compile(r"«(.*?)»", re.DOTALL)
FRAMES = (
    "%s",
    "error: key %s was rejected",
    '{"a": "%s", "b": 1}',
    "x=%s;",
    "using (%s)",
    "see %s, it failed",
    "\n%s\n",
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A text and the secrets in it."""

    text: str
    secrets: tuple[str, ...]

    def is_hidden(self, redacted: str) -> bool:
        """Whether no secret is left: none of its parts of 12 characters, or of all where it is shorter."""
        return not any(
            secret[at : at + 12] in redacted for secret in self.secrets for at in range(max(1, len(secret) - 11))
        )


def value(form: str, chance: random.Random) -> str:
    """A form with its fields drawn."""

    def drawn(field: re.Match[str]) -> str:
        if field[1] is None:
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))
        length = int(field[2])
        if field[1] in "vx":
            word = "".join(chance.choice("aeiou" if i % 2 else "bdfgklmnprstvz") for i in range(length))
            return word if field[1] == "v" else f"{word[:-2]}{chance.randrange(10, 100)}"
        return "".join(chance.choices(_CLASSES[field[1]], k=length))

    return _FIELD.sub(drawn, form)


def draw(form: str, chance: random.Random) -> Drawn:
    """A text of a form."""
    text = value(form.replace("⏎", "\n"), chance)
    return Drawn(_SECRET.sub(lambda m: m[1], text), tuple(_SECRET.findall(text)))


def parts(path: Path = FORMS) -> dict[str, list[str]]:
    """The forms by the part they stand in (`before`, `after`)."""
    found: dict[str, list[str]] = {}
    part = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# == "):
            part = line.split()[2].rstrip(":")
        elif line and part and not line.startswith("# "):
            found.setdefault(part, []).append(line)
    return found


def framed(form: str) -> list[str]:
    """A form in the texts in which it is tried."""
    return [frame.replace("%s", form) for frame in FRAMES] if form.startswith("«") and form.endswith("»") else [form]
