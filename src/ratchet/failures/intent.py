"""Intent of a tool call, as (head, target), so that two calls of a tool that try the same have the same one.

Computed from what redaction leaves: a part of a secret could no longer be told to be one. Lean: hook processes import
it. Pure, total (any input gives an answer) and linear in the input's length.
"""

from __future__ import annotations

from ratchet.failures import programs
from ratchet.failures.expressions import compiled
from ratchet.failures.redaction import text as redaction

_LIMIT = 4000  # characters of a command that are looked at: enough for every real chain, bounded for hostile ones
_READ = 64_000  # characters that are read to find these: a here-document may stand before the rest of a chain
_TARGET = 500  # characters of a target
_SCENE = 2  # noise of what only sets the scene
_DEPTH = 3  # nested `bash -c "..."` that are opened

# Operators, then words made of plain runs, escapes and quoted parts. Every alternative starts with another character
# and closing quotes are optional, so the scan never goes back.
_TOKEN = compiled(
    r"(?s)\d*>&\d|&?\d*>>?&?|<<?<?-?|&&|\|\|?&?|;;?|&|\n|[()]"
    r"|(?:[^\s\"'\\;&|()<>`$]+|\\.?|\$\(?|`|'[^']*'?|\"(?:[^\"\\]|\\.)*\"?)+"
)
_QUOTED = compiled(r"(?s)\\.|'[^']*'?|\"(?:[^\"\\]|\\.)*\"?")
_QUOTE_SIGN = compiled(r"\\.|['\"]")
_BACKQUOTED = compiled(r"(?s)\\.|'[^']*'?|\"(?:[^\"\\]|\\.)*\"?|`([^`]*)`")
_SPLITS = frozenset(("&&", "||", ";", ";;", "|", "|&", "||&", "&", "\n", "(", ")"))
_PIPES = frozenset(("|", "|&"))
_ASSIGNMENT = compiled(r"[A-Za-z_]\w*\+?=")
_WORD = compiled(r"[a-z][a-z0-9]*(?:[-_:][a-z0-9]+)*$")
_TASK = compiled(r"[:a-z][\w:.-]*$")  # a build tool's task: `ecto.migrate`, `:app:testDebug`

_EDITOR_COMMANDS = {"view": "read", "create": "write", "str_replace": "edit", "insert": "edit", "undo_edit": "undo"}
_FILE_KEYS = ("file_path", "path", "notebook_path", "absolute_path", "filePath", "filename", "file", "target_file")
_COMMAND_KEYS = ("command", "cmd", "script", "code")
_OTHER_TARGETS = {"webfetch": "url", "skill": "skill", "task": "subagent_type", "agent": "subagent_type"}
_PATCHED = compiled(r"(?m)^\*\*\* (?:Update|Add|Delete) File: ([^\n]{1,500})")


def intent(tool: object, tool_input: object) -> tuple[str, str]:
    """Return what a call of `tool` tries: (head, target).

    A shell command gives its program with subcommand and, for a test runner or an interpreter, the test or script:
    `cd x && sudo git -C y push origin z | tail` -> ("git push", ""), `uv run pytest a.py::t` -> ("pytest", "a.py::t").
    A file tool gives its verb and file: Edit -> ("edit", "/p/f.py"). Any other tool gives its name in lower case
    (an MCP tool its exact name).
    """
    name = tool if isinstance(tool, str) else ""
    plain = _plain(name)
    fields: dict[object, object] = tool_input if isinstance(tool_input, dict) else {}
    if plain in programs.SHELL_TOOLS:
        return shell_intent(redaction.clean(_command_of(fields or tool_input), _READ))
    if name.startswith("mcp__"):
        return name, ""
    verb = programs.FILE_VERBS.get(plain)
    if verb is None:
        key = _OTHER_TARGETS.get(plain, "")
        value = fields.get(key) if key else None
        return name.lower(), _target(value)
    action = fields.get("command")
    if isinstance(action, str) and action in _EDITOR_COMMANDS:
        verb = _EDITOR_COMMANDS[action]
    for key in _FILE_KEYS:
        value = fields.get(key)
        if isinstance(value, str) and value:
            return verb, _target(value)
    if plain == "applypatch":
        return verb, _target(_patched(_text_of(tool_input)))
    return verb, ""


def _target(value: object) -> str:
    return redaction.clean(value, _READ)[:_TARGET] if isinstance(value, str) else ""


