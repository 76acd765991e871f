"""The scorer of tool use: the calls that an agent wrote down, against those that were asked for.

`spec["tools"]` are the tools as the agent was shown them (name, description, JSON schema of the arguments).
`spec["calls"]` are the calls asked for: `tool`, `arguments` by name, and `after`, the numbers (from 1) of calls that
must come before. An argument is a value, or a matcher, an object with one of

    {"$any_of": [...]}   one of these          {"$text": "..."}      the same letters, whatever case and white space
    {"$near": x, "within": d}                  {"$set": [...]}       these elements in any order
    {"$maybe": value}    this value, or left out                     {"$result": n, "field": "..."}  of call n

The answer is `[{"tool": ..., "arguments": {...}}, ...]`. Each call asked for is worth as much as any other: a third for
the tool, the rest for its arguments. Calls beyond those asked for count like wrong ones, and so does each one out of
order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.scorers import answers
from ratchet.evolving.scorers.answers import BadAnswer, shown
from ratchet.evolving.scorers.scored import Scored, wrong
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json
from ratchet.sandbox.command import Limits

_MOST_CALLS = 100
_TOOL_SHARE = 1 / 3
_NEARLY = 0.99  # what is not right is never 1, however little is wrong


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool. `after` are the numbers of calls that must come before, from 0."""

    tool: str
    arguments: Mapping[str, Json]
    after: tuple[int, ...] = ()


def score(
    task: BenchTask, workspace: Workspace, sandbox: Sandbox, *, limits: Limits, cancelled: Callable[[], bool]
) -> Scored:
    """Score how far the calls in `answer.json` are those asked for."""
    del sandbox, limits, cancelled  # a comparison of data
    try:
        given = _given(answers.read(workspace))
    except BadAnswer as error:
        return wrong(str(error), kind=error.kind)
    wanted = _wanted(task.spec)
    value, faults = compared(wanted, given, known=_names(task.spec))
    if not faults:
        return Scored(score=1.0)
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    kind = "tool_not_found" if "there is no tool" in faults[0] else "tool_arguments" if ": " in faults[0] else ""
    return wrong(faults[0] + more, score=min(value, _NEARLY), kind=kind or "wrong_output", output="\n".join(faults))


def compared(wanted: Sequence[Call], given: Sequence[Call], *, known: frozenset[str]) -> tuple[float, list[str]]:
    """The score and what is wrong, one line each; nothing wrong is 1."""
    paired = _paired(wanted, given)
    faults: list[str] = []
    worth = 0.0
    for number, call in enumerate(wanted):
        at = paired.get(number)
        if at is None:
            faults.append(f"no call of {call.tool} with {shown(dict(call.arguments))[:120]}")
            continue
        share, wrongs = _likeness(call, given[at], paired)
        faults += [f"call {at + 1}: {each}" for each in wrongs]
        early = [before for before in call.after if paired.get(before, -1) > at]
        if early:
            faults.append(f"call {at + 1}, {call.tool}, comes before {wanted[early[0]].tool}, which it needs")
        worth += 0.0 if early else share
    for at in sorted(set(range(len(given))) - set(paired.values())):
        name = given[at].tool
        faults.append(
            f"call {at + 1}: there is no tool {name!r}"
            if name not in known
            else f"call {at + 1} of {name} is superfluous"
        )
    most = max(len(wanted), len(given))
    return (worth / most if most else 1.0), faults


def _paired(wanted: Sequence[Call], given: Sequence[Call]) -> dict[int, int]:
    """Each call asked for -> the call that is most like it, none taken twice; the most alike first, then in order.

    References to other calls are looked at once all are paired, so here any reference is like any other.
    """
    alike = [
        (-_likeness(call, each, None)[0], abs(number - at), number, at)
        for number, call in enumerate(wanted)
        for at, each in enumerate(given)
        if call.tool == each.tool
    ]
    paired: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, number, at in sorted(alike):
        if number not in paired and at not in taken:
            paired[number] = at
            taken.add(at)
    return paired


