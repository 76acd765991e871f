"""Which files of a project are worked on: what .gitignore leaves, without secrets, repositories and environments."""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_SECRET_NAMES = (
    *(".env", ".env.*", "*.env", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".htpasswd"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("credentials", "credentials.json", "client_secret*.json", "service-account*.json", "service_account*.json"),
    *("secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "*.tfvars", "terraform.tfstate", "kubeconfig"),
    *(".dockercfg", ".vault-token", ".boto", ".s3cfg"),
)
SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".gcloud", ".password-store"})
_TEMPLATES = (".example", ".sample", ".template", ".dist", ".defaults")
_KEY_NAMES = ("*.pem", "*.key")
_KEY_MARK = b"PRIVATE KEY-----"
_KEY_HEAD_BYTES = 65_536
_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})
_HOME_NAMES = (("ratchet.db",), ("salt", "journal"), ("episodes", "workspaces"))
"""What a home has once it has learnt, recorded or healed, which of them came first; with Postgres it has no file."""


def is_secret(path: str, name: str) -> bool:
    """Whether a file holds secrets, by its name; a key file (which may as well be a certificate) by what is in it."""
    lower = name.lower()
    if lower.endswith(_TEMPLATES):
        return False
    if any(fnmatch.fnmatchcase(lower, each) for each in _SECRET_NAMES):
        return True
    if not any(fnmatch.fnmatchcase(lower, each) for each in _KEY_NAMES):
        return False
    try:
        with open(path, "rb") as file:
            return _KEY_MARK in file.read(_KEY_HEAD_BYTES)
    except OSError:
        return True


def is_left_out(path: str, name: str, *, folder: bool) -> bool:
    """Whether a name never gets into a workspace, whatever .gitignore says."""
    if name in _NEVER:
        return True
    if not folder:
        return is_secret(path, name)
    # A virtual environment is known by its marker, whatever it is called.
    marked = os.path.exists(os.path.join(path, "pyvenv.cfg")) or os.path.isdir(os.path.join(path, "conda-meta"))
    return name in SECRET_FOLDERS or marked or is_home(path)


def is_home(path: str) -> bool:
    """Whether a folder is where Ratchet keeps what it knows of everybody's runs: by what is in it, wherever it is."""
    return any(all(os.path.exists(os.path.join(path, name)) for name in names) for names in _HOME_NAMES)


@dataclass(frozen=True, slots=True)
class _Rule:
    matches: re.Pattern[str]
    negated: bool
    folders_only: bool


@dataclass(slots=True)
class Ignore:
    """The .gitignore files of one tree (gitignore(5)). Ask for a folder before what is in it."""

    root: Path
    _rules: dict[str, tuple[_Rule, ...]] = field(default_factory=dict)

    def covers(self, path: str, *, folder: bool) -> bool:
        """Whether a path relative to the root is ignored by a rule about itself (not about a folder above it). The last
        rule that matches decides, those of deeper files after those of higher ones."""
        parts = path.split("/")
        verdict = False
        for depth in range(len(parts)):
            above = "/".join(parts[:depth])
            below = "/".join(parts[depth:])
            for rule in self._of(above):
                if (folder or not rule.folders_only) and rule.matches.match(below):
                    verdict = not rule.negated
        return verdict

    def covers_below(self, path: str) -> bool:
        """Whether a file is ignored, by a rule about itself or about any folder above it."""
        parts = path.split("/")
        return any(
            self.covers("/".join(parts[:depth]), folder=depth < len(parts)) for depth in range(1, len(parts) + 1)
        )

    def _of(self, folder: str) -> tuple[_Rule, ...]:
        if folder not in self._rules:
            self._rules[folder] = tuple(_read(self.root, folder))
        return self._rules[folder]


def _read(root: Path, folder: str) -> list[_Rule]:
    files = [root / folder / ".gitignore"]
    if not folder:
        files.insert(0, root / ".git" / "info" / "exclude")
    lines: list[str] = []
    for each in files:
        try:
            lines += each.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:
            continue
    return [rule for rule in map(_rule, lines) if rule is not None]


def _rule(line: str) -> _Rule | None:
    text = line.rstrip("\r")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    text = text[1:] if text.startswith(("\\#", "\\!")) else text
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    pattern = _translated(text.lstrip("/")) if anchored else f"(?:.*/)?{_translated(text)}"
    return _Rule(re.compile(rf"{pattern}\Z", re.DOTALL), negated, folders_only) if text else None


@cache
def _translated(text: str) -> str:
    made, at = "", 0
    while at < len(text):
        rest = text[at:]
        if rest.startswith("**/") and (at == 0 or text[at - 1] == "/"):
            made, at = made + "(?:[^/]+/)*", at + 3
        elif rest == "**" and (at == 0 or text[at - 1] == "/"):
            made, at = made + ".+", at + 2
        elif rest[0] == "*":
            made, at = made + "[^/]*", at + 1
        elif rest[0] == "?":
            made, at = made + "[^/]", at + 1
        elif rest[0] == "[" and (end := rest.find("]", 2)) > 0:
            inner = rest[1:end].replace("\\", "\\\\")
            made, at = made + "[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]", at + end + 1
        elif rest[0] == "\\" and len(rest) > 1:
            made, at = made + re.escape(rest[1]), at + 2
        else:
            made, at = made + re.escape(rest[0]), at + 1
    return made
