"""Which files of a project are worked on: what .gitignore leaves, without secrets, repositories and environments."""

from __future__ import annotations

import fnmatch
import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ratchet.errors import BackendError
from ratchet.sandbox import git
from ratchet.sandbox.beneath import plain_content
from ratchet.sandbox.wildcards import compiled

_log = logging.getLogger(__name__)
_NAME = ".gitignore"
_MOST_RULES_BYTES = 1 << 20
_Kind = Literal["absent", "plain", "odd"]

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
_NEVER = frozenset({".hg", ".svn", ".jj"})
_HOME_NAMES = (("ratchet.db",), ("salt", "journal"), ("episodes", "workspaces"))
"""What a home has once it has learnt, recorded or healed, which of them came first; with Postgres it has no file."""


def is_secret(path: str, name: str) -> bool:
    """Tell whether a file holds secrets, by its name; a key file (which may as well be a certificate) by what is in
    it."""
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
    """Tell whether a name never gets into a workspace, whatever .gitignore says."""
    if git.names_repository(name) or name.lower() in _NEVER:
        return True
    if not folder:
        return is_secret(path, name)
    # A virtual environment is known by its marker, whatever it is called.
    marked = os.path.exists(os.path.join(path, "pyvenv.cfg")) or os.path.isdir(os.path.join(path, "conda-meta"))
    return name in SECRET_FOLDERS or marked or is_home(path)


def is_home(path: str) -> bool:
    """Tell whether a folder is where Ratchet keeps what it knows of everybody's runs: by what is in it, wherever it
    is."""
    return any(all(os.path.exists(os.path.join(path, name)) for name in names) for names in _HOME_NAMES)


@dataclass(frozen=True, slots=True)
class _Rule:
    matches: re.Pattern[str]
    negated: bool
    folders_only: bool
    anchored: bool


@dataclass(slots=True)
class Ignore:
    """The .gitignore files of one tree (gitignore(5)). Git is asked where it can be; else they are read here, to the
    same end."""

    root: Path
    _rules: dict[str, tuple[_Rule, ...]] = field(default_factory=dict)
    _kinds: dict[str, _Kind] = field(default_factory=dict)
    _excluded: bytes | None = None
    _asks: bool = True

    def among(self, paths: Iterable[tuple[str, bool]]) -> frozenset[str]:
        """Those of these paths, relative to the root, that are ignored: by a rule about themselves or about a folder
        above. Each comes with whether it is a folder."""
        wanted = dict(paths)
        kinds = {self._kind(folder) for folder in {above for path in wanted for above in _above(path)}}
        if kinds <= {"absent"} and not self._exclude():
            return frozenset()
        if self._asks and "odd" not in kinds:
            try:
                return git.ignored(self.root, wanted, exclude=self._exclude())
            except BackendError as error:  # no git, or a tree that it does not take: what it would say is known
                _log.info("ignore.unasked", extra={"reason": str(error)})
                self._asks = False
        return frozenset(path for path, folder in wanted.items() if self._covers(path, folder=folder))

    def _covers(self, path: str, *, folder: bool) -> bool:
        parts = os.fsencode(path).decode("latin-1").split("/")
        return any(self._decides(parts[:depth], folder or depth < len(parts)) for depth in range(1, len(parts) + 1))

    def _decides(self, parts: list[str], folder: bool) -> bool:
        """Tell whether a rule about just this path ignores it. The last rule that matches decides, those of deeper
        files after those of higher ones."""
        verdict = False
        for depth in range(len(parts)):
            for rule in self._of("/".join(parts[:depth])):
                if (folder or not rule.folders_only) and rule.negated is verdict:
                    below = "/".join(parts[depth:]) if rule.anchored else parts[-1]
                    verdict = not verdict if rule.matches.fullmatch(below) else verdict
        return verdict

    def _of(self, folder: str) -> tuple[_Rule, ...]:
        if folder not in self._rules:
            place = os.fsdecode(folder.encode("latin-1"))
            plain = self._kind(place) == "plain"
            content = plain_content(self.root / place / _NAME, _MOST_RULES_BYTES) if plain else b""
            self._rules[folder] = (*_read(b"" if folder else self._exclude()), *_read(content))
        return self._rules[folder]

    def _kind(self, folder: str) -> _Kind:
        """Read what stands in the place of a folder's .gitignore. Git follows no link there, and would wait for a
        pipe."""
        if folder not in self._kinds:
            try:
                mode = os.lstat(self.root / folder / _NAME).st_mode
            except OSError:
                self._kinds[folder] = "absent"
            else:
                self._kinds[folder] = "plain" if stat.S_ISREG(mode) else "absent" if stat.S_ISLNK(mode) else "odd"
        return self._kinds[folder]

    def _exclude(self) -> bytes:
        """The rules that the repository of the tree itself keeps for one person."""
        if self._excluded is None:
            found = git.find(self.root)
            self._excluded = b""
            if found is not None and found.top == self.root.resolve():
                self._excluded = plain_content(found.common / "info" / "exclude", _MOST_RULES_BYTES)
        return self._excluded


def _above(path: str) -> Iterator[str]:
    """The folders above a path, the root first."""
    yield ""
    yield from (path[:at] for at, letter in enumerate(path) if letter == "/")


def _read(content: bytes) -> Iterator[_Rule]:
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        # To git a zero ends a line, too. Its names are bytes; a letter for each of them keeps `?` one byte.
        rule = _rule(line.removesuffix(b"\r").partition(b"\0")[0].decode("latin-1"))
        if rule is not None:
            yield rule


def _rule(line: str) -> _Rule | None:
    if line.startswith("#"):
        return None
    text = _trimmed(line)
    negated = text.startswith("!")
    text = text[1:] if negated else text
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        return None
    return _Rule(compiled(text.removeprefix("/")), negated, folders_only, anchored="/" in text)


def _trimmed(line: str) -> str:
    """A line without the spaces at its end, but for one that a backslash takes as it is."""
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return line[: len(kept) + (backslashes % 2 and len(kept) < len(line))]
