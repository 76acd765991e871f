"""Find what made the difference between a shell command that failed and the one that worked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ratchet.failures.gated import Gated
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.programs import TEST_RUNNERS
from ratchet.lessons.mining.calls import Piece, ToolCall
from ratchet.lessons.mining.causes import TIDIES, missing_program, other_program
from ratchet.lessons.mining.findings import check_of
from ratchet.lessons.mining.generalise import Binding, bindings, generalise, without_prose
from ratchet.lessons.mining.remedy import ADVICE_CHARS, Remedy, Rule, evidence, is_code
from ratchet.lessons.mining.said import unset_options
from ratchet.lessons.mining.selections import selection
from ratchet.lessons.mining.similar import moved

_CODE_KINDS = frozenset(("test_failure", "code_error", "assertion", "wrong_output"))
_AGAIN_CHARS = 60  # of the command to run again; a longer one is named by its head
_MISSING_PATH = Gated(
    r"(?i)no such file|not found|cannot find|could not find|can't find|does not exist|ENOENT|not a git repository"
    r"|no rule to make|missing script|not a directory|did not match any|no tests? (?:ran|found)|outside"
    r"|not in the working tree|does not contain main module"
)
_CD_FAILED = Gated(r"(?m)(?:^|[\s:])cd:|can't cd to")
_INSTALLS = re.compile(
    r"^(?:(?:pip|gem|brew|apt|apt-get|dnf|yum|conda|composer|bundle|npm|pnpm|yarn|bun|poetry|pdm|playwright|asdf|mise"
    r"|pre-commit|cargo|go|uv pip) install|(?:npm|pnpm|bun) i|npm ci|yarn|(?:yarn|pnpm|bun|poetry|pdm|cargo|uv|apk) add"
    r"|uv sync|mix deps\.get|mix local\.\w+|go mod (?:tidy|download)|go get|cargo fetch|rustup [\w ]+|dotnet restore"
    r"|corepack \w+)$"
)
# Commands that only ask, check or tidy up: that one ran between a failure and its cure says nothing.
_ASKS = re.compile(
    r"^(?:git (?:status|log|diff|show|branch|ls-files|ls-tree|rev-parse|remote|blame|describe|reflog|tag|grep"
    r"|check-ignore|cat-file)|docker (?:ps|logs|inspect|images|info)|kubectl (?:get|describe|logs)|npm (?:ls|view|list"
    r"|outdated|audit)|pip (?:show|list|freeze|index)|gh [\w-]+ (?:view|list|status|checks|diff)|gh api|curl|wget|http"
    r"|(?:python|node|ruby)(?: -[ce]?)?|ping|go (?:vet|list|doc|env|version)|cargo (?:check|tree|clippy)|tsc|time"
    r"|brew (?:list|info)|systemctl status|bd [\w-]+|mix (?:help|dialyzer|credo|xref|compile)|ruff(?: check)?"
    r"|mypy|eslint|golangci-lint run)$"
)
_FORMATS = re.compile(r"\b(?:format|fmt|gofmt|rustfmt|prettier|black|isort)\b")
_REWRITES = re.compile(r"(?:^|[\s:_-])(?:fix|autofix|format|fmt|write|autocorrect)(?=[\s:]|$)")
_UNFORMATTED = re.compile(
    r"not (?:properly )?formatted|would reformat|reformatted|formatting|code style issues|modified by this hook",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[\w./:@-]{3,}")
BY_CHANCE = "perhaps "
"""How the form of a remedy begins of which nothing but its place tells that it helped."""
MENDS = "mends "
"""How the form of a remedy begins that rewrites what a check complains of, whatever that was."""
# Subcommands whose name is a plain word in any message.
_PLAIN_WORDS = frozenset("install test build start check list show help file code init open info status".split())  # noqa: SIM905


def shell_remedy(
    failed: ToolCall, worked: ToolCall, between: Sequence[ToolCall], piece: Piece, *, stand_in: bool
) -> Remedy:
    """Why the simple command `piece` of `worked` did what `failed` could not. What the error itself names counts before
    what merely happened; where several things changed and none is named, there is no advice."""
    was = failed.piece
    if was is None:
        return evidence("unclear", worked.input)
    if stand_in:
        missing = missing_program(failed)
        was = next((each for each in failed.pieces if missing and each.words[0] == missing), was)
        return _instead(failed, was, piece, rule="stand_in")
    edits = [call for call in between if call.ok and call.writes]
    acts = _acts(failed, worked, between, piece)
    asked = _asked_acts(failed, acts, edited=bool(edits))
    if asked is not None:
        return asked
    led = _led_in(failed, worked, between, piece)
    changed = was.plain != piece.plain
    if changed and _selects_others(failed, was, piece):
        return evidence("unclear", worked.input)  # other tests, not the same ones done otherwise
    made = [act for act in acts if _makes(act, piece)]
    if made and changed and not edits:
        return _led(failed, was, piece, made)
    left_out = [word for word in was.operands if word not in piece.operands]
    if left_out and was.options == piece.options and set(piece.operands) < set(was.operands):
        return _left_out(was, piece, left_out)
    if _CD_FAILED.search(failed.message) and not edits:
        return _folder_kept(failed, was, piece, led)
    if led and not edits and (_MISSING_PATH.search(failed.message) or led[0].words[0] != "cd"):
        return _led(failed, was, piece, led)
    went = any(each.words[0] == "cd" for each in led)  # then an option beside it may be of no matter
    rewritten = None if edits or went else _rewritten(failed, was, piece, acts)
    if rewritten is not None:
        return rewritten
    if changed and (_named_change(failed, was, piece) or (not edits and not acts and failed.kind not in _CODE_KINDS)):
        return _instead(failed, was, piece)
    if edits:
        return evidence("unclear", worked.input)  # the edit did it, and is told by the finding that it ended
    return _by_circumstance(failed, worked, acts, changed=changed)


def _selects_others(failed: ToolCall, was: Piece, piece: Piece) -> bool:
    """Tell whether two commands are about different tests."""
    other = was.head in TEST_RUNNERS and was.operands != piece.operands
    return selection(was) != selection(piece) or (other and not moved(failed, was.target, piece.target))


def _rewritten(failed: ToolCall, was: Piece, piece: Piece, acts: Sequence[Piece]) -> Remedy | None:
    """The same words behind another program, or with options more."""
    other = other_program(was, piece)
    if other is not None:
        text = f"Use `{other[1]}` instead of `{other[0]}`, as in `{' '.join(piece.plain.split())[:120]}`."
        absent = missing_program(failed) == other[0]
        form = f"absent {other[0]}" if absent else f"program {other[0]} {other[1]}"
        return Remedy(rule="program", text=text, do=piece.exact, reusable=True, form=form)
    options = _only_options(was, piece)
    named = [each.partition("=")[0] for each in options if each[0] == "-"]
    unset = unset_options(failed.message)
    if not was.operands and not all(each in unset or f"{each} " in failed.message for each in named):
        return None  # a bare command becomes another one by an option, unless its usage tells of that
    by_itself = KINDS.get(failed.kind, (False,))[0]
    if not options or acts or by_itself or any(each.path for each in failed.findings):
        return None
    told = " ".join(options)
    example = " ".join(piece.plain.split())
    if failed.project:
        example = example.replace(
            f"{failed.project.rstrip('/')}/", "<project>/"
        )  # where it lies is another's elsewhere
    text = f"Add `{told}` to `{_taker(was, piece, options)}`, as in `{example[:120]}`."
    return Remedy(rule="instead", text=text, do=piece.exact, reusable=True, form=f"adds {was.head} {told}")


def _taker(was: Piece, piece: Piece, options: Sequence[str]) -> str:
    """Name the program that takes the options: the head, or what it runs from a file with that one's own command
    (`go run ./cmd/shop list`), where they stand behind it."""
    words = piece.plain.split()
    before = words[: min([words.index(each) for each in options if each in words], default=0)]
    own = before[len(was.head.split()) :]
    runs = len(own) > 1 and ("/" in own[0] or "." in own[0]) and all(each.isidentifier() for each in own[1:])
    return " ".join(before) if runs else was.head


def _by_circumstance(failed: ToolCall, worked: ToolCall, acts: Sequence[Piece], *, changed: bool) -> Remedy:
    """Find the circumstance where neither the command nor the code changed for a reason that shows: what had run before
    it, its folder, or time."""
    acts = [act for act in acts if act.head != "git stash"]  # it puts the very work away that is tried
    related = [act for act in acts if _speaks_of(failed, act)]
    if len(related) == 1 and not changed:
        return _first(failed, related)
    if len(acts) == 1 and not changed and not any(each.path for each in failed.findings):
        found = _first(failed, acts)
        return replace(found, form=BY_CHANCE + found.form)
    if acts or changed:
        return evidence("unclear", worked.input)
    return Remedy(rule="again", text="", do=worked.input, reusable=False, form="again")


def _plains(call: ToolCall) -> set[str]:
    return {piece.plain for piece in call.pieces}


def _acts(failed: ToolCall, worked: ToolCall, between: Sequence[ToolCall], piece: Piece) -> list[Piece]:
    """Commands that changed something on the way: those run between, and those put before the command itself."""
    known = _plains(failed)
    found: list[Piece] = []
    for call in between:
        if call.shell:
            # Of a chain that failed, all but the command it was for may well have run.
            ran = call.pieces if call.ok else [each for each in call.pieces if each is not call.piece]
            found += [each for each in ran if each.plain not in known]
    for each in worked.pieces:
        if each is piece:
            break
        if each.plain not in known:
            found.append(each)
    unique = {each.plain: each for each in found}
    return [
        each
        for each in unique.values()
        if each.noise == 0
        and ((each.head != piece.head and each.head not in TEST_RUNNERS) or _quoted(failed, each))
        and not _ASKS.match(each.head)
        and each.head not in TIDIES
    ]


def _quoted(failed: ToolCall, act: Piece) -> bool:
    """Tell whether the error says to run this very command."""
    return len(act.words) > 1 and re.search(rf"(?<![\w-]){re.escape(act.plain)}(?![\w-])", failed.message) is not None


def _led_in(failed: ToolCall, worked: ToolCall, between: Sequence[ToolCall], piece: Piece) -> list[Piece]:
    """Scene-setting commands new before the one that worked: another folder, an activated environment, a variable."""
    known = _plains(failed)
    pieces = [each for call in between if call.ok and call.shell and len(call.pieces) == 1 for each in call.pieces]
    for each in worked.pieces:
        if each is piece:
            break
        pieces.append(each)
    return [each for each in pieces if each.words[0] in ("cd", "source", ".", "export") and each.plain not in known]


def _makes(act: Piece, piece: Piece) -> bool:
    """Tell whether the command made the folder out of which `piece` is run: a virtual environment."""
    program = piece.words[0].removeprefix("./")
    return any(len(word) > 2 and program.startswith(word.removeprefix("./") + "/") for word in act.operands)


def _hinted(failed: ToolCall, act: Piece) -> bool:
    """Tell whether the error itself tells to run this, or it installs what the error misses."""
    message = failed.message
    if " " in act.head and re.search(rf"(?<![\w-]){re.escape(act.head)}(?![\w-])", message):
        return True
    if act.plain in message or _asked_for(failed, act):
        return True
    if _FORMATS.search(act.head) and _UNFORMATTED.search(message):
        return True
    if _INSTALLS.match(act.head) is None:
        return False
    if failed.kind in ("dependency_missing", "tool_not_found"):
        return True
    return any(word in message for word in act.operands if len(word) > 2) or "install" in message


def _asked_acts(failed: ToolCall, acts: Sequence[Piece], *, edited: bool) -> Remedy | None:
    """Find the commands before the step that its error asks for, in words or by what it complains of; None for none."""
    hinted = [act for act in acts if _hinted(failed, act)]
    if hinted:
        return _first(failed, hinted)
    mending = [act for act in acts if _mends(failed, act)] if not edited else []
    found = _first(failed, mending) if mending else None
    return replace(found, form=found.form.replace("first ", MENDS, 1)) if found is not None else None


def _mends(failed: ToolCall, act: Piece) -> bool:
    """Tell whether a command rewrites what a check complains of: `lint:fix` for `lint`, `eslint --fix`, `fmt`. Without
    an edit between them nothing else can have mended it."""
    if not any(each.ruled for each in failed.findings):
        return False
    return check_of(act.words) in ("", "lint") and _REWRITES.search(act.raw) is not None


def _asked_for(failed: ToolCall, act: Piece) -> bool:
    """Tell whether the error asks in plain words for this subcommand of git, or of the very program that failed, or for
    this program: "commit or stash them", "run Prettier with --write"."""
    program, _, sub = act.head.rpartition(" ")
    related = program and (program == "git" or program == failed.head.split(" ")[0])
    word = sub if related or not program else ""
    if len(word) < 4 or word in _PLAIN_WORDS:
        return False
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", failed.message, re.IGNORECASE) is not None


def _speaks_of(failed: ToolCall, act: Piece) -> bool:
    """Tell whether a command has an operand of the failed one, or one that its error names."""
    said = {word.rstrip(".,:").removeprefix("./") for word in _TOKEN.findall(failed.message[:2000])}
    # Its own program ran: that another command made it anew says nothing of why it failed.
    said.update(word.removeprefix("./") for word in (failed.piece.words[1:] if failed.piece else ()))
    return any(len(word) > 2 and word.removeprefix("./") in said for word in act.operands)


def _named_change(failed: ToolCall, was: Piece, piece: Piece) -> bool:
    """Tell whether the error speaks of what was changed in the command."""
    lost = [word for word in was.words if word not in piece.words]
    new = [word for word in piece.words if word not in was.words]
    return any(
        len(word) > 1 and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", failed.message) for word in (*lost, *new)
    )


def _bound(failed: ToolCall) -> list[Binding]:
    command = failed.piece.raw if failed.piece else ""
    return bindings(failed.message, command, failed.target if failed.head in TEST_RUNNERS else "", failed.project)


def _form(raw: str, bound: Sequence[Binding]) -> str:
    return generalise(without_prose(raw), bound)


def _instead(failed: ToolCall, was: Piece, piece: Piece, rule: Rule = "instead") -> Remedy:
    bound = _bound(failed)
    if rule == "stand_in":
        known = {value for value, _ in bound}
        bound += [(word, "argument") for word in was.operands if word in piece.operands and word not in known]
    new, old = _form(piece.raw, bound), _form(was.raw, bound)
    if new == old:
        # Only what the placeholders stand for differs: the advice is the value that worked.
        new, old = without_prose(piece.raw), without_prose(was.raw)
    if new == old:
        return evidence("unclear", piece.exact)  # another message: nothing is told by that
    text = f"Run `{new}` instead of `{old}`."
    form = new
    if rule == "stand_in" and missing_program(failed):
        text = f"`{was.words[0]}` is not available here: run `{new}` instead of `{old}`."
        form = f"absent {was.words[0]}"
    if len(text) > ADVICE_CHARS:
        text = f"Run `{new}`."
    reusable = not is_code(new)
    return Remedy(rule=rule, text=text, do=piece.exact, reusable=reusable, form=form)


def _only_options(was: Piece, piece: Piece) -> list[str]:
    """The options, with their values, that are all that a command has more than another; [] where more differs."""
    rest = list(was.words)
    added: list[str] = []
    option = ""
    for word in piece.words:
        if rest and word == rest[0]:
            option = ""
            rest.pop(0)
        elif word[:1] == "-" or option:
            option = word if word[:1] == "-" and "=" not in word else ""
            added.append(word)
        else:
            return []
    return added if not rest else []


def _left_out(was: Piece, piece: Piece, words: Sequence[str]) -> Remedy:
    names = {"file" if "/" in word or "." in word else "name" for word in words}
    named = " and ".join(f"`<{name}>`" for name in sorted(names))
    text = f"Leave out the {named} that the error names: run `{was.head}` on the rest."
    return Remedy(rule="instead", text=text, do=piece.exact, reusable=len(words) <= 2)


def _first(failed: ToolCall, acts: Sequence[Piece]) -> Remedy:
    bound = _bound(failed)
    steps = " && ".join(dict.fromkeys(_form(act.line, bound) for act in acts[-3:]))
    again = _form(failed.piece.raw, bound) if failed.piece else ""
    if not again or len(again) > _AGAIN_CHARS or is_code(again) or "<message>" in again:
        again = failed.head
    text = f"Run `{steps}` first, then `{again}` again."
    do = " && ".join(act.line for act in acts[-3:])
    form = "first " + " && ".join(dict.fromkeys(act.head for act in acts[-3:]))
    return Remedy(rule="first", text=text, do=do, reusable=not is_code(steps), form=form)


def _led(failed: ToolCall, was: Piece, piece: Piece, led: Sequence[Piece]) -> Remedy:
    bound = _bound(failed)
    known = {value for value, _ in bound}
    if _INSTALLS.match(was.head):
        bound += [(word, "package") for word in was.operands if word in piece.operands and word not in known]
    do = " && ".join([*(each.exact for each in led[-2:]), piece.exact])
    new = " && ".join(_form(raw, bound) for raw in (*(each.raw for each in led[-2:]), piece.raw))
    text = f"Run `{new}` instead of `{_form(was.raw, bound)}` alone."
    return Remedy(rule="instead", text=text, do=do, reusable=not is_code(new), form=new)


def _folder_kept(failed: ToolCall, was: Piece, piece: Piece, led: Sequence[Piece]) -> Remedy:
    """The `cd` itself failed: it was relative to a folder that the shell had left, or was in already."""
    if led and led[-1].words[0] == "cd":
        return replace(
            _led(failed, was, piece, led[-1:]), text="Use an absolute path in `cd`: the shell keeps its folder."
        )
    text = "Leave out the `cd`: the shell keeps its folder and is there already."
    return Remedy(rule="instead", text=text, do=piece.exact, reusable=True)
