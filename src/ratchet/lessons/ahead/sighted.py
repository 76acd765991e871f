"""Checks that what is said before a step really ran in this project. The row of a lesson is no proof of that, whoever
wrote it: each name in a sentence of ours stands in the inputs of steps that the lesson was learnt of, a fix in the
edits that ended its finding, advice in their words. What only an output, a file or a message said stands in none. Lean:
hook processes import this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ratchet.ports import Store
    from ratchet.records import Json, Row

    Sightings = Mapping[str, Sequence[Row]]
    """Lesson id -> the resolutions of one project that it was learnt of."""

_INPUTS = ("tool", "head", "failed_input", "do")
_AT_ONCE = 500  # values of one condition; SQLite's oldest limit is 999


def sightings(store: Store, lessons: Iterable[Row]) -> Sightings:
    """The resolutions that these lessons were learnt of, each in its own project. Raises StoreError."""
    own = learnt_of(lessons)
    ids: list[Json] = [*sorted(own)]
    batches = [ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE)]
    found = [row for asked in batches for row in store.find("resolutions", {"lesson_id": ("in", asked)}).rows]
    return by_lesson(row for row in found if own[str(row["lesson_id"])] == row.get("project"))


def learnt_of(lessons: Iterable[Row]) -> dict[str, Json]:
    """The projects' lessons whose evidence makes these, each with its project: of a generic one several."""
    return {name: project for row in lessons for name, project in _sources(row)}


def _sources(lesson: Row) -> list[tuple[str, Json]]:
    spoken = lesson.get("generic")
    if not isinstance(spoken, list):
        return [(str(lesson.get("id")), lesson.get("project"))]
    from ratchet.lessons.mining.triggers import lesson_id_of

    return [(lesson_id_of("mined", str(each), str(lesson.get("group"))), each) for each in spoken]


def by_lesson(rows: Iterable[Row]) -> Sightings:
    """Resolutions by the lesson that they speak for."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row.get("lesson_id")), []).append(row)
    return found


def names_what_ran(lesson: Row, said: str, seen: Sightings) -> bool:
    """Tell whether steps that ran here hold all names in a sentence of ours about a lesson: what stands in backticks;
    of a check's finding, whether they ended it so."""
    own = _own(lesson, seen)
    if lesson.get("rule") == "edit":
        return _ended_so(lesson, own)
    ran = "\n".join(str(row.get(name)) for row in own for name in _INPUTS)
    return bool(own) and all(_is_word(word, ran) for named in said.split("`")[1::2] for word in named.split())


def _is_word(word: str, ran: str) -> bool:
    """Tell whether a word stands in what ran as a whole, not as a piece of a longer one."""
    at = ran.find(word)
    while at >= 0:
        before, behind = ran[at - 1 : at], ran[at + len(word) : at + len(word) + 1]
        if not (_goes_on(before, word[:1]) or _goes_on(word[-1:], behind)):
            return True
        at = ran.find(word, at + 1)
    return False


def _goes_on(one: str, other: str) -> bool:
    return (one.isalnum() or one in ("_", "-")) and (other.isalnum() or other in ("_", "-"))


def tells_what_ran(lesson: Row, seen: Sightings) -> bool:
    """Tell whether a lesson that claims to be mined says what steps that ran taught, with its remedy or without; people
    vouch for others."""
    if not is_mined(lesson):
        return True
    own = _own(lesson, seen)
    if lesson.get("rule") == "edit":
        return _ended_so(lesson, own)
    taught = [str(row.get("text")) for row in own]
    return lesson.get("text") in (*taught, *map(without_remedy, taught))


def without_remedy(text: str) -> str:
    """Say of an advice about something that a command does not take only that: its remedy is not vouched for."""
    fact, _, remedy = text.partition("`: ")
    if not remedy or fact[:1] != "`":
        return text
    instead = "" if remedy.startswith("use `") else ": leave it out"  # what another option took the place of is needed
    return f"{fact}`{instead}; `{fact.split('`')[1]} --help` lists what there is."


def is_mined(lesson: Row) -> bool:
    """Tell whether a lesson claims that sessions taught it, and no person vouched for it since."""
    return lesson.get("source") == "session" and lesson.get("rule") != "said" and not lesson.get("decided")


def _own(lesson: Row, seen: Sightings) -> list[Row]:
    found = [row for name, _ in _sources(lesson) for row in seen.get(name, ())]
    return [row for row in found if row.get("group") == lesson.get("group")]


def _ended_so(lesson: Row, own: list[Row]) -> bool:
    told = lesson.get("told")
    forms = told[0] if isinstance(told, list) and told else []
    made = [row.get("forms") for row in own]
    known = {str(form) for each in made if isinstance(each, list) for form in each}
    return bool(own) and isinstance(forms, list) and known.issuperset(map(str, forms))
