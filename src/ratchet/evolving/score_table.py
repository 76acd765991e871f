"""Reads the scores that a loop wrote down: a row a run, as TSV, CSV or JSON Lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from ratchet.errors import UsageError

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MEANT = re.compile(r"[+-]?\.?\d")  # what begins so is meant as a number, in whatever digits


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
    """One run. `line` counts from 1. `score` is None where it brought none: it crashed, or was never measured."""

    line: int
    version: str
    score: float | None
    task: str = ""
    guards: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTable:
    """The runs in their order."""

    runs: Sequence[ScoredRun]

    @property
    def are_bounded(self) -> bool:
        """Tell whether nothing need be assumed of the noise: scores in [0, 1] by task, or single passes and fails."""
        scores = {each.score for each in self.runs if each.score is not None}
        by_task = any(each.task for each in self.runs)
        return bool(scores) and (all(0 <= each <= 1 for each in scores) if by_task else scores <= {0.0, 1.0})


def read_scores(text: str, columns: Columns, *, name: str = "the table") -> ScoreTable:
    """The runs that a text holds. Raises UsageError that names the line, or the columns that are there."""
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise UsageError(f"{name}, line {line}: holds a NUL, as UTF-16 does; save it as UTF-8")
    runs: list[ScoredRun] = []
    named = ""
    for line, row in _rows(text.removeprefix("\ufeff"), columns, name):
        where = f"{name}, line {line}"
        named = named or columns.version_in(row)
        version, task = _called(row, named, where), _called(row, columns.task_name, where)
        if not version:
            raise UsageError(f"{where}: no {named}; each run belongs to a version")
        column, crash = columns.crashed
        score = None if _text(row.get(column)) == crash else _number(row, columns.score, where)
        guards = {each: value for each in columns.guards if (value := _number(row, each, where)) is not None}
        runs.append(ScoredRun(line=line, version=version, score=score, task=task, guards=guards))
    if all(each.score is None for each in runs):
        raise UsageError(f"{name} holds no run with a number as its {columns.score}")
    return ScoreTable(runs=runs)


def _rows(text: str, columns: Columns, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    rows = (_json_rows if text.lstrip().startswith(("{", "[")) else _delimited_rows)(text, columns, name)
    for n, (line, row) in enumerate(rows):
        version = columns.version_in(row)
        if n == 0 and version == columns.score:
            raise UsageError(f"the column {version!r} cannot hold both the version and the score")
        wanted = [version, columns.score, *columns.guards, *([columns.task] if columns.task else [])]
        if missing := [each for each in wanted if each not in row] if n == 0 else []:
            option = {version: "--by", columns.score: "--score", columns.task: "--task"}.get(missing[0], "--guard")
            numbers = [each for each in row if each not in wanted and _NUMBER.fullmatch(_text(row[each]))]
            likely = next(iter(numbers), "COLUMN") if option in ("--score", "--guard") else "COLUMN"
            held = ", ".join(each for each in row if each)
            raise UsageError(
                f"{name} has no column {missing[0]!r}; it has {held}: say which one holds it, as {option} {likely}"
            )
        yield line, row


def _json_rows(text: str, columns: Columns, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    keys = json.dumps({columns.version or "version": "a", columns.score: 0.5})
    for line, written in enumerate(io.StringIO(text, newline=None), 1):
        if not written.strip():
            continue
        try:
            pairs = json.loads(written, object_pairs_hook=tuple)  # an array is a list
        except (ValueError, RecursionError):
            pairs = None
        if not isinstance(pairs, tuple):
            raise UsageError(f"{name}, line {line}: no JSON object; each line must be one, such as {keys}")
        yield line, _single(pairs, columns, f"{name}, line {line}")


def _delimited_rows(text: str, columns: Columns, name: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    records = _records(text, name)
    names = [each.strip() for each in next(records, (0, []))[1]]
    if len(names) < 2:
        raise UsageError(f"{name} has no header of columns: write one, such as version<TAB>score, then a row a run")
    _single([(each, None) for each in names], columns, name)
    for line, fields in records:
        if any(each.strip() for each in fields):
            yield line, dict(zip(names, fields, strict=False))


def _single(pairs: Sequence[tuple[str, object]], columns: Columns, where: str) -> dict[str, object]:
    """The pairs as a row. Raises UsageError where one that matters is there twice: which one holds it is a guess."""
    row = dict(pairs)
    used = {columns.version_in(row), columns.score, columns.task_name, columns.crashed[0], *columns.guards}
    names = [each for each, _ in pairs]
    if len(row) < len(names) and (twice := [each for each in names if each in used and names.count(each) > 1]):
        raise UsageError(
            f"{where} has {names.count(twice[0])} columns {twice[0]!r}: rename all but the one that counts"
        )
    return row


def _records(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """The records, the first that says something on, each with its last line. Raises UsageError for a quote that
    nothing closes: it would swallow the runs of all lines up to the next quote, or to the end."""
    lines = list(io.StringIO(text, newline=None))
    first = next((n for n, each in enumerate(lines) if each.strip()), len(lines))
    delimiter = "\t" if first < len(lines) and "\t" in lines[first] else ","
    reader, begun = csv.reader(lines[first:], delimiter=delimiter), first
    try:
        for fields in reader:
            ended = first + reader.line_num
            if ended - begun > 1 or ended == len(lines):
                _closed(lines[begun:ended], delimiter, f"{name}, line {begun + 1}")
            yield ended, fields
            begun = ended
    except csv.Error as error:
        raise UsageError(f"{name}, line {first + reader.line_num}: {error}") from None


def _closed(lines: Sequence[str], delimiter: str, where: str) -> None:
    """Raise UsageError where a record of several lines, or the last one, has a quote that is not closed."""
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        if len(lines) > 1 or "end of data" in str(error):
            raise UsageError(f"{where}: opens a quote that nothing closes; close it, or leave it out") from None


def _called(row: Mapping[str, object], column: str, where: str) -> str:
    """The name that a cell holds. Raises UsageError for one that cannot be shown as it is."""
    name = _text(row.get(column))
    if not name.isprintable():
        raise UsageError(f"{where}: {column} is {name!r}, which holds what does not print; use plain text")
    return name


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, bool | tuple | list) else str(value).strip()


_VERDICTS = {"true": 1.0, "false": 0.0}


def _number(row: Mapping[str, object], column: str, where: str) -> float | None:
    """A finite number, or None where a cell holds words or nothing; true and false are 1 and 0. Raises UsageError for
    what is meant as a number and is none: which one is a guess."""
    value = row.get(column)
    if isinstance(value, bool | int | float):
        try:
            number = float(value)
        except OverflowError:
            raise UsageError(f"{where}: {column} is beyond any number; use another unit") from None
        return number if isfinite(number) else None
    said = value.strip() if isinstance(value, str) else ""
    if said.lower() in _VERDICTS:
        return _VERDICTS[said.lower()]
    if not _NUMBER.fullmatch(said):
        if _MEANT.match(said):
            raise UsageError(
                f"{where}: {column} is {said[:40]!r}, which is no number; write one such as 1000 or 0.5, "
                "or nothing where the run brought none"
            )
        return None
    number = float(said)
    if not isfinite(number):
        raise UsageError(f"{where}: {column} is beyond any number; use another unit")
    return number
