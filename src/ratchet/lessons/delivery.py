"""Hands lessons to agents by every channel but the hooks' own process, under the same coin."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ratchet import files
from ratchet.gate import deadline, effects
from ratchet.lessons import credit, exposure, facts, fence, notes, repositories
from ratchet.lessons.ahead import making, trigger
from ratchet.ports import Store
from ratchet.records import Row, text_in, whole_in

log = logging.getLogger(__name__)


def obeyed(
    store: Store,
    home: Path,
    session: str,
    lesson_ids: Iterable[str],
    *,
    channel: str,
    now: float,
    append: Callable[[Row], bool],
) -> list[str]:
    """Those of the lessons that this session is shown, in order. Each one's Exposure is journalled, shown or not.

    `append` writes one row to the journal and says whether it is safe there; what could not be journalled is not shown,
    since it could not be measured. Raises OSError when the home cannot be read or written, StoreError.
    """
    shown = []
    for lesson_id in lesson_ids:
        lesson = store.get("lessons", lesson_id)
        if lesson is None:
            continue
        show, share = exposure.toss(str(home), session, exposure.pattern_of(lesson))
        row = exposure.row_of(
            lesson,
            session,
            shown=show,
            share=share,
            expected=exposure.expected(str(home), lesson),
            channel=channel,
            at=now,
        )
        if append({"r": "exposure", **row}) and show:
            shown.append(lesson_id)
    return shown


def publish_facts(store: Store, home: Path, projects: Iterable[str] | None = None) -> None:
    """Tell the hooks what a session in each of these projects (by name; None: in all, and of no other any more) is to
    know from its start. What a remote names is also told in a folder that is none of its clones here.

    A home that cannot be written costs a warning. Raises StoreError.
    """
    told = {}
    for project in sorted(set(facts.projects(store) if projects is None else projects)):
        found = facts.for_agents(facts.facts_of(store, project))
        said = fence.facts(found.told, fence.FACTS_LIMIT, facts.remote(project))
        for name in (project, *repositories.known_by(store, project)):
            told[exposure.facts_path(str(home), name)] = said
    _tell(told, whole=projects is None, folder=home / "hook" / "facts")


def publish_triggers(store: Store, home: Path, projects: Iterable[str] | None = None) -> None:
    """Tell the hooks before which steps of these projects (by name; None: of all, and of no other any more) a proven
    lesson is said. What a remote names is also told where no hook can ask for the remote: in a folder that is none of
    its clones here.

    A home that cannot be written costs a warning. Raises StoreError.
    """
    every = projects is None
    if projects is None:
        projects = [text_in(row, "project") for row in store.sum_by("lessons", ("project",), ("count:*",))]
    told = {}
    for project in sorted({*projects} - {""}):
        lines = "".join(f"{each.written()}\n" for each in making.triggers(store, project))
        for name in (project, *repositories.known_by(store, project)):
            told[trigger.path_of(str(home), name)] = lines
    _tell(told, whole=every, folder=home / "hook" / "ahead")


def _tell(told: Mapping[str, str], *, whole: bool, folder: Path) -> None:
    """Write each file's text, remove those of none, and (`whole`) all others of the folder."""
    others = {str(path): "" for path in folder.glob("*")} if whole else {}
    for name, text in {**others, **told}.items():
        path = Path(name)
        try:
            if text:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                files.replace(path, text.encode("utf-8", "replace"), mode=0o600)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("hooks go on with what they knew: %s cannot be written (%s)", path, error.strerror or error)


def publish(store: Store, home: Path, *, withheld_share: float, proven_withheld_share: float) -> float:
    """Tell the hooks what they must know before they open the store; return the share that new sessions withhold.

    To be called whenever lessons changed or credit was settled. Hooks survive a stale or missing file: they read the
    lessons themselves from the store. So a home that cannot be written costs a warning. Raises StoreError.
    """
    known = credit.known(store)
    withheld = _withheld(known, withheld_share, proven_withheld_share)
    active = store.sum_by("lessons", (), ("count:*",), {"state": "active"})
    lessons = effects.shrink(credit.by_lesson(known.units))
    measured = {lesson_id: each.estimate for lesson_id, each in lessons.items()}
    usual = effects.difference(credit.pooled(known.units))
    try:
        exposure.publish(
            str(home),
            active=whole_in(active[0], "count:*") if active else 0,
            withheld=withheld,
            expected=deadline.expectations(_endings(store)),
            effects={"": usual[0] if usual else 0.0, **measured},
            aims=_aims(known, withheld) if withheld >= withheld_share else {},  # once it is proven, few go without
        )
        notes.refresh(home)
    except OSError as error:
        log.warning("hooks go on with what they were told before: %s cannot be written (%s)", home, error.strerror)
    return withheld


def _endings(store: Store) -> dict[str, tuple[int, int]]:
    """Sum up how failures ended of which nobody was told a lesson, by command."""
    rows = store.sum_by("endings", ("head",), ("met", "overcome"))
    return {text_in(row, "head"): (whole_in(row, "met"), whole_in(row, "overcome")) for row in rows}


def _aims(known: credit.Known, share: float) -> dict[str, float]:
    """Pattern -> the share to withhold of its units, where an arm of its own is short."""
    arms: dict[str, list[int]] = {}
    for each in known.units:
        if 0 < each.met.share < 1:
            arms.setdefault(each.met.pattern, [0, 0])[each.met.shown] += 1
    found = {pattern: deadline.aimed_share(shown, kept, share=share) for pattern, (kept, shown) in arms.items()}
    return {pattern: each for pattern, each in found.items() if each is not None and each != share}


def _withheld(known: credit.Known, share: float, proven_share: float) -> float:
    """The share of new units to withhold: as long as one of the two questions is open, for that one."""
    groups = [known.of(group) for group in (exposure.PREVENTION, exposure.CURE)]
    tossed = [sum(0 < unit.share < 1 for unit in units) for units in groups]
    # The mean of two e-values is one: both groups are looked at, and luck still passes 20 in 1 of 20 at most.
    evidence = sum(deadline.EffectEvidence(units)() for units in groups) / len(groups)
    return deadline.withheld_share(evidence, max(tossed), share=share, proven_share=proven_share)