def _likeness(call: Call, given: Call, paired: Mapping[int, int] | None) -> tuple[float, list[str]]:
    """Compare two calls of one tool; say what is wrong."""
    wrongs: list[str] = []
    names = sorted({*call.arguments, *given.arguments})
    right = total = 0
    for name in names:
        want = call.arguments.get(name)
        if name not in given.arguments:
            if isinstance(want, dict) and "$maybe" in want:
                continue
            wrongs.append(f"{given.tool} lacks the argument {name!r}")
        elif name not in call.arguments:
            wrongs.append(f"{given.tool} is given {name!r}: {shown(given.arguments[name])}, which is not asked for")
        elif fits(want, given.arguments[name], paired):
            right += 1
        else:
            wrongs.append(f"{given.tool} is given {name!r}: {shown(given.arguments[name])}")
        total += 1
    share = right / total if total else 1.0
    return _TOOL_SHARE + (1 - _TOOL_SHARE) * share, wrongs


def fits(want: Json, given: Json, paired: Mapping[int, int] | None = None) -> bool:
    """Tell whether a value is what is asked for. True is not 1; 2 is 2.0."""
    if not isinstance(want, dict):
        return _same(want, given)
    if "$any_of" in want:
        return any(fits(each, given, paired) for each in _list(want["$any_of"]))
    if "$maybe" in want:
        return fits(want["$maybe"], given, paired)
    if "$text" in want:
        return isinstance(given, str) and _plain(given) == _plain(str(want["$text"]))
    if "$near" in want:
        near, within = want["$near"], want.get("within", 0)
        assert isinstance(near, int | float)
        assert isinstance(within, int | float)
        return isinstance(given, int | float) and not isinstance(given, bool) and abs(given - near) <= within
    if "$set" in want:
        return isinstance(given, list) and _same_elements(_list(want["$set"]), given, paired)
    if "$result" in want:
        return _is_result(want, given, paired)
    return (
        isinstance(given, dict) and want.keys() == given.keys() and all(fits(want[k], given[k], paired) for k in want)
    )


def _is_result(want: Mapping[str, Json], given: Json, paired: Mapping[int, int] | None) -> bool:
    """Tell whether a value refers to the result of the call that is meant, which may stand elsewhere in the answer."""
    if not isinstance(given, dict) or given.keys() != {"$result", "field"} or given["field"] != want.get("field"):
        return False
    number, said = want["$result"], given["$result"]
    assert isinstance(number, int)
    if paired is None:
        return True
    return isinstance(said, int) and not isinstance(said, bool) and paired.get(number - 1) == said - 1


def _same(want: Json, given: Json) -> bool:
    if isinstance(want, list) and isinstance(given, list):
        return len(want) == len(given) and all(fits(one, two) for one, two in zip(want, given, strict=True))
    if isinstance(want, bool) or isinstance(given, bool):
        return want is given
    if isinstance(want, int | float) and isinstance(given, int | float):
        return want == given
    return type(want) is type(given) and want == given


def _same_elements(want: Sequence[Json], given: Sequence[Json], paired: Mapping[int, int] | None) -> bool:
    left = list(given)
    for each in want:
        at = next((at for at, one in enumerate(left) if fits(each, one, paired)), None)
        if at is None:
            return False
        del left[at]
    return not left


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!?")


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


def _names(spec: Mapping[str, Json]) -> frozenset[str]:
    return frozenset(str(each.get("name")) for each in _list(spec["tools"]) if isinstance(each, dict))


def _wanted(spec: Mapping[str, Json]) -> list[Call]:
    calls = []
    for each in _list(spec["calls"]):
        assert isinstance(each, dict)
        arguments, after = each.get("arguments", {}), _list(each.get("after", []))
        assert isinstance(arguments, dict)
        before = tuple(number - 1 for number in after if isinstance(number, int))
        calls.append(Call(str(each["tool"]), arguments, before))
    return calls


def _given(held: Json) -> list[Call]:
    """Raises BadAnswer."""
    if not isinstance(held, list):
        raise BadAnswer(f"{answers.NAME} is no list of calls")
    if len(held) > _MOST_CALLS:
        raise BadAnswer(f"{answers.NAME} holds {len(held)} calls; more than {_MOST_CALLS} are none", "wrong_output")
    calls = []
    for number, each in enumerate(held, 1):
        if not isinstance(each, dict) or not isinstance(each.get("tool"), str):
            raise BadAnswer(f'call {number} is no object with "tool" and "arguments"')
        arguments = each.get("arguments", {})
        if not isinstance(arguments, dict) or each.keys() - {"tool", "arguments"}:
            raise BadAnswer(f'call {number} is no object with "tool" and "arguments"')
        calls.append(Call(str(each["tool"]), arguments))
    return calls
