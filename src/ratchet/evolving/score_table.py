"""Reads the scores that a loop wrote down: a row a run, as TSV, CSV or JSON Lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from ratchet.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Names of the columns that matter. What is None was not named: the version is in `version`, else in `commit`, the
    task in `task` where there is one. `crashed` is a column and what it holds where a run has no score, whatever stands
    in its place (autoresearch writes status `crash` and 0.000000, which would be the lowest loss of all)."""

    version: str | None = None
    score: str = "score"
    task: str | None = None
    guards: tuple[str, ...] = ()
    crashed: tuple[str, str] = ("status", "crash")

    def version_in(self, row: Mapping[str, object]) -> str:
        """The column of the version in a table with such a row."""
        return self.version or ("commit" if "version" not in row and "commit" in row else "version")

    @property
    def task_name(self) -> str:
        return "task" if self.task is None else self.task


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """One run. `line` counts from 1."""

    line: int
    version: str
    score: float
    task: str = ""
    guards: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTable:
    """The runs in their order, and the lines whose run has no number: it could not be measured, which is no score.
    `crashed` is the version of the last row where that has no number, else ""."""

    runs: Sequence[ScoredRun]
    unmeasured: Sequence[int]
    crashed: str

    @property
    def are_bounded(self) -> bool:
        """Tell whether nothing need be assumed of the noise: scores in [0, 1] by task, or single passes and fails."""
        scores = {each.score for each in self.runs}
        by_task = any(each.task for each in self.runs)
        return bool(scores) and (all(0 <= each <= 1 for each in scores) if by_task else scores <= {0.0, 1.0})


def read_scores(text: str, columns: Columns, *, name: str = "the table") -> ScoreTable:
    """The runs that a text holds. Raises UsageError that names the line, or the columns that are there."""
    runs: list[ScoredRun] = []
    unmeasured: list[int] = []
    crashed = ""
    named = ""
    for line, row in _rows(text.removeprefix("\ufeff"), columns, name):
        named = named or columns.version_in(row)
        version = _text(row.get(named))
        if not version:
            raise UsageError(f"{name}, line {line}: no {named}; each run belongs to a version")
        column, crash = columns.crashed
        score = None if _text(row.get(column)) == crash else _number(row.get(columns.score))
        crashed = version if score is None else ""
        if score is None:
            unmeasured.append(line)
            continue
        guards = {each: value for each in columns.guards if (value := _number(row.get(each))) is not None}
        task = _text(row.get(columns.task_name))
        runs.append(ScoredRun(line=line, version=version, score=score, task=task, guards=guards))
    if not runs:
        raise UsageError(f"{name} holds no run with a number as its {columns.score}")
    return ScoreTable(runs=runs, unmeasured=unmeasured, crashed=crashed)


def _rows(text: str, columns: Columns, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    rows = _json_rows(text, name) if text.lstrip().startswith("{") else _delimited_rows(text, name)
    for n, (line, row) in enumerate(rows):
        version = columns.version_in(row)
        if n == 0 and version == columns.score:
            raise UsageError(f"the column {version!r} cannot hold both the version and the score")
        wanted = [version, columns.score, *columns.guards, *([columns.task] if columns.task else [])]
        if missing := [each for each in wanted if each not in row] if n == 0 else []:
            held = ", ".join(each for each in row if each)
            raise UsageError(
                f"{name} has no column {missing[0]!r}; it has {held}: say which one holds it "
                f"(--by for the version, --score, --task, --guard)"
            )
        yield line, row


def _json_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    for line, written in enumerate(text.splitlines(), 1):
        if not written.strip():
            continue
        try:
            row = json.loads(written)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise UsageError(f"{name}, line {line}: no JSON object; write one run a line")
        yield line, row


def _delimited_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    lines = text.splitlines(keepends=True)
    header = next((each for each in lines if each.strip()), "")
    reader = csv.reader(_unblank(lines), delimiter="\t" if "\t" in header else ",")
    names = [each.strip() for each in next(reader, [])]
    if len(names) < 2:
        raise UsageError(f"{name} has no header of columns: write one, such as version<TAB>score, then a row a run")
    try:
        for fields in reader:
            if any(each.strip() for each in fields):
                yield reader.line_num, dict(zip(names, fields, strict=False))
    except csv.Error as error:
        raise UsageError(f"{name}, line {reader.line_num}: {error}") from None


def _unblank(lines: Iterable[str]) -> Iterator[str]:
    """The lines from the first that says something on."""
    started = False
    for each in lines:
        started = started or bool(each.strip())
        if started:
            yield each


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, bool | dict | list) else str(value).strip()


def _number(value: object) -> float | None:
    """A finite number, or None; true and false are 1 and 0."""
    try:
        number = float(value) if isinstance(value, bool | int | float | str) else float("nan")
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None
