"""Decides whether a mined step may become advice by itself, or waits for a person.

A rule about what the working step ADDS to the one that failed, not a list of bad words: it may add what the failing
tool says of its own grammar or is missing (`lessons.mining.said`), a path of the project, what three sessions'
successful runs of this project use, or a verb of a short allow-list. Everything else waits for a person, whatever free
prose proposes: whoever writes an output writes that. The wordings of `lessons.mining.refused` stay a second net.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ratchet.failures import programs
from ratchet.failures.intent import commands
from ratchet.lessons.mining.calls import Piece, pieces_of
from ratchet.lessons.mining.checks import forbidden
from ratchet.lessons.mining.findings import check_of
from ratchet.lessons.mining.habits import Vouched
from ratchet.lessons.mining.said import FailingOutput, named
from ratchet.lessons.mining.selections import SELECTS

_OPERATOR = re.compile(r"\|\|?|(?<![<>&\d])&(?![&>])|;|<<?<?|\d?>>?|\$\(|`")
_REMOTE = re.compile(r"://|\bgit\+|^[\w.-]+@[\w.-]+:|\.(?:com|org|net|io|dev|example)(?:[:/]|$)", re.IGNORECASE)
_REACHES = re.compile(
    r"registry|repo$|index-url|extra-index|trusted|proxy|repository|remote|mirror|find-links|host|server|endpoint|network",
    re.IGNORECASE,
)
_OVERRIDES = frozenset(
    ("-c", "-o", "-X", "-D", "-P", "-e", "--config", "--option", "-Z", "--set", "-W", "-A", "--eval", "--exec")
)
_FETCHERS = frozenset(("npx", "bunx", "pnpx", "uvx", "pipx"))  # run what a registry has under that name
_PREFIXES = frozenset(programs.WRAPPERS) - _FETCHERS - {"direnv", "command"}
# Commands that only restore what the project itself names: its lock file, its own build, its own tasks.
_RESTORES = re.compile(
    r"(?:(?:npm|pnpm|yarn|bun|bundle|poetry|pdm|composer|pip|pre-commit|mise|asdf) (?:install|i|ci|sync)|yarn|npm ci"
    r"|uv sync|mix deps\.get|go mod (?:tidy|download)|cargo fetch|dotnet restore|git fetch|pod install)$"
)
_BUILDS = re.compile(
    r"(?:go (?:build|generate|install)|cargo build|make|mvn compile|dotnet build|mix compile|tsc"
    r"|(?:npm|pnpm|yarn|bun|mise|task|poe|nx|turbo|make|just)(?: run)? \S*(?:build|compile|generate|codegen|fmt|"
    r"format|setup|bootstrap)\S*|mix format|go fmt|gofmt|ruff format|black|prettier|cargo fmt)$"
)
_INSTALLS = re.compile(
    r"(?:npm|pnpm|yarn|bun|pip|uv pip|gem|poetry|uv|pdm|cargo|go|brew|apt-get|apt|mix) (?:install|i|add|get)$"
)
# What a program needs before it works, told by a failure of its own: these words and nothing else.
_PREPARES = re.compile(r"\S+ (?:init|lock|generate|sync|install|fetch|compile|build)$")
# Parts of a tool that it fetches from where it came from itself, not from where anybody puts a package.
_OWN_PARTS = re.compile(r"(?:rustup component add [\w-]+|(?:\w+ )?playwright install)$")
_LOOKS = re.compile(r"(?:cat|ls|head|tail|pwd|find|grep|rg|git (?:status|log|diff|show|branch))$")
_ACTS = re.compile(
    r"-(?:exec(?:dir)?|ok(?:dir)?|delete|fprint\w*|fls)|--pre(?:=.*)?"
)  # options by which a look does more
# What an error may name and yet not vouch for: an option that switches off, forces, opens or takes away.
_OPENS = re.compile(
    r"--?(?:no|not|without|skip|disable|ignore|allow|insecure|unsafe|force|system|global|privileged|admin)(?:-|=|$)"
    r"|.*=(?:false|off|no|none|0)$",
    re.IGNORECASE,
)
# Their reach is the machine, so that not even the project's own successful runs vouch for them.
_ADMINISTERS = frozenset(
    """
    systemctl service launchctl iptables nft ufw sysctl mount crontab setcap useradd usermod passwd visudo sc reg netsh
    setenforce modprobe update-alternatives
    """.split()  # noqa: SIM905
)
_SETS = re.compile(r"\b(?:config|set|settings?|policy|auth|login|trust)\b")
_WIDE = frozenset((".", "./...", "...", "*"))
_HIDDEN = re.compile(r"(?:~|\$\{?HOME\}?|/home/[^/]+|/root|/Users/[^/]+)/\.")
_ALLOWED_OPTIONS = {("git push", "-u"), ("git push", "--set-upstream"), ("git pull", "--rebase")}
_PLACEHOLDER = re.compile(r"^<[a-z]+\d?>$")


def held_back(do: str, *, failed: str, said: str, vouched: Vouched | None = None, root: str = "") -> str:
    """Why a step must wait for a person before it is advice, "" where it may become advice by itself.

    `do` is the step that worked, `failed` the command that failed, `said` its whole output.
    """
    reason = forbidden(do, failed)
    if reason:
        return reason
    known = vouched or Vouched()
    was, now = pieces_of(failed), pieces_of(do)
    if not now:
        return ""
    plainly = _operators(do) - _operators(failed)
    if plainly:
        return f"adds the operator `{min(plainly)}`"
    left = Counter(piece.plain for piece in was)
    told, nothing = FailingOutput(said, failed), FailingOutput("", "")
    for piece in now:
        if left[piece.plain]:
            left[piece.plain] -= 1
            continue
        # Another package than the one that was asked for: whoever wrote the output may want it installed.
        asked = [each.plain for each in was if each.head == piece.head and _INSTALLS.match(each.head)]
        is_other = bool(asked) and not piece.plain.endswith(tuple(asked))
        reason = _added(piece, was, nothing if is_other else told, known, root)
        if reason:
            return reason
    return ""


def _operators(command: str) -> Counter[str]:
    bare = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", "''", command)
    return Counter(_OPERATOR.findall(bare.replace("2>&1", "")))


def _added(piece: Piece, was: Sequence[Piece], said: FailingOutput, known: Vouched, root: str) -> str:
    """Why what one simple command adds is not vouched for, "" if all of it is."""
    raw = piece.raw.split()
    words = [word.strip("'\"") for word in raw]
    if re.match(r"[A-Za-z_]\w*=", words[0]):
        return f"sets the variable `{words[0].partition('=')[0]}`"
    if words[0].rpartition("/")[2] in _PREFIXES:
        return f"runs it through `{words[0]}`"
    if words[0].rpartition("/")[2] in _ADMINISTERS:
        return f"runs `{words[0]}`, which changes the machine"
    if piece.plain in known.commands and not _ends_things(piece):
        return ""
    near = max(was, key=lambda each: (each.head == piece.head, len(set(each.words) & set(piece.words))), default=None)
    had = set(near.raw.split()) if near is not None else set()
    had |= {word.strip("'\"") for word in had}
    if _ends_things(piece) and not (near is not None and near.head == piece.head):
        return f"runs `{piece.head}`, which takes something away"
    if _brought(words, near, said) or (_OWN_PARTS.match(piece.plain) and named(piece.plain, said.text)):
        return ""
    reason = _program(piece, words, near, said, known, root) or _of_check(piece, near, said, known)
    if reason:
        return reason
    if SELECTS.search(piece.raw) and not (near is not None and SELECTS.search(near.raw)):
        return "runs another selection of tests"
    kept = had | {verb for verb in piece.head.split(" ") if verb[:1] != "-"}
    kept |= set(_missing(piece, said))
    for at, word in enumerate(words):
        if at == 0 or words[0] == "cd" or word in kept or _PLACEHOLDER.match(word):
            continue
        reason = _never_added(word, piece, near) or (
            _option(word, words[at + 1 : at + 2], piece, said, known)
            if word[:1] == "-" and len(word) > 1
            else _operand(word, piece, near, said, known, root)
        )
        if reason:
            return reason
    return ""


def _brought(words: Sequence[str], near: Piece | None, said: FailingOutput) -> bool:
    """Tell whether the failed command runs as it stood behind a runner of what its project names, or by the version of
    its program that is there, where the error misses a program or a module."""
    ran = near.raw.split() if near is not None else []
    if not (ran and said.missing):
        return False
    lost = said.is_missing(ran[0])
    if list(words[1:]) == ran[1:]:
        return lost and re.fullmatch(rf"{re.escape(ran[0])}[\d.]+", words[0]) is not None
    before = tuple(word for word in words[: -len(ran)] if word != "--") if list(words[-len(ran) :]) == ran else ()
    if before in programs.RUNNERS and before[-1] != "dlx" and before[0] not in _FETCHERS:
        return True
    return lost and (
        before in programs.RUNNERS
        or (len(before) == 1 and before[0] in _FETCHERS)
        or re.fullmatch(r"python[\d.]* -m", " ".join(before)) is not None
    )


def _missing(piece: Piece, said: FailingOutput) -> list[str]:
    """The packages that a command installs and the error misses under that very name."""
    return [word for word in piece.operands if said.is_missing(word)] if _INSTALLS.match(piece.head) else []


def _of_check(piece: Piece, near: Piece | None, said: FailingOutput, known: Vouched) -> str:
    """Why a check is not to be asked for more or less than before, whoever says so: an option may take the place of one
    that the error speaks of, and no other may come or go."""
    if near is None or near.head != piece.head or not check_of(piece.head.split()):
        return ""
    gone, new = (
        [word for word in one.raw.split() if word[:1] == "-" and word not in other.raw.split()]
        for one, other in ((near, piece), (piece, near))
    )
    wrong = [word for word in gone if said.blames(word.partition("=")[0])]
    unasked = [word for word in new if (piece.head, word.partition("=")[0]) not in known.options][len(wrong) :]
    if left := [word for word in gone if word not in wrong and not _OPENS.match(word)][len(new) :]:
        return f"leaves out `{left[0][:60]}` of what is checked"
    return f"adds `{unasked[0][:60]}` to what is checked" if unasked else ""


def _never_added(word: str, piece: Piece, near: Piece | None) -> str:
    """Why a word may not be added, whoever names it: an error may be written by anybody."""
    if word[:1] == "-":
        takes = _TAKES_AWAY.search(word.lstrip("-")) is not None or (near is not None and _ends_things(piece))
        return f"adds `{word[:60]}`" if takes or _OPENS.match(word) or _ACTS.fullmatch(word) else ""
    if re.match(r"[A-Za-z_]\w*=", word):
        return f"sets the variable `{word.partition('=')[0]}`"
    if _HIDDEN.match(word) or word.lower() in ("root", "false", "off", "none"):
        return f"adds `{word[:60]}`"
    if piece.head in programs.TEST_RUNNERS and near is not None and set(near.operands) <= _WIDE:
        return "runs another selection of tests"
    return ""


def _program(
    piece: Piece, words: Sequence[str], near: Piece | None, said: FailingOutput, known: Vouched, root: str
) -> str:
    """Why a command of another program or verb is not vouched for."""
    if words[0] == "cd":
        target = words[1] if len(words) > 1 else ""
        inside = not target.startswith(("~", "..")) and (target[:1] != "/" or (root and target.startswith(root)))
        return "" if inside else f"goes to `{target}`, outside the project"
    if near is not None and near.head == piece.head and near.raw.split()[0] == words[0]:
        return ""
    head = piece.head
    if head == "git pull" and "--rebase" in words:
        return ""
    if _RESTORES.match(head) and not [word for word in words[len(head.split()) :] if word[:1] != "-"]:
        return ""
    if _BUILDS.match(head) or _LOOKS.match(head):
        return ""
    if _INSTALLS.match(head) and len(_missing(piece, said)) == len(piece.operands):
        return ""
    if head in known.heads or words[0] in known.programs:
        return ""
    own = near is not None and near.raw.split()[0] == words[0] and words[0] not in _FETCHERS
    if own and " " in head and not _SETS.search(head) and named(head, said.grammar):
        return ""
    if own and _PREPARES.fullmatch(piece.plain) and named(piece.plain, said.text):
        return ""  # the error itself says to run it
    ran = near.raw.split() if near is not None else []
    if ran and words[-len(ran) :] == ran:
        return f"runs it through `{' '.join(words[: -len(ran)])}`, which neither the error nor this project's runs name"
    return f"runs `{head}`, which neither the error's own grammar nor this project's runs name"


def _option(word: str, after: Sequence[str], piece: Piece, said: FailingOutput, known: Vouched) -> str:
    name, _, value = word.partition("=")
    if (piece.head, name) in _ALLOWED_OPTIONS or (_LOOKS.match(piece.head) and not (value or _ACTS.fullmatch(name))):
        return ""
    if _REMOTE.search(word) or _REACHES.search(name):
        return f"reaches elsewhere by `{name}`"
    into = value or "".join(after)
    if name in ("-o", "--output", "--out") and "/" in into and "=" not in into and named(into, said.text):
        return ""  # it makes the very file that the error misses
    if name not in _OVERRIDES and piece.words[0] not in programs.INTERPRETERS:
        if named(name, said.grammar) and (not value or named(value, said.grammar) or value in known.words):
            return ""
        if (piece.head, name) in known.options:
            return ""
    return f"adds `{name}`, which neither the error's own grammar nor three sessions of this project's runs name"


def _operand(word: str, piece: Piece, near: Piece | None, said: FailingOutput, known: Vouched, root: str) -> str:
    if _REMOTE.search(word):
        return f"reaches `{word[:60]}`"
    if said.states(word) or word in known.words or word in ("origin", ".", "HEAD"):
        return ""
    if "$" in word or "`" in word:
        return f"adds `{word[:60]}`"
    if _LOOKS.match(piece.head) and word.isalnum():
        return ""
    if _BUILDS.match(piece.head) and (word[:2] == "./" or word[:1].isalnum()):
        return ""
    if root and word.startswith(root.rstrip("/") + "/"):
        return ""
    inside = word[:1] not in "/~" and ".." not in word.split("/")
    name = word.rpartition("/")[2]
    if (
        inside
        and near is not None
        and any(said.misses(each) and each.rpartition("/")[2] == name for each in near.operands)
    ):
        return ""  # the file of that name, where it is
    return f"adds `{word[:60]}`, which neither the error's own grammar nor this project's runs name"


_TAKES_AWAY = re.compile(
    r"\b(?:rm|rmi|rmdir|delete|remove|destroy|disable|drop|prune|purge|flush|reset|clean|kill|pkill|killall|stop|down|uninstall"
    r"|force-unlock|unlink|truncate|revoke|chmod|chown|umount|shutdown|restore|checkout|stash|revert)\b"
)


def _ends_things(piece: Piece) -> bool:
    """Tell whether a command deletes, ends or puts back something, or changes rights."""
    return _TAKES_AWAY.search(piece.head) is not None or any(_TAKES_AWAY.fullmatch(word) for word in piece.operands[:2])


def commands_in(text: str) -> list[str]:
    """The commands that a sentence of advice quotes."""
    return [span for span in re.findall(r"`([^`\n]{2,1000})`", text) if commands(span)]
