"""Tells a failure that nobody flagged, by what the result says. Lean: hook processes import it.

A pipe into `tail`, an error body returned as a value and `|| true` all hide an exit code. A false alarm costs more than
a miss (it invents a failure and teaches its "fix"), so what merely shows text (a file, a page, a log, a search) counts
only where the tool's own error stands alone.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ratchet.failures import ours, programs
from ratchet.failures.gated import Gated
from ratchet.failures.intent import commands
from ratchet.failures.runner_reports import behind_passed, compiler_failed, tests_failed

_ENDS = 15  # lines at the end of an output within which a bare "error:" is its outcome, not a line of a log
_STARTS = 4
_BODY_LIMIT = 20_000  # characters of an error body; a longer JSON document is data

_SHELL_LIKE = programs.SHELL_TOOLS | frozenset(
    ("run", "python", "ipython", "executeipythoncell", "jupyter", "bashoutput", "process", "codeexecution")
)
_SHOWS = frozenset(programs.NOISE) | frozenset(("man", "history", "bat", "journalctl", "dmesg", "watch", "glow"))
_SHOWS_TWO = frozenset(
    f"{program} {verb}"
    for program, verbs in (
        ("git", "diff log show blame grep status branch reflog shortlog cat-file ls-files ls-tree describe config tag"),
        ("gh", "pr issue run api release search repo gist"),
        ("docker", "logs inspect ps images history"),
        ("podman", "logs inspect ps images history"),
        ("kubectl", "logs describe get explain"),
        ("npm", "view ls list outdated search explain"),
        ("pip", "show list freeze"),
        ("cargo", "search tree metadata"),
        ("go", "doc list env version"),
        ("terraform", "show output state"),
    )
    for verb in verbs.split()
)
_SPEAKS_ALWAYS = frozenset(("tar", "grep", "egrep", "fgrep", "rg", "ping", "time", "file", "host", "which", "type"))
_FETCHES = frozenset(("curl", "wget", "http", "https", "xh", "httpie"))
# Tools that hand over text which is not their own: a file, a page, a list, a subagent's report.
_DISPLAYS = tuple(
    """
    read view grep glob search list ls find fetch web todo open cat show task agent edit write create insert multiedit
    strreplace notebook skill ask browser think plan getfile memory recall codebase lsp scroll goto
    """.split()  # noqa: SIM905
)

_BODY_KEYS = ('"error', '"code"', '"isError"', '"success"', '"ok"', '"status', '"exit', '"returncode"')
_OWN_ERROR = (
    r"<tool_use_error>|Error:|Error \w{1,40}ing\b[^\n]{0,300}(?:: |['\"`/\\])|API Error\b"
    r"|InputValidationError"
    r"|MCP error -\d|McpError\b|File does not exist\.|String to replace not found"
    r"|Request failed with status code [45]\d\d"
    r"|Tool execution failed|No such tool available|Unknown tool\b|ERROR:\s|\[Error\]|Error executing tool"
    r"|Unable to fetch"
    r"|File has not been read yet|File has been modified since|Invalid `?\w{1,40}`? parameter"
    r"|apply_patch verification failed"
    r"|The path .{1,300} does not exist|No replacement was performed|Traceback \(most recent call last\)"
)
# "Error handling: a guide" is about errors: what is done to them, not what failed while it was done.
_ABOUT_ERRORS = r"Error (?:handling|logging|reporting|tracking|monitoring|tracing|messaging|catching|wrapping)\b"
# A short sentence that says nothing but that something is missing, took too long or was refused.
_PLAIN_ERROR = (
    r"(?:[^\w\s]{1,3} )?(?:"
    r"(?:unable to|could ?n[o']t|can ?n[o']t|failed to|no such) \w.{0,250}|not found|invalid (?:\w+ ){0,2}\w+"
    r"|(?:[a-z]\w*\.){0,6}(?-i:[A-Z]\w{0,60}(?:Error|Exception)|Exception): \S.{0,250}"
    r"|(?:\w+ ){0,3}(?:limit|quota|timeout|deadline)s? (?:was |has been |is )?(?:exceeded|reached)"
    r"(?: (?:for|on|by|in|of) .{1,100})?"
    r"|you (?:do not|don't|are not|aren't|cannot|can't) (?:\w+ ){0,4}"
    r"(?:permissions?|access|rights|allowed|authorized).{0,100}"
    r")(?:[.!]?$|[.:;,] .{1,200}$)"
    r"|(?!(?:no|none|nothing|zero|pattern|match(?:es)?|results?|\d+)\b)(?:[\w'`\"./\\:-]{1,200}(?<!:) ){1,6}"
    r"(?:(?:was |were |is |could )?not (?:be )?found|timed out|(?:does|did)(?: not|n't) exist"
    r"|is (?:not available|unavailable)"
    r"|(?:was |has been |is )?(?:denied|refused|forbidden|unreachable)|(?:has |have )?failed)"
    r"(?:[.!]?$|: .{1,300}$|[ (](?:at|for|in|with|after|because|while|to|by|on|from)?\b.{0,200}$)"
)
_STATUS_WORDS = frozenset(("error", "failed", "failure", "fail"))
# What may stand beside a status that is about the call itself, and not about what the call looked up.
_REPORT_KEYS = frozenset(
    ("status", "message", "error", "errors", "msg", "detail", "details", "reason", "code", "type", "data", "result")
)
# A program that speaks of what went wrong puts its own name first, in every language (GNU's `error`, the shells).
_SHELL_SPEAKS = (
    r"-?(?:/\S{0,80}/)?(?:ba|z|da|k|c|fi)?sh ?: (?:(?:[^\s:]{1,20} )?\d{1,6} ?: )?[^\s:]{1,200} ?: \S"
    r"|(?:zsh|fish) ?: [^\n:]{1,60} ?: \S"
)
# What PowerShell and cmd put around or say for an error; the first two in every language.
_WINDOWS = (
    r"^ {0,8}\+ (?:CategoryInfo {1,20}:|FullyQualifiedErrorId :)|^At line:\d{1,6} char:\d"
    r"|\bis not recognized as (?:an internal or external command|(?:the|a) name of a cmdlet)"
    r"|^The (?:system cannot find the (?:file|path|drive|batch)|syntax of the command is incorrect"
    r"|filename, directory name, or volume label)|^File Not Found\r?$|^Could Not Find [A-Za-z]:\\"
    r"|^Access is denied\.\r?$|^Line \|\r?$"
    r"|^Exception calling \"\w{1,80}\" with \"\d"
)
_ON_WINDOWS = Gated(f"(?m){_WINDOWS}")
# The word that git, gcc and others of GNU's translations put where "error:" stands, behind at most one other. By form
# alone it could as well be the one for a warning.
_ERROR_WORD = (
    r"^(?:[^\s:]{1,200}:\d{1,6}:(?:\d{1,6}:)? )?(?:[^\W\d]{1,20} )?[^\W\da-zA-Z]{0,4}"
    r"(?:fatal|Fehler|Schwerwiegend|erreur|errore|erro|błąd|fel|fout|chyba|hata|lỗi|ошибка|помилка|エラー|错误|錯誤|오류|σφάλμα|خطأ)"
    r" ?: \S"
)
# Programs that print nothing when they succeed, on Unix (POSIX: standard output not used) and in cmd. One result does
# not tell what its program usually prints.
_SILENT = frozenset(
    ("rm", "rmdir", "mkdir", "touch", "chmod", "chown", "ln", "del", "erase", "rd", "md", "ren", "rename", "attrib")
)
# A client's words for it.
_CLIENTS_NOTHING = r"[(\[<][\w ]{0,40}\b(?:no|No) (?:content|output|result)\b[\w ]{0,20}[)\]>]"
_WINDOWS_TOOLS = frozenset(("cmd", "powershell", "pwsh"))
# What the shell tool itself puts before, or instead of, a command's output.
_SHELL_ERROR = (
    r"<tool_use_error>|(?:Error: )?Exit code [1-9]|Process exited with code [1-9]"
    r"|Permission to use \w{1,40} .{0,2000}denied"
    r"|Command timed out after|(?:exec|shell) command rejected|failed in sandbox"
)
_ANSWERED = (
    r"(?:HTTP/[\d.]{1,3} |HTTP Error |Error code: |API Error: |Error: |Status:? |HTTP )?"
    r"(?:4(?:0[0-9]|1\d|2[29]|51)|5(?:0[0-4]|2\d))(?::| -|,)? {0,2}"
    r"(?:\{|Too Many Requests|Service Unavailable|Bad Gateway|Gateway Time-?out|Internal Server Error"
    r"|Unauthorized|Forbidden"
    r"|Bad Request|Not Found|page not found"
    r"|RESOURCE_EXHAUSTED|UNAVAILABLE|Client Error|Server Error|Overloaded|Payment Required)"
)
_STATUS_ALONE = rf"{_ANSWERED}[.!]?(?:$|: .{{1,200}}$)"  # what a page shows of itself goes on
_EXITED = Gated(
    r"(?m)^(?:Error: )?(?:Exit code|Process exited with code|Command exited with code|exit status"
    r"|Command failed with exit code)"
    r":? [1-9]\d{0,2}\b|^\[The command completed with exit code [1-9]|\bHalting VM with exit status [1-9]"
    r"|^exit status [1-9]"
    r"|^(?:Error: )?(?:[Tt]he )?[Cc]ommand (?:failed|exited|terminated|finished) with (?:exit )?(?:code|status) [1-9]"
    r"|^\(exit code:? [1-9]\d{0,2}\)|\berror Command failed with exit code [1-9]|^script returned exit code [1-9]"
)
# Words that only a failing program prints, wherever they stand.
_CERTAIN = Gated(
    r"(?m)^PHP (?:Fatal|Parse) error: |^\S{1,200}:\d{1,6}:in ['`].{1,200}\(\w{1,60}(?:Error|Exception)\)"
    r"|^fish: Unknown command: "
    r"|^npm (?:ERR!|error) |^panic: |^make(?:\[\d\])?: \*\*\* |^BUILD FAILED\b"
    r"|^\[(?:ERROR|INFO)\] BUILD FAILURE|^FAILURE: Build failed"
    r"|^\[[\w:.\-]{1,60}\] ERROR task failed|^Segmentation fault|^thread '.{1,80}' panicked at"
    r"|^== Compilation error in"
    r"|^(?:/bin/)?(?:da)?sh: \d{1,6}: \S{1,100}: not found$"
    r"|^error: could not compile|^\S{0,80}sh: (?:line )?\d{0,6}:? ?\S{1,100}: command not found|^\(eval\):\d{1,6}: "
    r"|^zsh: command not found: |^ ?! \[(?:remote )?rejected\]|^error: failed to push some refs|^CONFLICT \("
    r"|^Automatic merge failed|^[1-9]\d{0,6} files? would be reformatted|^Found [1-9]\d{0,6} errors?\b"
    r"|Code style issues? found"
    r"|mods/funs, found [1-9]|^(?:Error: )?[Cc]ommand timed out after|^\*\* \(Mix\) |^Exception in thread \""
    r"|^ERROR: (?:Could not|No matching|failed to (?:solve|build)|Failed building)|^curl: \(\d"
    r"|^error: externally-managed"
    r"|^(?:fatal: )?unable to access 'http|^(?:docker: )?Error response from daemon: "
    r"|^Error from server \(|^FATAL ERROR: "
    r"|^psql: error: |^ERROR \d{4} \(\w{5}\)|^Pre-commit validation failed|^husky - .{1,60} failed|^Killed$"
)
# Words that a log may quote too: they count at the ends of an output.
_AT_ENDS = Gated(
    r"(?m)^E: \S|^tar: (?:Error is not|Exiting with failure)"
    r"|^fatal: |^error: |^Error: |^ERROR: |^error\[|^Traceback \(most recent call last\)|^\*\* \(\w{1,60}\) "
    r"|^ERROR\b.{0,40}:"
    r"|^(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{1,60}(?:Error|Exception): |^(?:Uncaught |Unhandled )|^Failed to "
    r"|^Command failed: "
    r"|^FAIL(?:ED)?\b"
    r"|^[\w./\-]{1,80}: (?:unrecognized|unknown|invalid|illegal) (?:option|command|argument)|^usage: "
    r"|^Permission to \S{1,40} .{0,300}denied|^\u2502 Error: |^\w{1,30}: '[^'\n]{1,60}' is not an? \w{1,20} command"
)
_ALONE = (
    r".{0,500}: (?:\[Errno \d{1,3}\] )?"
    r"(?:No such file or directory|Permission denied|Is a directory|Not a directory|not found)$"
    r"|(?:fatal|error): |\S{0,80}sh: .{1,300}: command not found|\(eval\):\d{1,6}: |.{0,200}: command not found"
    r"|zsh: (?:command not found|no matches found|no such file)|curl: \(\d|jq: error|awk: |sed: (?:-e|can't)"
    r"|rg: |grep: .{0,200}: "
    r"|no pull requests found|Error from server \(|Error response from daemon: "
    r"|Error: |gh: |GraphQL: |HTTP 4\d\d|could not |error connecting"
)
_REFUSED = re.compile(
    r"(?:[\w./+-]{1,80}: |error: )(?:illegal|invalid|unknown|unrecogni[sz]ed|unexpected) (?:option|argument|flag)s?"
    r"(?:: | -- | )['\"`]?(?P<option>--?[A-Za-z][\w-]{0,40}|[A-Za-z](?!\w))"
)
_USED = re.compile(r"^ {0,4}usage:", re.MULTILINE | re.IGNORECASE)
_PASSED = Gated(
    r"(?m)(?<!\d)0 failures\b|\btest result: ok\b|^PASS$|^OK(?: \(|$)|\bBUILD SUCCESS|^ok  \t|(?<!\d)0 errors?\b"
    r"|\b[1-9]\d{0,6} passed\b"
    r"|^All checks passed|^Success: no issues found|^Done in |^\u2713 "
)


def says_failure(text: str, *, tool: str = "", head: str = "", given: str = "") -> bool:
    """Tell whether the result of a step that nobody flagged says that it failed.

    `tool` is the tool's name, `head` the command head of a shell step (`failures.intent`) and `given` its command,
    where known. What Ratchet wrote itself, and what it shows of earlier failures, is none. Linear.
    """
    said = _bare(ours.without(text))
    if not said:
        return False
    if ours.shows_ours(tool, given, head):
        if ours.tells_failure(said):
            return True
        said = ours.of_others(said, tool, given)
        if not said:
            return False
    name = "".join(c for c in tool.lower() if c.isalnum())
    if name and name not in _SHELL_LIKE:
        if re.match(_OWN_ERROR, said) and not re.match(_ABOUT_ERRORS, said):
            return not (name.startswith(("task", "agent")) and len(said) > 1000)
        if _is_plain_error(said) or _system_speaks(said):
            return True
        return not name.startswith(_DISPLAYS) and _is_error_answer(said)
    first = head.split(" ", 1)[0]
    if (
        re.match(_SHELL_ERROR, said)
        or _refuses_option(said, given)
        or _breaks_silence(said, given)
        or (name in _WINDOWS_TOOLS and _quotes(said, first))
    ):
        return True
    if _speaks_of_itself(said, first) or (not name and _is_plain_error(said)):
        return True
    if first in _SHOWS or " ".join(head.split(" ")[:2]) in _SHOWS_TWO:
        return _stands_alone(said, first)
    if first in _FETCHES:
        return _stands_alone(said) or _is_error_answer(said)
    return _is_error_answer(said) or _command_failed(said)


def _bare(text: str) -> str:
    """The text without colours, with a colon of ASCII where a shell's translation has a wide one."""
    if "\x1b" in text:
        from ratchet.failures.excerpt import plain

        text = plain(text)
    return (text if text.isascii() else text.replace("\uff1a", ": ")).strip()