def is_shell(tool: str) -> bool:
    """Tell whether the tool runs shell commands, whatever its agent calls it."""
    return _plain(tool) in programs.SHELL_TOOLS


def _plain(tool: str) -> str:
    return tool.lower().replace("_", "").replace("-", "").replace(".", "")


def shell_intent(command: str) -> tuple[str, str]:
    """(head, target) of a shell command line; ("", "") of an empty one."""
    if "*** Begin Patch" in command:  # Codex's apply_patch, often with the patch as a here-document
        return "edit", _patched(command)
    chosen = chosen_command(command)
    if not chosen:
        return "", ""
    return head_of(chosen)


def chosen_command(command: str) -> list[str]:
    """The words of the one command that a command line is for (see `commands`); [] when there is none. What runs in a
    `$(...)` is it only where nothing around it does more than set the scene."""
    ran = [(words, piped, programs.NOISE.get(_program(words[0]), 0), inner) for words, piped, inner in _once(command)]
    around = any(noise < _SCENE and not inner for _, _, noise, inner in ran)
    best: list[str] = []
    least = 3
    piped_least = 3
    for words, piped, noise, inner in ran:
        if around and inner:
            continue
        # In a pipeline of commands that only look, the first one says what is looked at; the others trim.
        if noise < least or (noise == least and not (piped and noise and piped_least == noise)):
            best, least = words, noise
        piped_least = noise if not piped else min(piped_least, noise)
    return [*best]


_known: dict[str, list[tuple[list[str], bool, bool]]] = {}  # mining asks three times what a session ran
_REMEMBERED = 1024


def _once(command: str) -> list[tuple[list[str], bool, bool]]:
    """The simple commands as `_ran` finds them, remembered: nobody may change them."""
    found = _known.get(command)
    if found is None:
        if len(_known) >= _REMEMBERED:
            _known.clear()
        found = _ran(command)
        if len(command) <= _LIMIT:
            _known[command] = found
    return found


def commands(command: str) -> list[tuple[list[str], bool]]:
    """The simple commands of a command line, in order: (words, fed by a pipe). Wrappers, assignments, redirections and
    here-documents are taken off; quotes are removed; `bash -c "..."` is opened. What `$(...)` runs stands behind the
    command that it is a word of."""
    return [([*words], piped) for words, piped, _ in _once(command)]


def _ran(command: str, depth: int = _DEPTH) -> list[tuple[list[str], bool, bool]]:
    """The simple commands of a command line: (words, fed by a pipe, in a `$(...)`)."""
    text = _without_heredocs(command) if "<<" in command else command
    text = _without_comments(text[:_LIMIT])
    found: list[tuple[list[str], bool, bool]] = []
    words: list[str] = []
    outer: list[tuple[list[str], bool, int]] = []  # commands that wait for the end of a `$(` in them
    piped = skip = sums = False
    place = end = 0  # where the command goes in `found`; where the last `)` ended
    for match in _TOKEN.finditer(_with_parentheses(text)):
        part = match.group()
        if sums:  # `$((`
            sums = part != ")"
        elif part == "(" and outer and not words and match.start() == end:
            sums = True
        elif part == ")" and outer:
            _close(words, piped, found, depth, place, inner=True)
            words, piped, place = outer.pop()
            end, skip = match.end(), False
        elif part in _SPLITS:
            _close(words, piped, found, depth, place, inner=bool(outer))
            words, place = [], len(found)
            piped = part in _PIPES
            skip = False
        elif part[-1] in "<>" or (part[0] in "<>&" and part[-1] in "&-"):
            skip = True  # the word after a redirection is a file
        elif ">&" in part and part[-1].isdigit() and len(part) <= 4:
            continue
        elif skip and "$(" not in part:
            skip = False
        elif part[0] == "#" and not words:
            break
        else:
            glued = bool(words) and match.start() == end  # the rest of a word that holds a `$(...)`
            before, opened, part = _opened(part)
            words[-1:] = [words[-1] + _unquoted(before)] if glued else [*words[-1:], _unquoted(before)]
            if opened:
                outer.append((words, piped, place))
                words, piped, place, end = [_unquoted(part)] if part else [], False, len(found), match.end()
    for level, (last, fed, at) in reversed([*enumerate([*outer, (words, piped, place)])]):
        _close(last, fed, found, depth, at, inner=level > 0)
    return found


