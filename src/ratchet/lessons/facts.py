"""Facts of a project: what its commands end in, which ones it uses, what people refuse, what never works, and which
findings are nobody's.

Counts of what really ran, kept with the evidence of each session (`mined.keep_evidence`) and summed up when asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ratchet.failures.intent import is_shell
from ratchet.lessons.fence import harmless
from ratchet.lessons.mining.findings import check_of
from ratchet.ports import Store, Where
from ratchet.records import Row, number_in, text_in, whole_in

SESSIONS = 3
"""Sessions that make a fact of something seen in them: fewer may be one person's mood."""
_NEVER_SESSIONS, _NEVER_CALLS = 2, 3
_AGAIN_SESSIONS = 2
_REFUSED_SHARE = 0.25
_OPTION = re.compile(r"--?[A-Za-z][\w-]*", re.ASCII)
_USUAL_SHARE, _USUAL_OPTIONS = 0.6, 2  # of a command's runs that have an option of its usual form
_SHARE_CALLS = 5  # runs below which a share says nothing
_NAME_CHARS = 70  # of a finding in a sentence
_LISTED = 12  # of a kind
_SUMS = ("calls", "failures", "excused", "refused", "tokens", "duration_s", "distinct:session", "max:max_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCounts:
    """Ends of the calls of one tool or command. `tool` is the agent's tool where `head` is no command of a shell.
    `refused` counts calls that a person refused; those and other excused ones are neither good nor bad."""

    tool: str
    head: str
    calls: int
    failures: int
    excused: int
    refused: int
    sessions: int
    tokens: int
    duration_s: float
    last_at: float

    @property
    def name(self) -> str:
        return self.head if is_shell(self.tool) or self.head not in ("", self.tool.lower()) else self.tool

    @property
    def ok(self) -> int:
        return self.calls - self.failures - self.excused

    @property
    def share(self) -> float:
        """Of the calls that somebody let happen, the part that worked; 0 of none."""
        counted = self.calls - self.excused
        return self.ok / counted if counted else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Commands with which a project runs one kind of check (lint, test, build): the usual one, and others."""

    check: str
    usual: CallCounts
    written: str
    """The usual one with the options that most of its runs have."""
    others: tuple[CallCounts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A rule or message that a check's failing runs showed, whatever the file."""

    finding: str
    head: str
    runs: int
    sessions: int
    files: int
    last_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedStep:
    """A command that is no check itself and fails of what checks find (a hook runs them): those, by what runs them."""

    step: CallCounts
    by: tuple[str, ...]
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftFinding:
    """A finding that a check shows in a file again and again and that nobody edits."""

    finding: str
    file: str
    head: str
    sessions: int
    last_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFacts:
    """The facts of one project. `ran` is everything that ran: what several sessions ran and what fails most
    first; the others are chosen from it."""

    project: str
    calls: int
    failures: int
    sessions: int
    ran: tuple[CallCounts, ...]
    ways: tuple[Way, ...]
    refused: tuple[CallCounts, ...]
    never: tuple[CallCounts, ...]
    findings: tuple[ShownFinding, ...]
    left: tuple[LeftFinding, ...]
    checked: tuple[CheckedStep, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Sentences that are worth knowing, in words."""
        return lines(self)


def projects(store: Store) -> list[str]:
    """The projects that have facts, those with the most calls first."""
    found = store.sum_by("facts", ("project",), ("calls",), {"finding": ""})
    found.sort(key=lambda row: (-whole_in(row, "calls"), text_in(row, "project")))
    return [text_in(row, "project") for row in found]


def facts_of(store: Store, project: str) -> ProjectFacts:
    """Sum up the facts of one project, by its name (`exposure.project_name`)."""
    where: Where = {"project": project, "finding": ""}
    ran = [_ran_of(row) for row in store.sum_by("facts", ("tool", "head"), _SUMS, where)]
    ran.sort(key=lambda each: (each.sessions < _AGAIN_SESSIONS, -each.failures, -each.calls, each.name))
    whole = store.sum_by("facts", (), ("calls", "failures", "distinct:session"), where)[0]
    shown: Where = {"project": project, "finding": ("!=", "")}
    found = store.sum_by("facts", ("finding", "file", "session", "head"), ("calls", "edited", "max:max_at"), shown)
    findings = _findings(found)
    ways, checked = _ways(ran), _checked(ran, findings)
    forms = _written(store, project, {*(each.usual.head for each in ways), *(by for each in checked for by in each.by)})
    return ProjectFacts(
        project=project,
        calls=whole_in(whole, "calls"),
        failures=whole_in(whole, "failures"),
        sessions=whole_in(whole, "distinct:session"),
        ran=tuple(ran),
        ways=tuple(replace(each, written=forms[each.usual.head]) for each in ways),
        refused=tuple(_refused(ran)[:_LISTED]),
        never=tuple(_never(ran)[:_LISTED]),
        findings=tuple(findings[:_LISTED]),
        left=tuple(_left(found)[:_LISTED]),
        checked=tuple(replace(each, by=tuple(forms[by] for by in each.by)) for each in checked[:_LISTED]),
    )


def _ran_of(row: Row) -> CallCounts:
    return CallCounts(
        tool=text_in(row, "tool"),
        head=text_in(row, "head"),
        calls=whole_in(row, "calls"),
        failures=whole_in(row, "failures"),
        excused=whole_in(row, "excused"),
        refused=whole_in(row, "refused"),
        sessions=whole_in(row, "distinct:session"),
        tokens=whole_in(row, "tokens"),
        duration_s=number_in(row, "duration_s"),
        last_at=number_in(row, "max:max_at"),
    )


def _ways(ran: Iterable[CallCounts]) -> list[Way]:
    by_check: dict[str, list[CallCounts]] = {}
    for each in ran:
        check = check_of(each.head.split()) if is_shell(each.tool) and each.ok else ""
        if check:
            by_check.setdefault(check, []).append(each)
    ways = []
    for check, found in sorted(by_check.items()):
        found.sort(key=lambda each: (-each.sessions, -each.calls, each.name))
        if found[0].sessions >= SESSIONS:
            ways.append(Way(check=check, usual=found[0], written=found[0].head, others=tuple(found[1:4])))
    return ways


def _written(store: Store, project: str, heads: Iterable[str]) -> dict[str, str]:
    """Commands with the options that most of their runs have."""
    found = {}
    for head in heads:
        runs: Counter[str] = Counter()
        for row in store.find("habits", {"project": project, "head": head}).rows:
            options = {word for word in text_in(row, "form").split() if _OPTION.fullmatch(word)}
            runs.update(dict.fromkeys(("", *options), whole_in(row, "ok") + whole_in(row, "failed")))
        usual = sorted(word for word, count in runs.items() if word and count > _USUAL_SHARE * runs[""])
        found[head] = " ".join((head, *usual[:_USUAL_OPTIONS]))
    return found


def _refused(ran: Iterable[CallCounts]) -> list[CallCounts]:
    found = [
        each
        for each in ran
        if each.refused >= SESSIONS and each.sessions >= SESSIONS and each.refused >= _REFUSED_SHARE * each.calls
    ]
    return sorted(found, key=lambda each: (-each.refused, each.name))


def _never(ran: Iterable[CallCounts]) -> list[CallCounts]:
    found = [
        each
        for each in ran
        if not each.ok and each.sessions >= _NEVER_SESSIONS and each.calls - each.excused >= _NEVER_CALLS
    ]
    return sorted(found, key=lambda each: (-each.failures, each.name))


def _findings(rows: Iterable[Row]) -> list[ShownFinding]:
    held: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        held.setdefault((text_in(row, "finding"), text_in(row, "head")), []).append(row)
    found = [
        ShownFinding(
            finding=finding,
            head=head,
            runs=sum(whole_in(row, "calls") for row in seen),
            sessions=len({row["session"] for row in seen}),
            files=len({row["file"] for row in seen} - {""}),
            last_at=max(number_in(row, "max:max_at") for row in seen),
        )
        for (finding, head), seen in held.items()
    ]
    return sorted(found, key=lambda each: (-each.sessions, -each.runs, each.finding, each.head))


def _checked(ran: Sequence[CallCounts], findings: Sequence[ShownFinding]) -> list[CheckedStep]:
    """Commands that failed in two sessions of findings whose check runs by itself, too."""
    counted = {each.head: each for each in ran if is_shell(each.tool)}
    tools = {each: each.finding.partition(":")[0] for each in findings if each.finding[1:2] != ":"}
    runs = {each.head: tool for each, tool in tools.items() if tool in each.head.split()}
    found = []
    for head in sorted({each.head for each in tools} & counted.keys() - runs.keys()):
        mine = {tools[each]: each for each in reversed(findings) if each.head == head and each in tools}
        by = sorted(other for other, tool in runs.items() if tool in mine)
        sessions = max((each.sessions for tool, each in mine.items() if tool in runs.values()), default=0)
        if by and sessions >= _AGAIN_SESSIONS and not check_of(head.split()):
            found.append(CheckedStep(step=counted[head], by=tuple(by), sessions=sessions))
    return sorted(found, key=lambda each: (-each.step.failures, each.step.head))


def _left(rows: Iterable[Row]) -> list[LeftFinding]:
    """Findings in a file that the last sessions that met them did not edit."""
    held: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row["file"]:
            by_session = held.setdefault((text_in(row, "finding"), text_in(row, "file")), {})
            one = by_session.setdefault(text_in(row, "session"), row)
            if number_in(row, "max:max_at") > number_in(one, "max:max_at"):
                by_session[text_in(row, "session")] = row
    found = []
    for (finding, file), by_session in held.items():
        seen = sorted(by_session.values(), key=lambda row: (number_in(row, "max:max_at"), text_in(row, "session")))
        if len(seen) < SESSIONS or any(whole_in(row, "edited") for row in seen[-SESSIONS:]):
            continue
        left = LeftFinding(
            finding=finding,
            file=file,
            head=text_in(seen[-1], "head"),
            sessions=sum(not whole_in(row, "edited") for row in seen),
            last_at=number_in(seen[-1], "max:max_at"),
        )
        found.append(left)
    return sorted(found, key=lambda each: (-each.sessions, each.file, each.finding))


def for_agents(found: ProjectFacts) -> ProjectFacts:
    """The facts with names alone: commands, rules and files by their shape. A sentence from a tool's output is no name,
    whatever it says."""
    usable = [each for each in found.ways if _is_name(each.usual.name)]
    return replace(
        found,
        ran=tuple(each for each in found.ran if _is_name(each.name)),
        ways=tuple(_named_way(way) for way in usable),
        refused=tuple(each for each in found.refused if _is_name(each.name)),
        never=tuple(each for each in found.never if _is_name(each.name)),
        findings=tuple(each for each in found.findings if _is_name(each.head) and _is_rule(each.finding)),
        checked=tuple(each for each in found.checked if all(map(_is_name, (each.step.name, *each.by)))),
        left=tuple(
            each for each in found.left if _is_name(each.head) and _is_rule(each.finding) and _is_file(each.file)
        ),
    )


def _named_way(way: Way) -> Way:
    written = way.written if _is_name(way.written) else way.usual.name
    return replace(way, written=written, others=tuple(each for each in way.others if _is_name(each.name)))


_WORD = r"[\w./:@+-]{1,60}"
_NAME = re.compile(rf"{_WORD}(?: {_WORD}){{0,2}}", re.ASCII)  # a script without blanks has room for a sentence here
_RULE = re.compile(r"[\w.:@+-]{1,80}", re.ASCII)
_FILE = re.compile(r"[\w./@+-]{1,80}", re.ASCII)
_JOINTS = re.compile(r"[-_./:@+]+")
_JOINED_WORDS = 8  # clang-tidy's longest rule; a sentence that signs hold together has more


def _is_name(text: str) -> bool:
    """Tell whether a text has the shape of a command or a tool: a program with two words behind it at most."""
    return _NAME.fullmatch(text) is not None and _says_nothing(text)


def _is_rule(text: str) -> bool:
    return _RULE.fullmatch(text) is not None and _says_nothing(text)


def _is_file(text: str) -> bool:
    return _FILE.fullmatch(text) is not None and all(_says_nothing(part) for part in text.split("/"))


def _says_nothing(text: str) -> bool:
    """Tell whether a name is no sentence whose blanks are other signs."""
    words = _JOINTS.sub(" ", text)
    longest = max((len(_JOINTS.sub(" ", part).split()) for part in re.split("[ /]", text)), default=0)
    return longest <= _JOINED_WORDS and harmless(words, len(words)) == " ".join(words.split())


# -- in words -------------------------------------------------------------------------------------------------------


def lines(found: ProjectFacts, *, limit: int = 8) -> list[str]:
    """The facts that an agent or a person should know, in words, at most `limit` lines."""
    said = (
        _most_lines(found),
        _checked_lines(found),
        _way_lines(found),
        _finding_lines(found),
        _never_lines(found),
        _refused_lines(found),
        _left_lines(found),
    )
    return [line for each in said for line in each][:limit]


def _most_lines(found: ProjectFacts) -> Iterator[str]:
    most = [each for each in found.ran if each.failures >= SESSIONS and _again(each, found)][:5]
    if most:
        named = ", ".join(f"{_quoted(each)} {each.failures:,} of {each.calls:,} calls" for each in most)
        yield f"fails most: {named}"


def _again(each: CallCounts, found: ProjectFacts) -> bool:
    """Tell whether more than one session ran it, where there are more: what one alone ran and saw fail may be the
    program that it built, tried for its messages."""
    return each.sessions >= min(_AGAIN_SESSIONS, found.sessions)


def _checked_lines(found: ProjectFacts) -> Iterator[str]:
    for each in found.checked[:2]:
        by = ", ".join(map(_quoted_text, each.by[:4]))
        counts = f"{each.step.failures:,} of {each.step.calls:,} calls failed"
        yield f"{_quoted(each.step)} runs checks ({counts}): run {by} before it"


def _way_lines(found: ProjectFacts) -> Iterator[str]:
    for way in found.ways:
        others = [each for each in way.others if each.calls >= SESSIONS and _program(each) != _program(way.usual)]
        usual = f"{way.check}: {_quoted_text(way.written)}, {way.usual.calls} runs{_ended(way.usual)}"
        yield "; ".join([usual, *(f"{_quoted(each)} {each.calls} times{_ended(each)}" for each in others[:2])])


def _finding_lines(found: ProjectFacts) -> Iterator[str]:
    """Say what a check fails of: rules and compilers' messages that two sessions met."""
    by_head = {head: named for head in {each.head for each in found.findings} if (named := fails_of(found, head))}
    for head, named in sorted(by_head.items(), key=lambda each: (-len(each[1]), each[0]))[:2]:
        yield f"{_quoted_text(head)} fails most of (sessions): {', '.join(named[:6])}"


def fails_of(found: ProjectFacts, head: str) -> list[str]:
    """Findings that a check shows again and again, each with the sessions that met it."""
    named = ((_finding_name(each.finding), each) for each in found.findings if each.head == head)
    return [f"{name} ({each.sessions})" for name, each in named if name and each.sessions >= _AGAIN_SESSIONS]


def _finding_name(key: str) -> str:
    """A rule by its name, a compiler's or git's message by its words; "" of other errors: those are patterns."""
    if key[:2] in ("e:", "t:", "w:") or key[:3] == "py:":
        return ""
    name = (key.partition(":")[2] if " " in key else key).replace("<>", "…")
    return name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…"


def _ended(each: CallCounts) -> str:
    return f", {100 * each.share:.0f} % ok" if each.calls - each.excused >= _SHARE_CALLS else ""


def _program(each: CallCounts) -> str:
    return each.head.partition(" ")[0]


def _quoted(each: CallCounts) -> str:
    return f"`{each.name}`"


def _never_lines(found: ProjectFacts) -> Iterator[str]:
    for each in found.never[:3]:
        yield f"never worked here: {_quoted(each)}, 0 of {each.calls - each.excused} calls in {each.sessions} sessions"


def _refused_lines(found: ProjectFacts) -> Iterator[str]:
    for each in found.refused[:3]:
        yield f"people refuse {_quoted(each)}: {each.refused} of {each.calls} calls"


def _left_lines(found: ProjectFacts) -> Iterator[str]:
    if found.left:
        first = found.left[0]
        more = f", and {len(found.left) - 1} more of this kind" if len(found.left) > 1 else ""
        yield (
            f"not yours: {_quoted_text(first.head)} shows `{first.finding}` in {first.file}; "
            f"nobody touched it in {first.sessions} sessions{more}"
        )


def _quoted_text(text: str) -> str:
    return f"`{text}`"