def _command_failed(said: str) -> bool:
    if _EXITED.search(said):
        return True
    if tests_failed(said):
        return True
    lines = [line for line in behind_passed(said).split("\n") if line.strip()]
    ends = "\n".join(lines if len(lines) <= _STARTS + _ENDS else lines[:_STARTS] + lines[-_ENDS:])
    if _PASSED.search("\n".join(lines[-5:])):
        return False
    return (
        _CERTAIN.search(said) is not None
        or _ON_WINDOWS.search(ends) is not None
        or compiler_failed(said)
        or _AT_ENDS.search(ends) is not None
        or re.search(_ERROR_WORD, ends, re.MULTILINE | re.IGNORECASE) is not None
        or _stands_alone(said)
    )


def _stands_alone(said: str, program: str = "") -> bool:
    """Nothing but errors of the command itself; those that any program may word so, only of `program` where one is
    named: it shows what others wrote."""
    lines = [line for line in said.split("\n") if line.strip()]
    if len(lines) > _STARTS:
        return False
    own = f"{program}: "  # a bare "File exists" is what somebody's `echo` says
    return all(re.match(_ALONE, line[:600]) or (own in line[:300] and _system_speaks(line)) for line in lines)


def _system_speaks(said: str) -> bool:
    """Tell whether one line ends with the words that the system has for an error, or begins with the error's name."""
    if len(said) > 600 or "\n" in said or re.match(_HIT, said):
        return False
    import errno

    name, colon, _ = said.partition(": ")
    if colon and name[:1] == "E" and name != "ERROR" and hasattr(errno, name):
        return True
    words = said.rstrip(".\r").rpartition(": ")[2]
    is_long = words.count(" ") >= 3  # Go writes all of it in lower case; what is short, people write so, too
    return words in _of_system() or (is_long and words[:1].upper() + words[1:] in _of_system())


