"""Says of an edit whose text is not in its file what is there instead. Lean: hook processes import this.

The sibling of `paths`: one lesson, whose words are worked out at the failure, from the file that the failed call
names. They are ours, with numbers of lines and a name for the difference in them: nothing that stands in the file is
said, since whoever wrote it would speak to the agent. What is not certain is not said (`benchmarks/edits.py`).
"""

from __future__ import annotations

from ratchet.failures.wordings import UNREAD
from ratchet.lessons.edit_calls import FILE_BYTES, bare, edits_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ratchet.records import Json

GROUP = "edits"
"""The group of the lesson, and its key: it answers every edit whose text is not in its file."""
_PLACES = 4  # that are named of a text that stands in several
_APART_LINES = 6  # of context above or below that tell them apart: a model copies few more without a fault
_BLOCK_LINES = 500  # that are counted at once
_LEAST_CHARS = 8  # of a text without its white space: a shorter one stands everywhere
_DONE_CHARS = 16  # the same of a new text that is there already
_LEAST_SHARE = 0.6  # of the lines of a text that stand in one place, where others do not
_MOST_EDITS = 100  # of one call: each goes through the whole file
_ANCHORS = 200  # lines of a text by which its place is found
_QUOTES = str.maketrans("“”„‟‘’‚‛`–—−‑…", "\"\"\"\"'''''----.")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&"))


def told(message: str, given: Json, project: str) -> str:
    """Say what a file tells of the edit that failed on it; "" for nothing. Only a regular file within the project is
    read, which the call names. A client that wants the file read first says all there is to say."""
    if message.startswith(UNREAD):
        return ""
    edits = edits_of(given)
    if len(edits) > _MOST_EDITS or sum([len(each.old) + len(each.new) for each in edits]) > FILE_BYTES:
        return ""
    now: dict[str, str | None] = {}
    whole: dict[str, str | None] = {}
    for number, edit in enumerate(edits, 1):
        if edit.path not in now:
            now[edit.path] = whole[edit.path] = text_of(edit.path, project)
        text, first = now[edit.path], whole[edit.path]
        if text is None or first is None:
            return ""
        if (then := edit.applied(text)) is not None:
            now[edit.path] = then
            continue
        same = text.count(edit.old) == first.count(edit.old)  # else an edit before it in the call took it away
        said = answer(first, edit.old, edit.new, every=edit.every) if same else ""
        return f"Edit {number} of {len(edits)}: {said}" if said and len(edits) > 1 else said
    return ""


def answer(text: str, old: str, new: str = "", *, every: bool = False) -> str:
    """Say where in a text what an edit looks for stands, and what is different there; "" for nothing certain."""
    count = text.count(old)
    if count == 1 or (count and every) or not old.strip() or old == new:
        return ""
    if count:
        return _several(text, old)
    done = bare(new)
    if len(done) >= _DONE_CHARS and done not in bare(old) and text.count(new) == 1:
        return (
            f"The new text stands in this file already, at {_lines(*_span(text, new))}: "
            "the edit may be done. Read there before you edit it again."
        )
    return _alike(text, old) or _numbered(text, old) or _near(text, old)


# --- the places -----------------------------------------------------------------------------------------------------


def _several(text: str, old: str) -> str:
    """Say where a text stands that is not unique, and how many lines around it tell the places apart."""
    count = text.count(old)
    if count > _PLACES:
        return f"The old text stands {count} times in this file: it needs more lines around it to mean one place."
    starts = [text.find(old)]
    while len(starts) < count:
        starts.append(text.find(old, starts[-1] + len(old)))
    lines = text.split("\n")
    spans = [_span_at(text, start, old) for start in starts]
    found = sorted({first for first, _ in spans})
    said = f"The old text begins at {_numbers(found)} of this file."
    if len(found) < len(spans):
        return f"{said} Take more of the line that you mean into it."
    for number in range(1, _APART_LINES + 1):
        for word, places in (
            ("above", [lines[max(0, first - 1 - number) : first - 1] for first, _ in spans]),
            ("below", [lines[last : last + number] for _, last in spans]),
        ):
            if len({"\n".join(place) for place in places}) == len(places):
                of = "the line" if number == 1 else f"the {number} lines"
                return f"{said} Take {of} {word} the place that you mean into it: they differ at each."
    return f"{said} More than {_APART_LINES} lines around them are the same."


