"""Reads a log of Inspect (inspect.aisi.org.uk), `.json` or `.eval`, into a run that has ended.

    NAME.json   {"status", "eval": {"task", "model", "dataset", "created"}, "samples": [...]}
    NAME.eval   a zip: header.json (without it _journal/start.json) and samples/ID_epoch_N.json

A sample's epoch is the seed. A sample that ended with an error, or that no scorer could score (NaN), was not measured;
where the run set `score_on_error`, a sample with an error has the score that it was given.
Values mean what Inspect's own metrics take them for: C 1, P 0.5, I and N 0, yes and true 1, no and false 0.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ratchet.arguments import finite
from ratchet.errors import NotFound, UsageError
from ratchet.evolving.bench.account import result_of
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.redaction.text import clean
from ratchet.failures.signature import sign, template_of
from ratchet.recording.sources.unpacked import unpacked
from ratchet.records import Json

_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_SWITCHES = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
# Decoded, JSON takes several times its size: a log of samples is read one by one, any other whole.
_MOST_MEMBER_BYTES = 134_217_728
_MOST_LOG_BYTES = 8_589_934_592
_MOST_JSON_BYTES = 268_435_456
_MOST_EPOCH = 2**31
_ID_CHARS = 500
_REASON_CHARS = 500
_ZSTANDARD = 93  # APPNOTE.TXT 6.3.10, 4.4.5
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # the same, 4.3.7: it ends with the lengths of the name and the extra field
_Encrypted = RuntimeError  # what zipfile raises for a member that needs a password


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectLog:
    """One log: what ran, and an evaluation for each sample and epoch, their `run` and `candidate` empty."""

    task: str
    model: str
    hash: str
    """Of what was asked: the task, its version and data set. Logs of one task have the same."""
    status: str
    started_at: float
    evaluations: tuple[Evaluation, ...]


def read_log(path: Path, *, scorer: str = "") -> InspectLog:
    """The whole log, with the scores of `scorer` or of the first one. Raises NotFound, UsageError naming file and
    sample."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    try:
        return _read(path, *(_of_zip(path) if zipfile.is_zipfile(path) else _of_json(path)), scorer=scorer)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, zlib.error, _Encrypted) as error:
        raise UsageError(f"{path} cannot be unpacked ({error}); write it anew: {_convert(path)}") from error


def _read(
    path: Path, header: Mapping[str, Json], samples: Iterator[tuple[str, Mapping[str, Json]]], *, scorer: str
) -> InspectLog:
    """A log of its header and samples. Raises UsageError, and what reading the samples raises."""
    spec = header.get("eval")
    if not isinstance(spec, dict) or not isinstance(spec.get("task"), str):
        raise UsageError(f"{path} is no Inspect log: it has no eval.task")
    settings = spec.get("config")
    on_error = isinstance(settings, dict) and settings.get("score_on_error") is True
    found = [_evaluation(sample, where, scorer, on_error=on_error) for where, sample in samples]
    if not found:
        raise UsageError(f"{path} holds no samples ({header.get('status', 'no status')}); log them (--log-samples)")
    _check_once(found, path)
    return InspectLog(
        task=str(spec["task"]),
        model=str(spec.get("model") or "unknown model"),
        hash=_hash(spec),
        status=str(header.get("status") or "started"),
        started_at=_time(spec.get("created")),
        evaluations=tuple(sorted(found, key=lambda each: (each.task, each.seed))),
    )


def _of_json(path: Path) -> tuple[Mapping[str, Json], Iterator[tuple[str, Mapping[str, Json]]]]:
    if path.stat().st_size > _MOST_JSON_BYTES:
        raise UsageError(f"{path} is larger than {_MOST_JSON_BYTES:,} bytes; convert it to .eval")
    log = _decoded(path.read_bytes(), str(path))
    samples = log.get("samples")
    listed = samples if isinstance(samples, list) else []
    return log, ((f"{path}, sample {n}", _table(each, f"{path}, sample {n}")) for n, each in enumerate(listed, 1))


def _of_zip(path: Path) -> tuple[Mapping[str, Json], Iterator[tuple[str, Mapping[str, Json]]]]:
    with zipfile.ZipFile(path) as held:
        names = held.namelist()
        head = next((name for name in ("header.json", "_journal/start.json", "start.json") if name in names), "")
        if not head:
            raise UsageError(f"{path} is no Inspect log: it holds neither header.json nor _journal/start.json")
        header = _decoded(_member(held, head, path), f"{path}, {head}")
    return header, _samples(path, [name for name in names if name.startswith("samples/") and name.endswith(".json")])


