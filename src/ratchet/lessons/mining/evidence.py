"""Sum up the sightings of a failure: the fix that most share, what it says, and whether it may be told.

Pure: a verdict depends on the set of sightings alone, never on the order in which they were read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ratchet.lessons.mining.hunks import SHORTER, strong
from ratchet.records import LessonState

PROVEN_SESSIONS = 2  # a fix that was seen once may be chance; asking for three loses a tenth of what is right
_SHARE, _WEAK_SHARE, _LOOSE_SHARE, _LOOSE_SESSIONS = 0.25, 0.5, 0.6, 3
_NAMING = ("c:undefined: ", "c:cannot use ")  # keys of compilers that hold the name that matters
_SECOND_SHARE = 0.25
_WAY_SESSIONS = 3  # sessions in which a project switched one linter off at a place before that is its way
_TOGETHER = 0.8  # features that come together this often are one fix
_HOLDS, _FAILS, _JUDGED_OFFERS, _FAILED_OFFERS = 0.6, 0.4, 3, 4
_REMOVED_LINES, _ADDED_LINES, _LINE_CHARS, _LEAD_CHARS = 3, 4, 120, 40
SESSIONS_LOOKED_AT = 60  # the newest ones: a project's way of last year is no news


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One sighting as far as it counts. `forms` is what the fix had of what may be shared, empty where nobody can say
    which edit it was; `fixed` is False of a fix in vain."""

    session: str
    at: float
    fixed: bool
    forms: frozenset[str]
    message: str = ""
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FixVerdict:
    """Verdict of a set of sightings: `forms` are the fixes that are told, the first one first (each a set of features
    that come together); right, wrong and unknown count what telling it would have been in each session since."""

    state: LessonState
    forms: tuple[frozenset[str], ...]
    text: str
    reason: str = ""
    tried: int = 0
    worked: int = 0
    right: int = 0
    wrong: int = 0
    unknown: int = 0
    says_itself: bool = False


def judged(key: str, seen: Iterable[Seen]) -> FixVerdict | None:
    """The verdict on the edits that ended findings of one key, None where they share nothing that could be told."""
    sessions = _by_session(seen)
    history: list[Sequence[Seen]] = []
    right = wrong = unknown = 0
    for now in sessions:
        told = _chosen(key, [each for before in history for each in before], proven=True)
        if told:
            outcome = _outcome(told, now)
            right, wrong, unknown = right + (outcome == 1), wrong + (outcome == -1), unknown + (outcome == 0)
        history.append(now)
    fixes = [each for session in sessions for each in session]
    told = _chosen(key, fixes, proven=True)
    proven = bool(told)
    told = told or _chosen(key, fixes, proven=False)
    if not told:
        return None
    ended = [each for each in fixes if each.fixed]
    worked = [each for each in ended if _fits(told, each)]
    state, reason = _state(proven=proven, right=right, wrong=wrong, told=told, fixes=fixes)
    return FixVerdict(
        state=state,
        forms=told,
        text=_text(told, ended),
        reason=reason,
        tried=len({each.session for each in fixes}),
        worked=len({each.session for each in worked}),
        right=right,
        wrong=wrong,
        unknown=unknown,
        says_itself=says_itself(told[0], ended),
    )


def _by_session(seen: Iterable[Seen]) -> list[list[Seen]]:
    """Sightings by session, sessions in order of their first one."""
    held: dict[str, list[Seen]] = {}
    for each in seen:
        held.setdefault(each.session, []).append(each)
    sessions = [sorted(each, key=_order) for each in held.values()]
    sessions.sort(key=lambda each: (each[0].at, each[0].session))
    return sessions[-SESSIONS_LOOKED_AT:]


def _order(each: Seen) -> tuple[float, str, tuple[str, ...], tuple[str, ...]]:
    return each.at, each.message, each.added, each.removed


def _outcome(told: Sequence[frozenset[str]], now: Sequence[Seen]) -> int:
    """1: what was told ended it in this session; -1: something else did; 0: nobody can say."""
    known = [each for each in now if each.fixed and (each.forms or each.added)]  # what was deleted tells nothing
    if any(_fits(told, each) for each in known):
        return 1
    return -1 if known else 0


def _fits(told: Sequence[frozenset[str]], each: Seen) -> bool:
    return any(forms & each.forms for forms in told)