def _alike(text: str, old: str) -> str:
    """Say where a text stands that differs in white space, in quotes or in escapes alone."""
    for plain, name in ((bare, ""), (_plain, "quotes, dashes or escapes")):
        wanted, held = plain(old), plain(text)
        count = held.count(wanted)
        if count > 1 or len(wanted) < _LEAST_CHARS:
            return ""
        if count:
            lines, at = text.split("\n"), held.find(wanted)
            first, skipped = _line_at(lines, plain, at)
            last, size = _line_at(lines, plain, at + len(wanted) - 1)
            there = f"The text stands at {_lines(first, last)} of this file"
            return f"{there} {_other(name) if name else _white(_cut(lines[first - 1 : last], skipped, size + 1), old)}"
    return ""


def _numbered(text: str, old: str) -> str:
    """Say that a text holds the numbers of the lines, which are shown beside a file and are not in it."""
    parts = [line.lstrip() for line in old.split("\n")]
    cut = [part.lstrip("0123456789") for part in parts]
    if not all(part != rest and rest[:1] in ("→", "\t", "|", ":") for part, rest in zip(parts, cut, strict=True)):
        return ""
    meant = "\n".join(rest[1:] for rest in cut)
    if text.count(meant) != 1:
        return ""
    return (
        f"The text stands at {_lines(*_span(text, meant))} of this file without numbers of lines: "
        "leave out of the old text what is shown before each line."
    )