_HIT = r"[^\s:]{1,300}[:-]\d{1,6}[:-]"  # a line that a search found


@lru_cache(maxsize=1)
def _of_system() -> frozenset[str]:
    import errno
    import os

    answer = os.strerror(errno.ENODATA)  # "No data available": what was asked has none
    return frozenset(os.strerror(number) for number in errno.errorcode) - {answer}


def _speaks_of_itself(said: str, program: str) -> bool:
    """Tell whether a few lines are all, in which the shell or the program names itself and then what was wrong."""
    lines = [line for line in said.split("\n") if line.strip()]
    if "+ FullyQualifiedErrorId : " in lines[-1]:
        return True
    if len(lines) > _STARTS or any("arning" in line or "avertissement" in line for line in lines):
        return False
    if all(re.match(_SHELL_SPEAKS, line[:600]) or re.match(_WINDOWS, line[:600]) for line in lines):
        return True
    named = rf"(?:/\S{{0,80}}/)?{re.escape(program)} ?: "
    if re.match(r"[A-Z][a-z]{1,20}-[A-Z]\w{1,40}$", program):  # a cmdlet of PowerShell says nothing else about itself
        return re.match(named, said) is not None
    if program not in programs.PLAIN or program in _SPEAKS_ALWAYS:
        return False
    return all(re.match(named + r".{1,300} ?: \S", line[:600]) for line in lines)