def _without_comments(text: str) -> str:
    """A command line without the lines that are comments: they may hold any quote. Those within a quote stay."""
    if "#" not in text or "\n" not in text:
        return text
    kept, quote = [], ""
    for line in text.split("\n"):
        if not quote and line.lstrip()[:1] == "#":
            continue
        kept.append(line)
        for sign in _QUOTE_SIGN.findall(line):
            if not quote:
                quote = sign if len(sign) == 1 else ""
            elif sign[-1] == quote and (len(sign) == 1 or quote == "'"):
                quote = ""
    return "\n".join(kept)


def _opened(token: str) -> tuple[str, bool, str]:
    """(before, whether it opens a `$(`, behind): of a word that opens one outside quotes, with its sign in `before`."""
    at = _QUOTED.sub(lambda quoted: "_" * len(quoted.group()), token).find("$(") if "$(" in token else -1
    return (token, False, "") if at < 0 else (token[: at + 2] + ")", True, token[at + 2 :])


def _with_parentheses(text: str) -> str:
    """A command line with `$(...)` for what stands in backquotes."""
    return _BACKQUOTED.sub(lambda found: f"$({found[1]})" if found[1] else found[0], text) if "`" in text else text


def _close(
    words: list[str], piped: bool, found: list[tuple[list[str], bool, bool]], depth: int, place: int, *, inner: bool
) -> None:
    """Add one simple command to `found` at its place, unwrapped; the head of a loop is none."""
    bare = _unwrapped(words)
    if not bare or bare[0] in programs.LOOPS:
        return
    if depth and _program(bare[0]) in programs.SHELLS:
        for at in range(1, min(len(bare) - 1, 5)):
            option = bare[at]
            if option[:1] != "-":
                break
            if option[1:2] != "-" and option[-1] == "c":
                found[place:place] = [(ran, fed, inner or within) for ran, fed, within in _ran(bare[at + 1], depth - 1)]
                return
    found.insert(place, (bare, piped, inner))


def _unwrapped(words: list[str]) -> list[str]:
    """`words` without leading assignments, shell keywords and programs that only run another."""
    at, count = 0, len(words)
    while at < count:
        word = words[at]
        if word in programs.KEYWORDS or (("=" in word) and _ASSIGNMENT.match(word)):
            at += 1
            continue
        program = _program(word)
        if program in programs.WRAPPERS and at + 1 < count:
            behind = _behind_options(words, at + 1, programs.WRAPPERS[program])
            if program in ("timeout", "gtimeout"):
                behind += 1  # the duration
            if behind < count and not (program == "command" and words[at + 1][:1] == "-"):
                at = behind
                continue
        if program == "uv" and words[at + 1 : at + 3] == ["tool", "run"]:
            at = _behind_options(words, at + 3, programs.VALUED["uv"])
            continue
        if at + 2 < count:
            behind = _behind_options(words, at + 1, programs.VALUED.get(program, frozenset()))
            if behind + 1 < count and (program, words[behind]) in programs.RUNNERS:
                at = _behind_options(words, behind + 1, programs.VALUED["uv"] | {"-n"})
                continue
        break
    return words[at:]


def head_of(words: list[str]) -> tuple[str, str]:
    """(head, target) of one simple command, given as its unquoted words without wrappers."""
    program = _program(words[0])
    if program in programs.INTERPRETERS:
        return _interpreted(program, words)
    if program == "apply_patch":
        return "edit", _patched(" ".join(words[1:]))
    if " " in program:
        return head_of([*program.split(" "), *words[1:]])
    if program in programs.PLAIN:
        return program, _tested(words, 1) if program in programs.TEST_RUNNERS else ""
    head, rest = _with_subcommand(program, words)
    return head, _tested(words, rest) if head in programs.TEST_RUNNERS else ""


def _with_subcommand(program: str, words: list[str]) -> tuple[str, int]:
    """The program with its one or two subcommands, and the position of the first word behind them."""
    head, rest = program, 1
    second_levels = programs.TWO_LEVELS.get(program)
    pattern = _TASK if program in programs.TASKED else _WORD
    for level in (1, 2):
        at = _behind_options(words, rest, programs.VALUED.get(program, frozenset()))
        if at < len(words) and words[at][:1] == "+":  # cargo +nightly
            at += 1
        word = programs.SAME.get(words[at], words[at]) if at < len(words) else ""
        if not pattern.match(word):
            break
        head, rest = f"{head} {word}", at + 1
        if level == 1 and (second_levels is None or (second_levels and word not in second_levels)):
            break
    return head, rest