def _state(
    *, proven: bool, right: int, wrong: int, told: Sequence[frozenset[str]], fixes: Sequence[Seen]
) -> tuple[LessonState, str]:
    offers = right + wrong
    if all(_silences(forms) for forms in told):
        return "quarantined", f"switches a check off without a reason: {named(told[0])}"
    vain = len({each.session for each in fixes if not each.fixed and _fits(told, each)})
    if vain > len({each.session for each in fixes if each.fixed and _fits(told, each)}):
        return "retired", f"it was tried in vain in {vain} sessions"
    if offers >= _FAILED_OFFERS and right < _FAILS * offers:
        return "retired", f"it would have been right in {right} of {offers} sessions"
    if not proven:
        return "candidate", ""
    if offers + 1 >= _JUDGED_OFFERS and right + 1 < _HOLDS * (offers + 1):
        return "candidate", f"it would have been right in {right} of {offers} sessions"
    return "active", ""


# -- what most fixes share ------------------------------------------------------------------------------------------


def _chosen(key: str, seen: Sequence[Seen], *, proven: bool) -> tuple[frozenset[str], ...]:
    """The fix that most share, and another one that covers enough of the rest; () for none."""
    fixes = [each for each in seen if each.fixed]
    first = _best(key, fixes, len(fixes), proven=proven)
    if not first:
        return ()
    rest = [each for each in fixes if not first & each.forms]
    second = _best(key, rest, len(rest), proven=False) if len(rest) >= _SECOND_SHARE * len(fixes) else frozenset()
    if second and len({each.session for each in rest if second & each.forms}) < PROVEN_SESSIONS:
        second = frozenset()
    if second and len(rest) and sum(bool(second & each.forms) for each in rest) < _SECOND_SHARE * len(rest):
        second = frozenset()
    told = [first, second] if second else [first]
    covers = sum(bool(second & each.forms) for each in fixes) >= _SECOND_SHARE * len(fixes)
    if second and covers and _suppresses(first) and not _suppresses(second) and not _silences(second):
        told.reverse()
    return tuple(each for each in told if not _silences(each) or each is told[0])


def _best(key: str, fixes: Sequence[Seen], total: int, *, proven: bool) -> frozenset[str]:
    """The features of the fix that most of these share, as far as it is shared enough to be told."""
    counts: Counter[str] = Counter()
    sessions: dict[str, set[str]] = {}
    for each in fixes:
        for form in each.forms:
            counts[form] += 1
            sessions.setdefault(form, set()).add(each.session)
    able = [
        form for form in counts if _enough(key, form, counts[form] / max(1, total), len(sessions[form]), proven=proven)
    ]
    if not able:
        return frozenset()
    # Most sessions first: a session with a dozen findings of one kind is one opinion.
    best = min(
        able, key=lambda form: (-len(sessions[form]) if strong(form) else 0, -len(sessions[form]), -counts[form], form)
    )
    having = [each for each in fixes if best in each.forms]
    kind = best.partition(" ")[0]
    together = {
        form
        for form in able
        if strong(form) == strong(best)
        and (kind in ("suppress", "silence")) == (form.partition(" ")[0] in ("suppress", "silence"))
        and sum(form in each.forms for each in having) >= _TOGETHER * len(having)
    }
    return frozenset(together | {best})


def _enough(key: str, form: str, share: float, sessions: int, *, proven: bool) -> bool:
    if form.startswith("import "):
        # Where a name comes from is news at once; that `strings` is imported as "strings" is none.
        told = key.startswith("c:undefined") and not key.endswith(f" {form.removeprefix('import ')}")
        return told or (share >= _SHARE and (sessions >= PROVEN_SESSIONS or not proven))
    loose = (key[:2] in ("c:", "t:", "e:", "w:") or key.startswith("py:")) and not key.startswith(_NAMING)
    least = _LOOSE_SHARE if loose else _SHARE if strong(form) and key[:2] != "c:" else _WEAK_SHARE
    if not proven:
        return share >= least
    if form.startswith(("suppress ", "silence ")):
        return share >= least and sessions >= _WAY_SESSIONS
    return share >= least and sessions >= (_LOOSE_SESSIONS if loose else PROVEN_SESSIONS)


def _suppresses(forms: frozenset[str]) -> bool:
    return any(form.startswith("suppress ") for form in forms)


