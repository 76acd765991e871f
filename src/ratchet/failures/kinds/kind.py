"""Names the class of a failure, and with it whether waiting or retrying helps.

Structure decides first (exception class, HTTP status, exit code, provider code), words second, and never a bare number:
"Order 14290 not found" and "took 429 ms" are no rate limits. The narrowest kind wins.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ratchet.failures import programs
from ratchet.failures.excerpt import LONG, SHORT, carried
from ratchet.failures.expressions import compiled
from ratchet.failures.kinds.codes import exit_said, names_said, status_said
from ratchet.failures.kinds.families import family_of, gist_of
from ratchet.failures.kinds.phrases import met_by, words_of
from ratchet.failures.kinds.structure import (
    ANY_ERRORS,
    CLASSES,
    CODES,
    EXIT_CODES,
    NAME_PARTS,
    PROGRAM_ERRORS,
    STATUSES,
)
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.runner_reports import compiler_failed, tests_failed
from ratchet.failures.tracebacks import trace_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_PASSING = (
    "temporarily",
    "try again",
    "retry",
    "locked",
    "deadlock",
    "busy",
    "could not obtain lock",
    "serialization failure",
)
_LIMIT = 2_000
_MEMO = 512  # such lines remembered: at most 1 MB
_HEAD = 200  # characters within which a tool output names its exit code

# Answers of a provider's API are never about the agent's own tools, output or packages, whatever their words.
_FROM_PROVIDER = frozenset(
    ("invalid_request", "server_error", "overloaded", "rate_limit", "quota_exhausted", "auth", "permission", "network")
)
_ABOUT_AGENT = frozenset(
    (
        *("tool_arguments", "malformed_output", "empty_response", "tool_not_found", "tool_error", "dependency_missing"),
        *("refusal", "iteration_limit", "loop_detected", "user_denied", "cascade"),
    )
)
# The provider reports it with a status of its own, but what the model wrote is at fault: asking again may bring better.
_WRITTEN_BY_MODEL = (" tool use failed ", " failed generation ", " malformed function call ")
# What the words may say although the class names a fault of the program: JavaScript's `SyntaxError: Unexpected end of
# JSON input`, `TypeError: fetch failed`, Python's `TypeError: f() missing 1 required positional argument`.
_BEYOND_PROGRAM = {
    "syntaxerror": frozenset(("malformed_output",)),
    "typeerror": frozenset(("tool_arguments", "network")),
}

_STRUCTURE = "an exception's class, a status, a code or an exit code (structure)"
_LEVELS = frozenset(("error", "fatal", "E", "npm ERR!", "npm error", "zsh", "bash", "sh"))
_REMOTE = ("api", "http", "client", "request", "response", "service", "provider")  # classes that report another side
_CLASS = r"(?:Uncaught |Error: |E {1,8})?((?:[\w$]{1,80}[.:]{1,2}){0,12})([A-Z]\w{2,80})(?=[:(\s]|$)"
_NO_TOOL = (
    r"\b(?:[Tt]ool|[Ff]unction|[Cc]ommand|Action) ['\"`]?[\w.:\-]{1,100}['\"`]? (?:not found|does not exist"
    r"|is not (?:available|found|registered))|(?:^|\\n)\S{0,100}sh: (?:line )?\d{1,6}: \S{1,200}: not found"
    r"|\bspawn \S{1,200} ENOENT|\bENOENT: .{1,60}spawn '"
)
_UNKNOWN_NAME = (
    r"\s*\S{0,80}sh ?: (?:(?:\S{1,20} )?\d{1,6} ?: )?(?:[\w+-]{1,60} ?: [^\x00-\x7f][^:\n]{0,200}"
    r"|[^\x00-\x7f][^:\n]{0,200} ?[:\uff1a] ?[\w+-]{1,60})\s*\Z"
)
_FILE_PATH = r"(?<![\w:/\\.])(?:[A-Za-z]:)?(?:[\w.@~()\[\]-]{0,80}[/\\]){1,20}[\w.@()\[\]-]{1,80}\.[a-z]\w{0,4}\b"
_RUN_TOGETHER = r"\b(?:[A-Z][a-z]{1,20}){2,6}\b"


def kind_of(
    text: str,
    *,
    exception: Sequence[str] = (),
    status: int | None = None,
    exit_code: int | None = None,
    code: str = "",
    tool: str = "",
) -> str:
    """The kind of a failure: a key of `KINDS`.

    `exception` names the raised class and its bases, narrowest first; `status` is an HTTP status, `exit_code` a
    process's, `code` the provider's own error type or code, `tool` the tool that failed. Linear in the text.
    """
    return decided(text, tuple(exception), status, exit_code, code, tool)[0]


def decided(
    text: str, exception: tuple[str, ...], status: int | None, exit_code: int | None, code: str = "", tool: str = ""
) -> tuple[str, str]:
    """The kind of a failure as `kind_of` tells it, and the rule that decided it, in words."""
    if "[redacted:" in text:  # what stood there says nothing about the failure
        text = re.sub(r"\[redacted:[^\]\n]{1,40}\]", "[redacted]", text)
    text = own_words(text, tool)
    if tests_failed(text):
        return "test_failure", "a test runner's report"
    head = text[:_HEAD]
    if not exit_code and ("xit" in head or "eturned" in head or "XIT" in head):
        exit_code = exit_said(words_of(head))
    if len(text) > LONG or (len(text) > SHORT and not exit_code):
        lines, chosen = carried(text, _LIMIT)
        if chosen or len(text) > LONG:
            text = lines
    return _kind_said(text, exception, status, exit_code, code, tool)


@lru_cache(maxsize=_MEMO)
def _kind_said(
    text: str, exception: tuple[str, ...], status: int | None, exit_code: int | None, code: str, tool: str
) -> tuple[str, str]:
    """The kind, and the rule that decided it, of a text of which nothing but the error is left, which often repeats
    itself to the letter."""
    thrown = trace_of(text)[0] if "\n" in text else ""
    said = thrown or text
    raised = [name.rsplit(".", 1)[-1].lower() for name in exception]
    named = _class_named(said)
    words = words_of(f"{code}\n{said}\n{_spelled(' '.join((said, *exception[:1])))}")
    gist = gist_of(words)
    specific, general, hint = met_by(gist)
    if any(map(words.__contains__, _WRITTEN_BY_MODEL)):
        return "malformed_output", "the model wrote what its provider refused"
    at_fault = _of_program(said, (*raised[:1], named), specific, general)
    if at_fault:
        return at_fault, "a program's exception, a compiler or a shell reports it"
    structure = (
        _of_classes(raised[:1])
        or STATUSES.get(status or 0)
        or _of_classes(raised[1:])  # a base class says less than the status: urllib's HTTPError is an URLError
        or _of_codes((*names_said(said), *code.lower().replace("_", "").split()))
        or _of_classes([named] if named else [])
        or STATUSES.get(status_said(words, said))
        or EXIT_CODES.get(exit_code or exit_said(words), "")
    )
    if structure == "server_error" and status_said(words, said) in (503, 529):
        structure = "overloaded"  # the SDKs raise one class for all of 5xx
    if structure == "timeout" and specific == "empty_response":
        return structure, _STRUCTURE  # an answer that did not come in time is no empty one
    if specific and not (structure in _FROM_PROVIDER and specific in _ABOUT_AGENT):
        return specific, "a phrase that names it (phrases.toml, specific)"
    if structure and not (structure == "tool_error" and general):
        return structure, _STRUCTURE
    kind, rule = general, "a phrase that hints at it (phrases.toml, general)"
    if not kind:
        kind, rule = _family(gist, raised, named), "what its words are about (families)"
        if kind == "context_overflow" and (exit_code or programs.is_shell(tool)):
            kind = ""  # a command's text that is too long (a commit's message) is no model's context
    if not kind:
        kind = _by_elimination(said, hint, exit_code, raised, named or thrown, tool)
        rule = "where it happened, since nothing says more"
    if kind == "invalid_request" and (tool or exit_code or _by_program(said)):
        return "tool_arguments", rule  # no API has spoken: what the tool or the command was given is at fault
    return kind, rule


def own_words(text: str, tool: str) -> str:
    """The error of a tool that is no shell without what it was given, which may quote any error: its first line, where
    that says enough, and no file's path (`app/auth/login.ts`). Any other text as it is."""
    if not tool or programs.is_shell(tool):
        return text
    if "/" in text or "\\" in text:
        text = compiled(_FILE_PATH).sub("<path>", text)
    first, below, _ = text.lstrip().partition("\n")
    return first if below and met_by(gist_of(words_of(first)))[0] else text