def _interpreted(program: str, words: list[str]) -> tuple[str, str]:
    """An interpreter's intent: the module it runs, `-c` code, or the script."""
    at = 1
    while at < len(words):
        word = words[at]
        if word == "-m" and program in ("python", "pypy") and at + 1 < len(words):
            module = words[at + 1]
            return head_of([module.rpartition("/")[2] or module, *words[at + 2 :]])
        if word in ("-c", "-e", "-p", "-r", "--eval", "-"):
            return f"{program} {word}", ""
        if word[:1] != "-":
            if word.rpartition("/")[2] == "manage.py" and at + 1 < len(words):
                return head_of(["django", *words[at + 1 :]])
            return program, word[:500]
        at += 2 if word in ("-W", "-X", "-I", "-r", "--require", "--import", "--loader") else 1
    return program, ""


def _tested(words: list[str], at: int) -> str:
    """The first operand of a test runner: a test id, file or package; "" when all tests run."""
    while at < len(words):
        word = words[at]
        if word == "--" or word[:1] == "-":
            at += 2 if word in programs.TEST_VALUED else 1
        else:
            return word[:500]
    return ""


def _behind_options(words: list[str], at: int, valued: frozenset[str] = frozenset()) -> int:
    """The position of the first word from `at` on that is no option, nor the value of one of `valued`, nor an
    assignment."""
    count = len(words)
    while at < count:
        word = words[at]
        if word[:1] == "-" and len(word) > 1:
            at += 2 if word in valued else 1
        elif "=" in word and _ASSIGNMENT.match(word):
            at += 1
        else:
            break
    return at


def _program(word: str) -> str:
    """A program's name without its folder, in the spelling that stands for all (`python3.12` -> `python`)."""
    name = word.rpartition("/")[2] or word
    if name[-4:] == ".exe":
        name = name[:-4]
    if name[:6] == "python" and name[6:].replace(".", "").isdigit():
        return "python"
    return programs.SAME.get(name, name)


def _unquoted(token: str) -> str:
    first, last = token[0], token[-1]
    if '"' not in token and "'" not in token and "\\" not in token:
        return token
    if first == last and first in "\"'" and token.count(first) == 2:
        return token[1:-1]
    if "\\" in token:
        token = token.replace("\\\n", "")
    return token.replace('"', "").replace("'", "") or '""'


def _without_heredocs(text: str) -> str:
    """`text` without the bodies of its here-documents (at most 8; the rest of a more than odd line stays)."""
    at = 0
    for _ in range(8):
        start = text.find("<<", at)
        line_end = text.find("\n", start)
        if start < 0 or line_end < 0:
            break
        word = text[start + 2 : line_end].lstrip("-~ ").split(None, 1)
        mark = word[0].strip("\"'\\;)|&") if word else ""
        if not mark or text[start + 2] == "<":
            at = start + 3
            continue
        end = line_end
        while True:
            end = text.find(mark, end + 1)
            if end < 0:
                return text[:line_end]
            if not text[text.rfind("\n", 0, end) + 1 : end].strip():
                break
        text = text[:line_end] + text[end + len(mark) :]
        at = line_end
    return text


def _command_of(value: object) -> str:
    """The command line in a shell tool's input: a string, a list of words, or a mapping that holds either."""
    if isinstance(value, dict):
        for key in _COMMAND_KEYS:
            if value.get(key):
                value = value[key]
                break
        else:
            return programs.several_of(value)
    return _text_of(value)


def _text_of(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in ("input", "patch", "diff", *_COMMAND_KEYS):
            if isinstance(value.get(key), str):
                return str(value[key])
        return ""
    if isinstance(value, (list, tuple)):
        words = [word for word in value[:200] if isinstance(word, str)]
        if len(words) > 2 and _program(words[0]) in programs.SHELLS and words[1][:1] == "-" and words[1][-1:] == "c":
            return words[2]
        if len(words) == 2 and words[0] == "apply_patch":
            return words[1]
        return " ".join(
            "'" + word.replace("'", "") + "'" if compiled(r"[\s;&|<>()]").search(word) else word for word in words
        )
    return ""


def _patched(text: str) -> str:
    """The first file that a patch in Codex's form touches."""
    found = _PATCHED.search(text)
    return found.group(1).strip() if found else ""


def call_name(tool: str, head: str) -> str:
    """Name a call by its command; by the agent's tool where that ran none."""
    return head if is_shell(tool) or head not in ("", tool.lower()) else tool