def _samples(path: Path, names: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """One sample after the other, none of them kept; an archive that unpacks without end is refused."""
    left = _MOST_LOG_BYTES
    with zipfile.ZipFile(path) as held:
        for name in names:
            content = _member(held, name, path)
            left -= len(content)
            if left < 0:
                raise UsageError(f"{path} unpacks to more than {_MOST_LOG_BYTES:,} bytes")
            yield f"{path}, {name}", _decoded(content, f"{path}, {name}")


def _member(held: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """A member's content; no more is unpacked than is allowed, whatever the archive says of its size."""
    about = held.getinfo(name)
    if about.compress_type == _ZSTANDARD:
        content = _of_zstandard(about, path)
    else:
        with held.open(name) as member:
            content = member.read(_MOST_MEMBER_BYTES + 1)
    if len(content) > _MOST_MEMBER_BYTES:
        raise UsageError(f"{path}, {name} is larger than {_MOST_MEMBER_BYTES:,} bytes")
    return content


def _of_zstandard(about: zipfile.ZipInfo, path: Path) -> bytes:
    """A member that is packed with zstandard, as Inspect writes them; Python's own zip knows it from 3.14 on."""
    with path.open("rb") as file:
        file.seek(about.header_offset)
        head = file.read(_LOCAL_HEADER.size)
        if len(head) < _LOCAL_HEADER.size or not head.startswith(b"PK\3\4") or about.flag_bits & 1:
            raise zipfile.BadZipFile(f"{about.filename} is damaged, or needs a password")
        *_, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(head)
        file.seek(name_bytes + extra_bytes, os.SEEK_CUR)
        packed = file.read(about.compress_size)
    remedy = f"{path} is packed with zstandard, which this Python cannot read: {{}}; or {_convert(path)}"
    content = unpacked(packed, "zstd", _MOST_MEMBER_BYTES, remedy=remedy)
    if len(content) <= _MOST_MEMBER_BYTES and zlib.crc32(content) != about.CRC:
        raise zipfile.BadZipFile(f"bad CRC-32 of {about.filename}")
    return content


def _convert(path: Path) -> str:
    return f"`inspect log convert {path} --to json --output-dir AS_JSON`, then name the file in AS_JSON"


def _decoded(content: bytes, where: str) -> Mapping[str, Json]:
    try:
        found = json.loads(content)
    except json.JSONDecodeError as error:
        raise UsageError(f"{where}, line {error.lineno} is not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from error
    return _table(found, where)


def _table(value: object, where: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} is no JSON object")
    return value


def _evaluation(sample: Mapping[str, Json], where: str, scorer: str, *, on_error: bool) -> Evaluation:
    task, epoch = sample.get("id"), sample.get("epoch", 1)
    if not isinstance(task, str | int) or isinstance(task, bool):
        raise UsageError(f"{where} has no id")
    if not str(task).isprintable() or len(str(task)) > _ID_CHARS:
        raise UsageError(f"{where}: id is {str(task)[:40]!r}; use at most {_ID_CHARS} letters that can be printed")
    if not isinstance(epoch, int) or isinstance(epoch, bool) or not 0 <= epoch < _MOST_EPOCH:
        raise UsageError(f"{where}: epoch is {str(epoch)[:40]}; it should be a whole number, 0 or more")
    usage = sample.get("model_usage")
    by_model = [each for each in usage.values() if isinstance(each, dict)] if isinstance(usage, dict) else []
    score, reason = _score(sample, where, scorer, on_error=on_error)
    kind = "" if score == 1.0 else kind_of(reason) if score is None else "wrong_output"
    limit = sample.get("limit")
    return Evaluation(
        run="",
        candidate="",
        task=str(task),
        seed=epoch,
        result="unmeasured" if score is None else result_of(score),
        score=score or 0.0,
        reason=reason,
        kind=kind,
        signature=sign(kind, template_of(reason)) if kind else "",
        wall_s=_amount(sample.get("total_time")),
        cost_usd=math.fsum(_amount(each.get("total_cost")) for each in by_model),
        tokens=int(sum(_amount(each.get("total_tokens")) for each in by_model)),
        killed=str(limit.get("type", "")) if isinstance(limit, dict) else "",
        at=_time(sample.get("completed_at")),
    )


def _score(sample: Mapping[str, Json], where: str, scorer: str, *, on_error: bool) -> tuple[float | None, str]:
    """The score and why it is not 1; None: it was not measured. `on_error`: the run counted what its scorers said of a
    sample that ended with an error (`score_on_error`)."""
    error, scores = sample.get("error"), sample.get("scores")
    if error and not (on_error and scores):
        said = error.get("message") if isinstance(error, dict) else error
        return None, clean(" ".join(str(said).split()), _REASON_CHARS)
    if not isinstance(scores, dict) or not scores:
        return None, "no scorer scored it"
    if scorer and scorer not in scores:
        raise UsageError(f"{where} has no scorer {scorer!r}; it has {', '.join(map(str, scores))}")
    chosen = scores[scorer] if scorer else next(iter(scores.values()))
    held = _table(chosen, f"{where}, its score")
    value = _number(held.get("value"), where)
    said = held.get("explanation") or held.get("answer") or ""
    return value, "" if value == 1.0 else clean(" ".join(str(said).split()), _REASON_CHARS)


def _number(value: Json, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        word = _WORDS.get(value, _SWITCHES.get(value.lower()))
        if word is not None:
            return word
        try:
            value = float(value)
        except ValueError as error:
            raise UsageError(f"{where}: the score {value!r} means nothing here; choose another scorer") from error
    if not isinstance(value, int | float):
        raise UsageError(f"{where}: the score is {json.dumps(value)[:60]}, no single value; choose another scorer")
    if value != value:
        return None  # NaN, as Inspect marks what could not be scored
    if not 0 <= value <= 1:
        raise UsageError(f"{where}: the score {str(value)[:40]} is not between 0 and 1; choose another scorer")
    return float(value)


def _amount(value: object) -> float:
    return max(0.0, finite(value) or 0.0)


def _time(value: object) -> float:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):  # no time, or one of the years 1 and 9999
        return 0.0


def _hash(spec: Mapping[str, Json]) -> str:
    data = spec.get("dataset")
    name = data.get("name") if isinstance(data, dict) else None
    text = json.dumps(["inspect", spec.get("task"), spec.get("task_version"), name], sort_keys=True)
    return "b" + hashlib.sha256(text.encode()).hexdigest()[:24]


def _check_once(found: list[Evaluation], path: Path) -> None:
    seen: set[tuple[str, int]] = set()
    for each in found:
        key = (each.task, each.seed)
        if key in seen:
            raise UsageError(f"{path} holds the sample {each.task!r}, epoch {each.seed}, twice")
        seen.add(key)