def is_transient(kind: str, text: str = "") -> bool:
    """Tell whether the failure may pass by itself. Where the kind leaves it open, the text decides."""
    flag = KINDS[kind][0]
    if flag is not None:
        return flag
    lowered = text.lower()
    return any(hint in lowered for hint in _PASSING)


def is_retry_safe(kind: str, text: str = "") -> bool:  # noqa: ARG001  (part of the contract beside `is_transient`)
    """Tell whether the same call may be made again as it stands (never one that its caller marked not idempotent)."""
    return bool(KINDS[kind][1])


def _spelled(text: str) -> str:
    """The names that run words together, as words: `ContextLengthExceeded` says "context length exceeded"."""
    text = text[:_LIMIT]
    if not compiled("[A-Z](?<=[a-z].)").search(text):  # begins with what is rare
        return ""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", " ".join(re.findall(_RUN_TOGETHER, text)))


_classes: dict[str, str] = {}
_parts: list[tuple[str, str]] = []


def _listed(names: Sequence[str]) -> str:
    if names and not _classes:
        _classes.update({name: kind for kind, listed in CLASSES for name in listed.split()})
    return next((_classes[name] for name in names if name in _classes), "")


def _of_classes(names: Sequence[str]) -> str:
    """The kind of the first class that is listed; else of the first whose name holds a telling part."""
    if not names:
        return ""
    listed = _listed(names)
    if listed or names[0] in PROGRAM_ERRORS or names[0] in ANY_ERRORS:
        return listed
    if not _parts:
        _parts[:] = [(part, kind) for kind, held in NAME_PARTS for part in held.split()]  # at once, for other threads
    return next((kind for name in names for part, kind in _parts if part in name), "")


