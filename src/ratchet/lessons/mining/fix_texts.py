"""Puts the fix that most sightings share into words: an instruction, its counts and the shortest real hunk."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING

from ratchet.lessons.hunk_lines import cut
from ratchet.lessons.mining.hunks import CONSTANT, LITERAL, NAMED, SHORTER, SWAPS, imports, strong
from ratchet.lessons.mining.silencing import without_reason

if TYPE_CHECKING:
    from ratchet.lessons.mining.evidence import Seen

_REMOVED_LINES, _ADDED_LINES, _LINE_CHARS = 3, 4, 120
_MARKS = 4  # of a fix that are named


def suppresses(forms: frozenset[str]) -> bool:
    return any(form.startswith("suppress ") for form in forms)


def silences(forms: frozenset[str]) -> bool:
    return any(form.startswith("silence ") for form in forms)


INSTRUCTIONS: Mapping[str, str] = {
    "rename": "Rename it",
    "change the signature": "Change the function's signature, and its callers",
    "change a literal": "Put another text in the literal's place",
    "extract a function": "Split it: make a part a function (a helper) of its own",
    NAMED: "Put a named constant in the literal's place",
    "define a const": "Define a named constant",
    "check the error": "Check the error",
    SHORTER: "Use the short name in the long one's place, with an alias or import at the top",
}
_TOLD = {
    SHORTER: ["shorten"],
    "extract a function": ["extract", "split"],
    NAMED: ["literal", "const"],
    "change the signature": ["signature"],
    "change a literal": ["literal"],
    "check the error": ["check"],
}
_WORD = re.compile(r"[a-z0-9%]{2,}")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")


def named(forms: frozenset[str]) -> str:
    """Put a fix into words: `fmt.Errorf`, `%w`."""
    return _marks(forms) + (" with the reason beside it (this project's way)" if suppresses(forms) else "")


def _marks(forms: frozenset[str]) -> str:
    marks = []
    for form in sorted(forms, key=lambda form: (form.partition(" ")[0] != "add", "%" in form, form)):
        verb, _, name = form.partition(" ")
        if form in INSTRUCTIONS:
            marks.append(INSTRUCTIONS[form][0].lower() + INSTRUCTIONS[form][1:])
        elif verb in ("suppress", "silence"):
            marks.append(f"`{_mark(name)}`")
        elif verb == "import":
            marks.append(f'importing `"{name}"`')
        elif verb == "mode":
            marks.append(f"mode `{name}`")
        else:
            marks.append(f"`{name.lstrip('.') if verb == 'instead' else name}`")
    return ", ".join(marks[:_MARKS])


def _mark(name: str) -> str:
    tool, _, rule = name.rpartition(":")
    return {"nolint": f"//nolint:{rule}", "noqa": f"# noqa: {rule}"}.get(tool, f"{tool} {rule}".strip())


def text_of(
    told: Sequence[frozenset[str]], ended: Sequence[Seen], wrote: Mapping[str, AbstractSet[str]] | None = None
) -> str:
    """The fixes `told` in words, each with its counts. `wrote` are the sessions whose edits switched a rule off, also
    where no finding asked for it: they are what makes that a habit."""
    said = []
    best = _shortest(told[0], ended)
    first = sum(bool(told[0] & each.forms) for each in ended)
    for at, forms in enumerate(told):
        having = [each for each in ended if forms & each.forms]
        met = {each.session for each in having}
        every = met.union(*((wrote or {}).get(form, ()) for form in forms))
        told_in = _number(len(met), "session")
        if len(every) > len(met):
            told_in = f"in {_number(len(every), 'session')}, in {len(met)} of them after this finding"
        counts = f"({len(having)} of {_number(len(ended), 'fix')}, {told_in})"
        do = _instruction(forms, best if not at else _shortest(forms, ended))
        if suppresses(forms) and not at:
            do = f"Mend it, unless it is meant so: then {do}"
        other = "More often" if len(having) > first else "Else"
        if suppresses(forms):  # not the opposite advice, but the way of an exception: its reason stands beside it
            other = "Where it is meant so," + (" as more often here," if len(having) > first else "")
        said.append(f"{other} {do[0].lower()}{do[1:]} {counts}." if at else f"{do} {counts}")
    said += [named for forms in told if (named := _named_so_far(forms, ended))]
    return f"{said[0]}{_example(told[0], best)}" + "".join("\n" + each for each in said[1:])


def _named_so_far(forms: frozenset[str], ended: Sequence[Seen]) -> str:
    """Say which names the project has for literals: no message of a tool does; "" where none is known."""
    if NAMED not in forms:
        return ""
    known = sorted(ended, key=lambda each: (each.at, each.added))
    given = {literal: name for each in known for literal, name in _names_given(each.removed, each.added)}
    told = [f"`{name}` for {_quoted(literal)}" for literal, name in [*given.items()][-_NAMES:]]
    return f"Names that there are: {', '.join(told)}." if told else ""


_NAMES = 8


def _names_given(removed: Sequence[str], added: Sequence[str]) -> list[tuple[str, str]]:
    """(literal, name) of each constant that a hunk defines, or puts in the literal's place; none of a variable."""
    found = []
    local = {line.split()[0] for line in added if ":=" in line}
    for line in added:
        made = CONSTANT.match(line)
        if made is not None and (literal := LITERAL.search(line)) is not None:
            found.append((literal.group(), made[1]))
    for old, new in zip(removed, added, strict=False):
        literals = LITERAL.findall(old)
        rest = map(re.escape, LITERAL.split(old))
        match = re.fullmatch(r"([\w.]*[A-Za-z_]\w{2,}|\"[^\"]*\"|'[^']*')".join(rest), new) if literals else None
        found += [(was, now) for was, now in zip(literals, match.groups(), strict=True) if was != now] if match else []
    return [(literal, name) for literal, name in found if name[0] not in "\"'" and name not in local]