def _silences(forms: frozenset[str]) -> bool:
    return any(form.startswith("silence ") for form in forms)


# -- what it says ---------------------------------------------------------------------------------------------------

PHRASES: Mapping[str, str] = {
    "rename": "renaming it",
    "change the signature": "changing the function's signature",
    "change a literal": "another text in the literal's place",
    "extract a function": "splitting it: a part becomes a function (a helper) of its own",
    "put a name for the literal": "a named constant in the literal's place",
    "define a const": "a named constant",
    "check the error": "checking the error",
    SHORTER: "the short name in the long one's place, with an alias or import at the top",
}
_TOLD = {
    SHORTER: ["shorten"],
    "extract a function": ["extract", "split"],
    "put a name for the literal": ["literal"],
    "change the signature": ["signature"],
    "change a literal": ["literal"],
    "check the error": ["check"],
}
_WORD = re.compile(r"[a-z0-9%]{2,}")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")


def named(forms: frozenset[str]) -> str:
    """Put a fix into words: `fmt.Errorf`, `%w`."""
    marks = []
    for form in sorted(forms, key=lambda form: (form.partition(" ")[0] != "add", "%" in form, form)):
        verb, _, name = form.partition(" ")
        if form in PHRASES:
            marks.append(PHRASES[form])
        elif verb in ("suppress", "silence"):
            marks.append(f"`{_mark(name)}`")
        elif verb == "import":
            marks.append(f'importing `"{name}"`')
        elif verb == "mode":
            marks.append(f"mode `{name}`")
        else:
            marks.append(f"`{name}`")
    reason = " with the reason behind it (this project's way)" if _suppresses(forms) else ""
    return ", ".join(marks[:4]) + reason


def _mark(name: str) -> str:
    tool, _, rule = name.rpartition(":")
    return {"nolint": f"//nolint:{rule}", "noqa": f"# noqa: {rule}"}.get(tool, f"{tool} {rule}".strip())


def _text(told: Sequence[frozenset[str]], ended: Sequence[Seen]) -> str:
    said = []
    best = _shortest(told[0], ended)
    for at, forms in enumerate(told):
        having = [each for each in ended if forms & each.forms]
        sessions = _number(len({each.session for each in having}), "session")
        counts = f"({len(having)} of {_number(len(ended), 'fix')}, {sessions})"
        do = _instruction(forms, best if not at else _shortest(forms, ended))
        said.append(f"Else {do[0].lower()}{do[1:]} {counts}." if at else f"{do} {counts}")
    return f"{said[0]}{_example(told[0], best)}" + "".join("\n" + each for each in said[1:])


_INSTRUCTIONS: Mapping[str, str] = {
    "rename": "Rename it",
    "change the signature": "Change the function's signature, and its callers",
    "change a literal": "Put another text in the literal's place",
    "extract a function": "Split it: make a part a function (a helper) of its own",
    "put a name for the literal": "Put a named constant in the literal's place",
    "define a const": "Define a named constant",
    "check the error": "Check the error",
    SHORTER: "Use the short name in the long one's place, with an alias or import at the top",
}


def _instruction(forms: frozenset[str], shown: Seen | None) -> str:
    """A fix as what to do: the call that it adds as its example writes it, else its marks."""
    for form, said in _INSTRUCTIONS.items():
        if form in forms:
            return said
    if _suppresses(forms) or _silences(forms):
        return f"Add {named(forms)}"
    if all(form.startswith("import ") for form in forms):
        return "Import " + named(forms).replace("importing ", "")
    if all(form.startswith("use ") for form in forms):
        return ("Write it with " if shown is None or shown.removed else "Add ") + named(forms)
    written = _call(forms, shown.added) if shown is not None else ""
    return f"Use `{written}`" if written else f"Use {named(forms)}"


def _call(forms: frozenset[str], added: Sequence[str]) -> str:
    """The call of what a fix adds, its texts shortened to the verbs that are part of the fix; "" for none."""
    verbs = [form.partition(" ")[2] for form in sorted(forms) if form.startswith("add %")]
    for name in sorted(form.partition(" ")[2] for form in forms if form.startswith("add ") and "%" not in form):
        begins = "" if name[0] == "." else r"(?<![\w.])"
        for line in added:
            found = re.search(rf"{begins}{re.escape(name)}\(((?:\"(?:[^\"\\]|\\.)*\"|[^()\"`]){{0,120}})\)", line)
            if found is not None:
                given = re.sub(r'"(?:[^"\\]|\\.)*"', f'"...{": " if verbs else ""}{" ".join(verbs)}"', found[1])
                return f"{name}({given})"
    return ""


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "es" if noun.endswith("x") else "s")


