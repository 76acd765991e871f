"""Facts of a project: what its commands end in, which ones it uses, what people refuse, what never works, and which
findings are nobody's.

Counts of what really ran, kept with the evidence of each session (`mined.keep_evidence`) and summed up when asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ratchet.failures.intent import call_name, is_shell
from ratchet.lessons.fact_lines import AGAIN_SESSIONS, SESSIONS, lines
from ratchet.lessons.fence import harmless
from ratchet.lessons.mining.findings import check_of
from ratchet.ports import Store, Where
from ratchet.records import Json, Row, number_in, text_in, whole_in

_NEVER_SESSIONS, _NEVER_CALLS = 2, 3
_REFUSED_SHARE = 0.25
_OPTION = re.compile(r"--?[A-Za-z][\w-]*", re.ASCII)
_USUAL_SHARE, _USUAL_OPTIONS = 0.6, 2  # of a command's runs that have an option of its usual form
_LISTED = 12  # of a kind
_BY = ("tool", "head")
_SUMS = ("steps", "failures", "excused", "refused", "tokens", "duration_s", "distinct:session", "max:max_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCounts:
    """Ends of the calls of one tool, or whose main command it was: of a chain in one step the last command that does
    something, since of one that fails nobody knows how far it came. `tool` is the agent's tool where `head` is no
    command of a shell. `refused` counts calls that a person refused; those and other excused ones are neither good nor
    bad, and no `runs`."""

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
        return call_name(self.tool, self.head)

    @property
    def ok(self) -> int:
        return self.runs - self.failures

    @property
    def runs(self) -> int:
        """Calls that somebody let happen: the one denominator of facts, patterns and predictions."""
        return self.calls - self.excused

    @property
    def share(self) -> float:
        """The part of the runs that worked; 0 of none."""
        return self.ok / self.runs if self.runs else 0.0


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
    """The facts of one project. `calls` counts the steps of its sessions, `failures` those that failed. `ran` is
    everything that ran: what several sessions ran and what fails most first; the others are chosen from it."""

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

    @property
    def told(self) -> list[str]:
        """Those that an agent can act on."""
        return lines(self, acting=True)


def projects(store: Store) -> list[str]:
    """The projects that have facts, those with the most calls first."""
    found = store.sum_by("facts", ("project",), ("steps",), {"finding": "", "tool": ("!=", "")})
    found.sort(key=lambda row: (-whole_in(row, "steps"), text_in(row, "project")))
    return [text_in(row, "project") for row in found]


def facts_of(store: Store, project: str) -> ProjectFacts:
    """Sum up the facts of one project, by its name (`exposure.project_name`)."""
    where: Where = {"project": project, "finding": ""}
    ran = _ran(store, where)
    ran.sort(key=lambda each: (each.sessions < AGAIN_SESSIONS, -each.failures, -each.calls, each.name))
    whole = store.sum_by("facts", (), ("steps", "failures"), where)[0]
    some = store.sum_by("facts", (), ("distinct:session",), {**where, "session": ("!=", "")})[0]
    shown: Where = {"project": project, "finding": ("!=", "")}
    found = store.sum_by("facts", ("finding", "file", "session", "head"), ("calls", "edited", "max:max_at"), shown)
    findings = _findings(found)
    ways, checked = _ways(ran), _checked(ran, findings)
    forms = _written(store, project, {*(each.usual.head for each in ways), *(by for each in checked for by in each.by)})
    return ProjectFacts(
        project=project,
        calls=whole_in(whole, "steps"),
        failures=whole_in(whole, "failures"),
        sessions=whole_in(some, "distinct:session"),
        ran=tuple(ran),
        ways=tuple(replace(each, written=forms[each.usual.head]) for each in ways),
        refused=tuple(_refused(ran)[:_LISTED]),
        never=tuple(_never(ran)[:_LISTED]),
        findings=tuple(findings[:_LISTED]),
        left=tuple(_left(found)[:_LISTED]),
        checked=tuple(replace(each, by=tuple(forms[by] for by in each.by)) for each in checked[:_LISTED]),
    )


def _ran(store: Store, where: Where) -> list[CallCounts]:
    """The counts of each command, with the failures of steps that were for another one."""
    found = [_ran_of(row) for row in store.sum_by("facts", _BY, _SUMS, {**where, "steps": (">", 0)}) if row["tool"]]
    beside = _by_session(store, {**where, "steps": 0, "failures": (">", 0)})
    if not beside:
        return found
    heads: Json = [*{head for _, head in beside}]
    stepped = _by_session(store, {**where, "steps": (">", 0), "head": ("in", heads)})
    keys = [(each.tool, each.head) for each in found]
    return [_with(each, beside.get(key, {}), stepped.get(key, {})) for each, key in zip(found, keys, strict=True)]


def _by_session(store: Store, where: Where) -> dict[tuple[str, str], dict[str, int]]:
    """The failures of each command by session."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in store.sum_by("facts", (*_BY, "session"), ("failures",), where):
        key = text_in(row, "tool"), text_in(row, "head")
        found.setdefault(key, {})[text_in(row, "session")] = whole_in(row, "failures")
    return found