def _breaks_silence(said: str, given: str) -> bool:
    """Tell whether the only command was one that prints nothing when it succeeds, and yet it printed a line or two."""
    said = said.partition("Shell cwd was reset to ")[0]  # Claude Code's own line
    said = "" if re.fullmatch(_CLIENTS_NOTHING, said) else said
    if not said.strip() or given.split(" ", 1)[0].lower() not in _SILENT or said.count("\n") >= _STARTS:
        return False
    found = [words for words, _ in commands(given)]
    return len(found) == 1 and not any(re.match(r"-\w*[vic]|--(?:verbose|changes|interactive)", w) for w in found[0])


def _refuses_option(said: str, given: str) -> bool:
    """Tell whether a program of the command began by refusing an option that it was given, and told how it is used: so
    it ends whatever comes behind it in a pipe."""
    match = _REFUSED.match(said)
    if match is None or (usage := _USED.search(said)) is None or usage.start() > _BODY_LIMIT:
        return False
    option = match["option"] if match["option"][0] == "-" else f"-{match['option']}"
    return re.search(rf"(?<!\S){re.escape(option)}(?![\w-])", given) is not None


def _quotes(said: str, program: str) -> bool:
    """Tell whether cmd says, in whatever language, that it does not know the program: it quotes it in its sentence."""
    return (
        bool(program)
        and said.count("\n") <= 2
        and bool(re.match(rf"[^\n'\"]{{0,40}}['\"]{re.escape(program)}['\"]", said))
    )


