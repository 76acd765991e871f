"""Sentences of a model about a table of features: each keeps the lines that show it, one without is dropped.

What others wrote reaches the model, so its sentences are no more to be trusted than theirs. One is kept only if it is
made of the names in the table, counts, and a few words that claim nothing and ask for nothing (`WORDS`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ratchet.errors import ModelError, Refused
from ratchet.evolving.competitors.comparing import ComparedFeature
from ratchet.evolving.competitors.features import KINDS
from ratchet.failures.redaction.text import clean, redact
from ratchet.healing.job import Purse
from ratchet.healing.models.prompts import Prompts
from ratchet.healing.models.question import Model, ModelAnswer, Question
from ratchet.healing.models.quoting import quoted

MOST_LINES = 8
ROOMS = ((40, 8_000), (12, 2_500))
"""Features and characters that a model is shown, and with how much it is asked again where its window is small."""
_LINE = 300
_OUTPUT_TOKENS = 1_024
_PLAIN = """a an the it its they their theirs this that these those other others project projects
and or of in on at by as with for to like too also is are have has offer offers read reads
accept accepts know knows provide provides support supports"""
WORDS = (*_PLAIN.split(), *(form for kind in KINDS for form in (kind, f"{kind}s")))
"""All words of a sentence beside names and counts. None of them orders, praises, denies or says all or only: what a
sentence says is who has what."""
_SENTENCE = re.compile(r"(?:\0|[^\s\0,]+)(?:(?<!\0),? \0|,? [^\s\0,]+|, \0)*\.?")
"""Words and names (as \\0), one space or a comma and one between them; two names never stand together without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProseLine:
    """One sentence, as a model writes it."""

    text: str
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProseAnswer:
    """The answer that is asked for."""

    lines: tuple[ProseLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOfGaps:
    """One sentence that is held by its evidence."""

    text: str
    rows: tuple[ComparedFeature, ...]
    """The features that it names: at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProse:
    """Answer of a model about a table. Without a line, `problem` says why."""

    lines: tuple[SaidOfGaps, ...] = ()
    by: str = ""
    dropped: int = 0
    """Sentences without evidence."""
    problem: str = ""
    cost_usd: float = 0.0


def prose_of(
    rows: Sequence[ComparedFeature],
    model: Model,
    purse: Purse,
    *,
    prompts: Prompts | None = None,
    told: Callable[[str], None] = lambda _text: None,
) -> TableProse:
    """Ask a model for sentences about features, and keep those that their lines hold. Never raises for what a model is
    or says: the table stands without it."""
    rules = (prompts or Prompts()).text("compare")
    by, answer = model.named("fast"), None
    for most, room in ROOMS:
        told(f"asking {by} for words about {min(most, len(rows))} features")
        question = Question(
            shape=ProseAnswer,
            text=_shown(rows[:most], room),
            rules=rules,
            role="fast",
            output_tokens=_OUTPUT_TOKENS,
            temperature=0.2,
        )
        try:
            answer = model.ask(question, purse)
        except (ModelError, Refused) as error:
            return TableProse(by=by, problem=str(error))
        if answer.kind != "context_overflow":
            break
    return _held(rows, answer, by) if answer is not None else TableProse(by=by)


def _held(rows: Sequence[ComparedFeature], answer: ModelAnswer[ProseAnswer], by: str) -> TableProse:
    said = answer.value.lines if answer.value is not None else ()
    kept = [each for line in said if (each := grounded(line, rows)) is not None][:MOST_LINES]
    problem = answer.problem or ("" if kept else "no sentence of it is held by the lines that it names")
    return TableProse(
        lines=tuple(kept),
        by=answer.model or by,
        dropped=sum(grounded(line, rows) is None for line in said),
        problem="" if kept else problem,
        cost_usd=answer.cost_usd,
    )


def grounded(line: ProseLine, rows: Sequence[ComparedFeature]) -> SaidOfGaps | None:
    """A sentence with the features that it names; None where it names none, or is made of anything but the names of
    these and of their projects, counts and `WORDS`."""
    text = clean(" ".join(line.text.split()), _LINE)
    cited = [rows[n - 1] for n in dict.fromkeys(line.rows) if 0 < n <= len(rows)]
    of = tuple(each for each in cited if re.search(_as_named(each.name), text, re.IGNORECASE))
    names = {each.name for each in of} | {project for each in of for project in each.cells}
    left = text
    for name in sorted(names, key=len, reverse=True):
        left = re.sub(_as_named(name), "\0", left, flags=re.IGNORECASE)
    counted = {str(n) for row in of for n in (len(row.cells), len(rows))}
    words = re.findall(r"[^\s\0,]+", left.removesuffix("."))
    if not of or not _SENTENCE.fullmatch(left) or any(each.casefold() not in {*WORDS, *counted} for each in words):
        return None
    return SaidOfGaps(text=text, rows=of)


def _as_named(name: str) -> str:
    """The pattern of a name in a sentence: one word as it is or in backticks, several in backticks only, since theirs
    could make a sentence."""
    bare = rf"-{{0,2}}{re.escape(name.lstrip('-'))}"
    return rf"`{bare}`" if " " in name else rf"`{bare}`|(?<![\w`-]){bare}(?![\w`-])"


def _shown(rows: Sequence[ComparedFeature], room: int) -> str:
    each = max(80, room // max(1, len(rows)))
    lines = []
    for number, row in enumerate(rows, 1):
        cells = "; ".join(f"{project} {cell.place} {cell.shown}" for project, cell in row.cells.items())
        lines.append(f"{number}. {row.kind} {row.name}: {cells}"[:each])
    words = f"# Words of a sentence, beside names and counts\n{' '.join(WORDS)}\n"
    return redact(f"{words}# Features that the developer's own project lacks\n" + quoted("\n".join(lines)))