def _shortest(forms: frozenset[str], ended: Sequence[Seen]) -> Seen | None:
    """The sighting with the shortest hunk that has all of a fix; None where no line was added."""
    having = [each for each in ended if forms <= each.forms and each.added] or [
        each for each in ended if forms & each.forms and each.added
    ]
    weak = not any(map(strong, forms))  # a keyword is in many a hunk
    short = [each for each in having if len(each.removed) <= _REMOVED_LINES and len(each.added) <= _ADDED_LINES]
    return min(
        short or having,
        default=None,
        key=lambda each: (
            weak and not _named_in(each),
            not each.removed,
            len(each.forms - forms),
            sum(map(len, (*each.removed, *each.added))),
            _order(each),
        ),
    )


def _example(forms: frozenset[str], best: Seen | None) -> str:
    """A hunk as lines of a diff; what is left out of a long one is marked."""
    if best is None or all(form.startswith("import ") for form in forms):  # its sentence says the line
        return "."
    gone, new = best.removed[:_REMOVED_LINES], _told_lines(forms, best.added)
    lines = [f"- {_cut(line, new[at] if at < len(new) else '')}" for at, line in enumerate(gone)]
    lines += ["- ..."] if len(best.removed) > _REMOVED_LINES else []
    lines += [f"+ {_cut(line, gone[at] if at < len(gone) else '')}" for at, line in enumerate(new)]
    lines += ["+ ..."] if len(best.added) > _ADDED_LINES else []
    return ", for example:\n" + "\n".join(line for line in lines if len(line) > 2)


def _cut(line: str, other: str) -> str:
    """A line of at most `_LINE_CHARS`; of a longer one its start, and where it differs from the line beside it."""
    line, other = line.strip(), other.strip()
    if len(line) <= _LINE_CHARS:
        return line
    same = next((at for at, (one, two) in enumerate(zip(line, other, strict=False)) if one != two), 0)
    room = _LINE_CHARS - _LEAD_CHARS
    start = max(_LEAD_CHARS, min(same - _LEAD_CHARS, len(line) - room))
    left_out = "…" if start > _LEAD_CHARS else ""
    return line[:_LEAD_CHARS] + left_out + line[start : start + room] + ("…" if start + room < len(line) else "")


def _named_in(each: Seen) -> bool:
    """Tell whether a hunk puts in a name that its message has: then it is this finding that it answers."""
    names = [name for name in _IDENTIFIER.findall(each.message) if not name.islower()]
    return any(name in line for name in names for line in each.added)


def _told_lines(forms: frozenset[str], added: Sequence[str]) -> list[str]:
    """The added lines that show the fix, four at most: from the first one that has a mark of it."""
    marks = [form.partition(" ")[2].rpartition(":")[2] for form in forms if form not in PHRASES]
    first = next((at for at, line in enumerate(added) if any(mark in line for mark in marks)), 0)
    start = 0 if len(added) <= _ADDED_LINES else first
    return list(added[start : start + _ADDED_LINES])


def says_itself(forms: frozenset[str], ended: Sequence[Seen]) -> bool:
    """Tell whether the tool's own message tells the fix: then telling it again at the failure is noise."""
    messages = [each.message.lower() for each in ended if each.message]
    marks = [
        word for form in forms for word in _TOLD.get(form) or _WORD.findall(form.partition(" ")[2].lower() or form)
    ]
    if not messages or not marks or any(form.startswith(("suppress ", "import ")) for form in forms):
        return False  # that a name is undefined does not say whence it comes
    test = all if any(strong(form) for form in forms) else any
    said = sum(test(_says(mark, message) for mark in marks) for message in messages)
    return 2 * said > len(messages)


def _says(mark: str, message: str) -> bool:
    """Tell whether a message holds a word, be it a verb in another form (rename, renaming)."""
    return (
        re.search(
            rf"\b{re.escape(mark[:-1] if mark == 'rename' else mark)}" + (r"\w*" if mark == "rename" else r"\b"),
            message,
        )
        is not None
    )