def _instruction(forms: frozenset[str], shown: Seen | None) -> str:
    """A fix as what to do: the call that it adds as its example writes it, else its marks."""
    for form, said in INSTRUCTIONS.items():
        if form in forms:
            return said
    if suppresses(forms):
        return f"this project silences it, with the reason beside it: {_marks(forms)}"
    if silences(forms):
        return f"Add {named(forms)}"
    if all(form.startswith("import ") for form in forms):
        line = next((line.strip() for line in shown.added if imports([line])), "") if shown is not None else ""
        if len(forms) == 1 and line[:1].isalpha() and len(line) <= _LINE_CHARS and "`" not in line:
            return f"Import it: `{line}`"
        return "Import " + named(forms).replace("importing ", "")
    if any(form.startswith("instead ") for form in forms):
        return f"Use {named(frozenset(form for form in forms if form.startswith('instead ')))} in its place"
    if all(form.startswith(SWAPS) for form in forms):
        return _swap(min(forms, key=lambda form: (len(form), form)))
    if all(form.startswith("use ") for form in forms):
        if shown is not None and not shown.removed:
            return f"Add {named(forms)}"
        return f"Write it with {' and '.join(_as_written(forms, shown))}"
    written = _call(forms, shown.added) if shown is not None else ""
    return f"Use `{written}`" if written else f"Use {named(forms)}"


def _as_written(forms: frozenset[str], shown: Seen | None) -> list[str]:
    """Keywords in the order in which an example has them: a `switch` before its `case`."""
    words = sorted(form.partition(" ")[2] for form in forms)
    code = "\n".join(shown.added) if shown is not None else ""
    found = {word: re.search(rf"\b{re.escape(word)}\b", code) for word in words}
    words.sort(key=lambda word: at.start() if (at := found[word]) is not None else len(code))
    return [f"`{word}`" for word in words[:_MARKS]]


def _swap(form: str) -> str:
    verb = next(filter(form.startswith, SWAPS))
    gone, came = (_quoted(part) for part in (*form.removeprefix(verb).split(" > ", 1), "")[:2])
    return f"Put {came} in the place of {gone}" if verb == "swap " else f"{verb.capitalize()}{gone}"


def _quoted(code: str) -> str:
    return f"`` {code} ``" if "`" in code else f"`{code}`"


def _call(forms: frozenset[str], added: Sequence[str]) -> str:
    """The outermost call of what a fix adds, its texts shortened to the verbs that are part of the fix; "" for none."""
    verbs = [form.partition(" ")[2] for form in sorted(forms) if form.startswith("add %")]
    names = [form.partition(" ")[2] for form in sorted(forms) if form.startswith("add ") and "%" not in form]
    for line in added:
        for name in sorted(names, key=lambda name: (line.find(name), name)):
            begins = "" if name[0] == "." else r"(?<![\w.])"
            found = re.search(rf"{begins}{re.escape(name)}\(((?:{_ARGUMENT}|\({_ARGUMENT}*\)){{0,120}})\)", line)
            if found is not None:
                given = re.sub(r'"(?:[^"\\]|\\.)*"', f'"...{": " if verbs else ""}{" ".join(verbs)}"', found[1])
                return f"{name}({given})"
    return ""