def _of_codes(names: Sequence[str]) -> str:
    """The kind of the first code that an API, a cluster or a database is known to give."""
    kinds = (CODES[name] if name in CODES else _of_classes([name]) for name in names if name)
    return next((kind for kind in kinds if kind), "")


def _class_named(text: str) -> str:
    """The exception class that a text starts with, or that its last line does: lower case, without module."""
    for line in (text.lstrip()[:300], text.rstrip().rsplit("\n", 1)[-1][:300]):
        found = compiled(_CLASS).match(line)
        if not found or found[2].isupper():  # "ERROR:" and "FATAL:" are levels, not classes
            continue
        name = found[2].lower()
        known = name in PROGRAM_ERRORS or name in ANY_ERRORS or _listed([name])
        if known or (name.endswith(("error", "exception")) and len(name) > len("exception")):
            return name
        module = found[1].lower()  # with its module it is no word of a sentence
        if module and (name == "error" or "error" in module or "exception" in module or _of_classes([name])):
            return name
    return ""


def _says_no_tool(text: str) -> bool:
    if "not found" not in text and "ENOENT" not in text and "does not exist" not in text and "is not " not in text:
        return False
    return compiled(f"(?m){_NO_TOOL}").search(text) is not None


def _of_program(said: str, names: Sequence[str], specific: str, general: str) -> str:
    """Read what a program's exception, a compiler or a shell's "not found" says, whatever names it quotes."""
    program = next((name for name in names if name in PROGRAM_ERRORS or name == "typeerror"), "")
    if program:
        beyond = _BEYOND_PROGRAM.get(program, frozenset())
        return next((kind for kind in (specific, general) if kind in beyond), "code_error")
    if compiler_failed(said):
        return "dependency_missing" if specific == "dependency_missing" else "code_error"
    return "tool_not_found" if _says_no_tool(said) else ""


def _by_elimination(said: str, hint: str, exit_code: int | None, raised: Sequence[str], named: str, tool: str) -> str:
    """No class, status or phrase says more: what is left is where it happened."""
    in_shell = programs.is_shell(tool)
    if named or raised:
        if hint and _reports_another_side(raised, named):
            return hint
        return "tool_error" if tool and not in_shell and not named else "code_error"
    if exit_code or in_shell:
        return "tool_not_found" if not exit_code and _shell_knows_not(said) else "command_failed"
    if hint:
        return hint
    if not any(map(str.isalnum, said)):  # whatever its letters: no script but Latin reaches the phrases
        return "empty_response"
    if tool:
        return "tool_error"
    return "command_failed" if _by_program(said) else "other"


def _family(gist: str, raised: Sequence[str], named: str) -> str:
    """Tell what the words are about. A request is at fault, not a tool's arguments, where another side reports it."""
    kind = family_of(gist)
    return "invalid_request" if kind == "tool_arguments" and _reports_another_side(raised, named) else kind


def _reports_another_side(raised: Sequence[str], named: str) -> bool:
    return any(part in name for name in (*raised[:1], named) for part in _REMOTE)


def _shell_knows_not(said: str) -> bool:
    """Tell whether a shell names itself, one plain name, and then says something in a script but Latin: to English and
    its neighbours the phrases listen."""
    if said.isascii() or "sh" not in said[:80]:
        return False
    return compiled(_UNKNOWN_NAME).match(said) is not None


def _by_program(said: str) -> bool:
    """Tell whether a command line program speaks: "tar: ...", "docker: ...", "error: ...", "fatal: ..."."""
    name, colon, rest = said.lstrip()[:40].partition(": ")
    if rest.startswith("(gcloud."):
        return True
    return bool(colon and rest) and (name in _LEVELS or name in programs.PLAIN or name in programs.TWO_LEVELS)