def _is_plain_error(said: str) -> bool:
    return (
        len(said) <= 300
        and "\n" not in said
        and any(re.match(form, said, re.IGNORECASE) for form in (_PLAIN_ERROR, _STATUS_ALONE, _ERROR_WORD))
    )


def _is_error_answer(said: str) -> bool:
    """An HTTP error, or a JSON body that reports one, returned as if it were a value."""
    if re.match(_ANSWERED, said):
        return True
    if said[0] not in "{[" or said[-1] not in "}]" or len(said) > _BODY_LIMIT:
        return False
    if not any(key in said for key in _BODY_KEYS):
        return False
    import json

    try:
        body = json.loads(said)
    except (ValueError, RecursionError):
        return False
    if isinstance(body, list):
        body = body[0] if len(body) == 1 else None
    return isinstance(body, dict) and _reports_error(body)


def _reports_error(body: dict[str, object]) -> bool:
    if body.get("isError") is True or body.get("type") == "error":
        return True
    if any(body.get(name) is False or body.get(name) in ("false", "False") for name in ("success", "ok")):
        return True
    if body.get("error") and body["error"] not in (True, False) and not body.get("data") and not body.get("result"):
        return True
    if body.get("errors") and not body.get("data"):
        return True
    if _process_failed(body):
        return True
    inner = body.get("result", body.get("response"))
    if isinstance(inner, dict) and body.keys() <= {"result", "response", "id", "jsonrpc"}:
        return _reports_error(inner)
    code = body.get("code")
    if not body.keys().isdisjoint(("message", "msg")) and body.keys() <= _REPORT_KEYS:
        if body.get("error") is True or (isinstance(code, int) and (400 <= code <= 599 or -32_768 <= code <= -32_000)):
            return True
        if isinstance(code, str) and "_" in code and code.isupper():
            return True
    if body.get("status") in _STATUS_WORDS and body.keys() <= _REPORT_KEYS:
        return True
    status = body.get("status", body.get("statusCode", body.get("status_code")))
    return isinstance(status, int) and 400 <= status <= 599


def _process_failed(body: dict[str, object]) -> bool:
    """Tell whether an object is what came of a process that failed: Codex's own, or an exit code beside an output."""
    held = body.get("metadata")
    told = [held.get("exit_code")] if isinstance(held, dict) else []
    if not {"output", "stdout", "stderr"}.isdisjoint(body):
        told += [body.get(name) for name in ("exit_code", "exitCode", "returncode")]
    return any(isinstance(code, int) and code != 0 for code in told)