_ARGUMENT = r"(?:\"(?:[^\"\\]|\\.)*\"|[^()\"`])"


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
            (each.at, each.message, each.added, each.removed),
        ),
    )


def _example(forms: frozenset[str], best: Seen | None) -> str:
    """A hunk as lines of a diff; what is left out of a long one is marked."""
    if best is None or all(form.startswith("import ") for form in forms):  # its sentence says the line
        return "."
    best = _once(best)
    before = best.removed[:_REMOVED_LINES]
    shown = dedent("\n".join((*before, *_told_lines(forms, best.added)))).split("\n")  # its depth within a block stays
    shown = [without_reason(line) for line in shown] if suppresses(forms) else shown
    lines = [f"- {line}" for line in shown[: len(before)]]
    lines += ["- ..."] if len(best.removed) > _REMOVED_LINES else []
    lines += [f"+ {line}" for line in shown[len(before) :]]
    lines += ["+ ..."] if len(best.added) > _ADDED_LINES else []
    return ", for example:\n" + "\n".join(cut([line for line in lines if _SAYS.search(line[2:])]))


_SAYS = re.compile(r"[\w{}()\[\].]")  # neither a blank line nor a comment's empty one


def _once(best: Seen) -> Seen:
    """The same hunk with a line once that it changes at several places alike."""
    places = {(old.strip(), new.strip()): (old, new) for old, new in zip(best.removed, best.added, strict=False)}
    if len(best.removed) != len(best.added) or len(places) == len(best.added):
        return best
    return replace(
        best, removed=tuple(old for old, _ in places.values()), added=tuple(new for _, new in places.values())
    )


def _named_in(each: Seen) -> bool:
    """Tell whether a hunk puts in a name that its message has: then it is this finding that it answers."""
    names = [name for name in _IDENTIFIER.findall(each.message) if not name.islower()]
    return any(name in line for name in names for line in each.added)


def _told_lines(forms: frozenset[str], added: Sequence[str]) -> list[str]:
    """The added lines that show the fix, four at most: from the first one that has a mark of it."""
    marks = [form.partition(" ")[2].rpartition(":")[2] for form in forms if form not in INSTRUCTIONS]
    first = next((at for at, line in enumerate(added) if any(mark in line for mark in marks)), 0)
    start = 0 if len(added) <= _ADDED_LINES else first
    return list(added[start : start + _ADDED_LINES])


def is_known(forms: frozenset[str]) -> bool:
    """Tell whether a fix says nothing that is this project's: no name, no module of others and no rule's own mark, but
    that something is to be renamed, split or written with a keyword."""
    return not any(strong(form) and _IN_LANGUAGE.fullmatch(form) is None for form in forms)


_IN_LANGUAGE = re.compile(r"import [a-z0-9_]+")  # a bare name: the language brings it along, or everybody knows it


def says_itself(forms: frozenset[str], ended: Sequence[Seen]) -> bool:
    """Tell whether the tool's own message tells the fix: then telling it again at the failure is noise."""
    if _named_so_far(forms, ended):
        return False
    messages = [each.message for each in ended if each.message]
    others = [form.partition(" ")[2].lstrip(".") for form in forms if form.startswith("instead ")]
    if others:  # "did you mean `Carts`?"
        asked = re.compile("|".join(rf"(?<![\w.]){re.escape(other)}\b" for other in others))
        return bool(messages) and all(map(asked.search, messages))
    messages = [message.lower() for message in messages]
    marks = [
        word for form in forms for word in _TOLD.get(form) or _WORD.findall(form.partition(" ")[2].lower() or form)
    ]
    if not messages or not marks or any(form.startswith(("suppress ", "import ")) for form in forms):
        return False  # that a name is undefined does not say whence it comes
    test = all if any(strong(form) for form in forms) else any
    said = sum(test(_says(mark, message) for mark in marks) for message in messages)
    return 2 * said > len(messages)


def _says(mark: str, message: str) -> bool:
    """Tell whether a message holds a word, also in another form: rename and renaming, case and cases, check and
    checked, const and constant."""
    stem = mark[:-1] if len(mark) >= _INFLECTED and mark.endswith("e") else mark
    ends = r"\w*" if len(mark) >= _INFLECTED - 1 else r"\b"
    return re.search(rf"\b{re.escape(stem)}{ends}", message) is not None


_INFLECTED = 5  # letters of a word that may lose its last `e`; one of four keeps it, and a shorter one stands as it is