def _near(text: str, old: str) -> str:
    """Say where most lines of a text stand, and which do not."""
    lines = [bare(line) for line in text.split("\n")]
    wanted = [bare(line) for line in old.strip("\n").split("\n")]
    solid = [line for line in wanted if line]
    if len(solid) < 2:
        return ""
    at: dict[str, list[int]] = {line: [] for line in solid}
    asked: dict[str, list[int]] = {line: [] for line in solid}
    for places, some in ((at, lines), (asked, wanted)):
        for place, line in enumerate(some):
            if line in places:
                places[line].append(place)
    once = [line for line in asked if len(line) >= _LEAST_CHARS and len(asked[line]) == len(at[line]) == 1]
    chain = _rising([(asked[line][0], at[line][0]) for line in once[:_ANCHORS]])
    if not chain:
        return ""
    (from_number, first), (to_number, last) = chain[0], chain[-1]
    first, last = max(0, first - from_number), min(len(lines) - 1, last + len(wanted) - 1 - to_number)
    here = lines[first : last + 1]
    if len(here) > 2 * len(wanted) + 4:
        return ""
    held = {*here}
    missing = [number for number, line in enumerate(wanted, 1) if line and line not in held]
    found = [place for place, line in enumerate(here) if line in at]
    if len(solid) - len(missing) < max(2, _LEAST_SHARE * len(solid)):
        return ""
    first, last = first + found[0] + 1, first + found[-1] + 1
    if not missing:
        between = [first + place for place, line in enumerate(here, -found[0]) if line and line not in at]
        between = [place for place in between if first <= place <= last]
        also = f"and {_numbers(between)} between them" if between else "in another order"
        return f"{_lines(first, last).capitalize()} of this file hold the old text, {also}. Copy it from there."
    return (
        f"At {_lines(first, last)} of this file stand {len(solid) - len(missing)} of the {len(solid)} lines of the old "
        f"text; its {_numbers(missing)} {'is' if len(missing) == 1 else 'are'} not there. Read there again, and copy."
    )


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs in which both numbers rise."""
    best: list[list[tuple[int, int]]] = []
    for pair in pairs:
        before = [chain for chain in best if chain[-1][1] < pair[1]]
        best.append([*max(before, key=len, default=[]), pair])
    return max(best, key=len, default=[])


# --- words ----------------------------------------------------------------------------------------------------------


def _other(name: str) -> str:
    return f"with other {name}. Copy it from there."


def _white(there: Sequence[str], old: str) -> str:
    """Say how lines differ that are the same but for white space, and what to do."""
    asked = old.split("\n")
    solid = [[line for line in lines if line.strip()] for lines in (there, asked)]
    if [*map(bare, solid[0])] != [*map(bare, solid[1])]:
        return _other("line breaks")
    pairs = [*zip(*solid, strict=True)]
    if any(mine.strip() != its.strip() for mine, its in pairs):
        return _other("blanks within its lines")
    within = pairs[0][1] == pairs[0][1].lstrip()  # a text may begin within a line
    indents = [(_indent(mine), _indent(its)) for mine, its in pairs[within:]]
    odd = [(mine, its) for mine, its in indents if mine != its]
    if not odd:
        ends = any(mine.lstrip() != its.lstrip() for mine, its in pairs)
        return _other("blanks at the ends of lines" if ends else "blank lines")
    mine, its = odd[0]
    return _moved(indents, there, asked) or _other(f"indentation ({_kinds(mine)}, where the call has {_kinds(its)})")


def _moved(indents: Sequence[tuple[str, str]], there: Sequence[str], asked: Sequence[str]) -> str:
    """Say of lines that all stand further right or left in the file (theirs there, theirs in the call), how far; "" of
    others, and where more than that is different."""
    mine, its = indents[0]
    more = len(mine) > len(its)
    long, short = (mine, its) if more else (its, mine)
    step = long.removesuffix(short)
    moved = [(step + line if line.strip() else line) if more else line.removeprefix(step) for line in asked]
    if not step or long != step + short or "\n".join(moved).strip() not in "\n".join(there):
        return ""
    said = "Put {} before" if more else "Take {} from"
    return (
        f"with {_kinds(step)} {'more' if more else 'less'} before each line than in the call. "
        f"{said.format('them' if len(step) > 1 else 'it')} each line of the old text, and of the new one."
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _kinds(indent: str) -> str:
    """Name the white space before a line."""
    counts = [(indent.count("\t"), "tab"), (indent.count(" "), "blank")]
    named = [f"{count} {name}{'s' if count > 1 else ''}" for count, name in counts if count]
    return " and ".join(named) or "none"


def _lines(first: int, last: int) -> str:
    if first == last:
        return f"line {first}"
    return f"lines {first} {'and' if last == first + 1 else 'to'} {last}"


def _numbers(numbers: Sequence[int]) -> str:
    """Name lines, which need not follow one another."""
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return _lines(numbers[0], numbers[-1])
    some = [*map(str, numbers[:_PLACES])]
    return f"lines {_listed(some)}" if len(numbers) <= _PLACES else f"lines {', '.join(some)} and others"


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


# --- texts ----------------------------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    """The same with one kind of quotes, dashes and escapes."""
    for entity, plain in _ENTITIES:
        text = text.replace(entity, plain)
    return bare(text.translate(_QUOTES)).replace("\\", "")


def _span(text: str, part: str) -> tuple[int, int]:
    return _span_at(text, text.find(part), part)


def _span_at(text: str, start: int, part: str) -> tuple[int, int]:
    """The first and the last line of a part of a text, counted from one."""
    first = text.count("\n", 0, start) + 1
    return first, first + part.rstrip("\n").count("\n")


def _line_at(lines: Sequence[str], plain: Callable[[str], str], at: int) -> tuple[int, int]:
    """(the line, counted from one, in which the character `at` of the plain text is, how many of the line are before
    it)."""
    number = 0
    for step in (_BLOCK_LINES, 1):
        while number < len(lines) and at >= (size := len(plain("\n".join(lines[number : number + step])))):
            number, at = number + step, at - size
    return number + 1, at


def _cut(lines: Sequence[str], skipped: int, size: int) -> list[str]:
    """The lines without the first characters of the first one, and with no more than so many of the last one, white
    space not counted."""
    *above, last = lines
    cut = [*above, last[: _place(last, size - 1) + 1] if last[_place(last, size - 1) + 1 :].strip() else last]
    return [cut[0][_place(cut[0], skipped) :] if skipped else cut[0], *cut[1:]]


def _place(line: str, number: int) -> int:
    """The place of a character in a line, by how many are before it that are no white space."""
    return [at for at, letter in enumerate(line) if not letter.isspace()][number]
