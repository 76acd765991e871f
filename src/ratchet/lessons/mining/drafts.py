"""Lessons as one project's evidence makes them: a pure function of its resolutions and of its sessions' runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ratchet.failures.diagnostics import masked
from ratchet.lessons.ahead.sighted import without_remedy
from ratchet.lessons.mining.advice import held_back
from ratchet.lessons.mining.evidence import FixVerdict, Seen, judged
from ratchet.lessons.mining.grounds import Grounds, grounds_of
from ratchet.lessons.mining.habits import ProjectRuns, Vouched
from ratchet.lessons.mining.mining import Resolution
from ratchet.lessons.mining.shell_remedies import MENDS
from ratchet.lessons.mining.step_evidence import PlainStep, StepSeen, judged_step
from ratchet.lessons.mining.tool_remedies import TAKES_NO
from ratchet.lessons.mining.triggers import tells
from ratchet.records import Row

_KEYS = 12  # failures that one remedy answers; more is a remedy for everything
_FIXED_WORDS = frozenset(("place", "flag", "form", "made", "through", "program", "wait", "fields", "never"))
_BROKEN = "step broken "
_NEEDING = ("step flag ", "step form ", "step value ", "step unknown ", _BROKEN)
"""Beginnings of groups that end in what the failed step must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A lesson before it is stored: `group` names what it is about, `keys` the findings that it answers, `seen` the
    resolutions that speak for or against it, oldest first. `needs` is the flag or value that the failed step must hold,
    "" for none; `grounds` are the names that its failure must."""

    group: str
    keys: tuple[str, ...]
    when: str
    verdict: FixVerdict
    seen: tuple[Resolution, ...]
    needs: str = ""
    grounds: Grounds = field(default_factory=Grounds)

    @property
    def asks(self) -> Row:
        """Fields that `grounding.answers` asks a failure about, as a lesson's row holds them."""
        return {
            "needs": self.needs,
            "named": list(self.grounds.named),
            "ran": list(self.grounds.ran),
            "subjects": list(self.grounds.subjects),
        }


def group_of(found: Resolution) -> str:
    """The group whose lesson a resolution speaks for, "" for none: the finding's key, or the remedy's form."""
    if found.way == "edit":
        return f"edit {found.keys[0]}"
    if not found.text or found.form in ("", "again"):
        return ""
    fixed = found.rule in _FIXED_WORDS or found.form.startswith(MENDS)
    if not fixed and not any(tells(key.partition(":")[2]) for key in found.keys):
        return ""
    # Of a cause that the error names the remedy is one, however the error is worded; any other is its error's own.
    cause = "" if fixed else f" \0{found.keys[0]}"
    return f"step {found.form}{cause}"


def draft(
    group: str,
    own: Sequence[Resolution],
    others: Iterable[Resolution],
    ran: ProjectRuns,
) -> Draft | None:
    """The lesson of one group. `own` are its resolutions, `others` those of the same keys, `ran` is what the project's
    sessions ran."""
    if not own:
        return None
    seen = sorted(own, key=lambda each: (each.at, each.id))
    if group.startswith("edit "):
        key = group.removeprefix("edit ")
        off = {form for each in seen for form in each.forms if form.startswith("suppress ")}
        ways = {form: ran.worked([form]) for form in off}
        verdict = judged(key, map(_seen, seen), ways)
        keys: tuple[str, ...] = (key,)
    else:
        form = group.removeprefix("step ").partition(" \0")[0]
        keys = _keys(seen)
        known = {each.id for each in own}
        rivals = [each for each in others if each.id not in known and not set(keys).isdisjoint(each.keys)]
        held = _held_back(seen, ran.vouched)
        if held and form.startswith("flag "):  # that there is no such option is true, whatever worked without it
            seen, held = [*map(_without_command, seen)], ""
        verdict = judged_step(form, map(_step_seen, [*seen, *rivals]), _plain(form, seen, ran), held_back=held)
    if verdict is None:
        return None
    return Draft(
        group=group,
        keys=keys,
        when=_when(seen),
        verdict=verdict,
        seen=tuple(seen),
        needs=_needs(group) if group.startswith(_NEEDING) or TAKES_NO in verdict.text else "",
        grounds=Grounds() if group.startswith("edit ") else grounds_of(group, verdict.text, seen),
    )


def _needs(group: str) -> str:
    """The flag or value that a group ends in, or the whole command."""
    return group.removeprefix(_BROKEN) if group.startswith(_BROKEN) else group.rpartition(" ")[2]


def _keys(seen: Sequence[Resolution]) -> tuple[str, ...]:
    counts = Counter(key for each in seen for key in each.keys if tells(key.partition(":")[2]) or key[1:2] != ":")
    return tuple(sorted(counts, key=lambda key: (-counts[key], key))[:_KEYS])


def _when(seen: Sequence[Resolution]) -> str:
    """The shortest message of the finding that most of them show: it holds what all share, and least of one case."""
    counts = Counter(each.keys[0] for each in seen if each.keys)
    usual = min(counts, key=lambda key: (-counts[key], key), default="")
    told = [each.message for each in seen if not usual or each.keys[:1] == (usual,)]
    return min(told, key=lambda text: (not tells(masked(text)), " " not in text, len(text), text))


def _seen(each: Resolution) -> Seen:
    return Seen(
        session=each.session,
        at=each.at,
        fixed=each.worked,
        forms=frozenset(each.forms),
        message=each.message,
        removed=each.removed,
        added=each.added,
    )


def _step_seen(each: Resolution) -> StepSeen:
    form = each.form if each.way == "step" else ("edit" if each.forms or each.added or each.removed else "")
    return StepSeen(
        session=each.session,
        at=each.at,
        form=form,
        worked=each.worked and (each.way == "step" or bool(form)),
        rule=each.rule,
        text=each.text,
        do=each.do,
        message=each.said,
        reason=each.reason,
    )


def _plain(form: str, seen: Sequence[Resolution], ran: ProjectRuns) -> PlainStep:
    """In which sessions the failed step worked as it stood, in which a person refused what the lesson says, and in
    which what it says is not taken was."""
    head = seen[-1].head
    forms = {each.plain for each in seen if each.plain and each.head == head}
    took = ran.worked([form]) if form.startswith(("flag ", "form ")) else []
    # That a check passed in other sessions says nothing of what it complained of in this one: it saw other code.
    if form.startswith(MENDS):
        forms = set()
    return PlainStep(worked=ran.worked(sorted(forms)), refused=ran.refused(head), took=took)


def _without_command(each: Resolution) -> Resolution:
    text = without_remedy(each.text)
    return replace(each, text=text, do=text)


def _held_back(seen: Sequence[Resolution], vouched: Vouched) -> str:
    """Why the remedy may not become advice by itself: the reason of the newest sighting that has one."""
    for each in reversed(seen):
        if each.worked and each.rule not in ("place", "form", "wait", "fields", "never"):
            reason = held_back(each.do, failed=each.failed_input, said=each.said, vouched=vouched, root=each.project)
            if reason:
                return reason
    return ""