def _with(counted: CallCounts, beside: Mapping[str, int], stepped: Iterable[str]) -> CallCounts:
    """Counts with the failures of runs that none of its steps was for, by session."""
    failures = counted.failures + sum(beside.values())
    more = len({session for session in beside if session}.difference(stepped))
    runs = max(counted.calls, counted.excused + failures)
    return replace(counted, failures=failures, calls=runs, sessions=counted.sessions + more)


def _ran_of(row: Row) -> CallCounts:
    return CallCounts(
        tool=text_in(row, "tool"),
        head=text_in(row, "head"),
        calls=whole_in(row, "steps"),
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
    runs: dict[str, Counter[str]] = {head: Counter() for head in heads}
    asked: list[Json] = [*sorted(runs)]
    for row in store.find("habits", {"project": project, "head": ("in", asked)}).rows if asked else ():
        options = {word for word in text_in(row, "form").split() if _OPTION.fullmatch(word)}
        ran = whole_in(row, "ok") + whole_in(row, "failed")
        runs[text_in(row, "head")].update(dict.fromkeys(("", *options), ran))
    return {head: " ".join((head, *_usual(counts))) for head, counts in runs.items()}


def _usual(counts: Counter[str]) -> list[str]:
    """The options that most runs have, of counts by option; "" counts all runs."""
    usual = sorted(word for word, count in counts.items() if word and count > _USUAL_SHARE * counts[""])
    return usual[:_USUAL_OPTIONS]


def _refused(ran: Iterable[CallCounts]) -> list[CallCounts]:
    found = [
        each
        for each in ran
        if each.refused >= SESSIONS and each.sessions >= SESSIONS and each.refused >= _REFUSED_SHARE * each.calls
    ]
    return sorted(found, key=lambda each: (-each.refused, each.name))


def _never(ran: Iterable[CallCounts]) -> list[CallCounts]:
    found = [each for each in ran if not each.ok and each.sessions >= _NEVER_SESSIONS and each.runs >= _NEVER_CALLS]
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
        if by and sessions >= AGAIN_SESSIONS and not check_of(head.split()):
            found.append(CheckedStep(step=counted[head], by=tuple(by), sessions=sessions))
    return sorted(found, key=lambda each: (-each.step.failures, each.step.head))


def _left(rows: Iterable[Row]) -> list[LeftFinding]:
    """Findings in a file that the last sessions that met them did not edit."""
    held: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row["file"] and text_in(row, "file")[0] != "<":  # `<string>`, `<stdin>`: code that was typed
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


def remote(project: str) -> str:
    """The name of a project that is known by its remote, as an agent may read it; "" of a folder's."""
    return project if not project.startswith("/") and ":" not in project and _is_file(project) else ""


def _is_file(text: str) -> bool:
    return _FILE.fullmatch(text) is not None and all(_says_nothing(part) for part in text.split("/"))


def _says_nothing(text: str) -> bool:
    """Tell whether a name is no sentence whose blanks are other signs."""
    words = _JOINTS.sub(" ", text)
    longest = max((len(_JOINTS.sub(" ", part).split()) for part in re.split("[ /]", text)), default=0)
    return longest <= _JOINED_WORDS and harmless(words, len(words)) == " ".join(words.split())
