"""The benchmarks that come with Ratchet: `core`, tasks of five kinds, `repair`, programs of `ratchet.tasks`, `quick`.

A benchmark is a folder here with a `benchmark.toml` (`title`) and a folder for each kind of task. A task is a TOML
file: `title`, `split`, `instruction`, and `files`, `graders` and `reference` by path (`removes` lists files that a
right answer has no more). Graders go to `tests/held/`. A task of kind `fix` may name a program of `ratchet.tasks`
instead, by `library`. A plan holds its `problem` (JSON: the rules that the scorer knows, also given to the agent), its
`shape` and the `best` cost; a task of kind `tools` holds its `tools` and `calls` (JSON). A benchmark of programs alone
lists them in its `benchmark.toml`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast, get_args

from ratchet import tasks
from ratchet.errors import NotFound
from ratchet.evolving.bench import quick
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Split, TaskKind
from ratchet.records import Json

_FOLDER = Path(__file__).parent
_HELD = "tests/held/"
_SCORERS: dict[TaskKind, str] = {"code": "pytest", "fix": "pytest", "plan": "plan", "tools": "calls", "heal": "pytest"}
_PARTS = frozenset(("title", "split", "smoke", "wall_s", "instruction", "files", "graders", "reference", "removes"))
_PARTS_OF_A_KIND = frozenset(("library", "together", "shape", "best", "worst", "problem", "tools", "calls"))


def names() -> list[str]:
    """Of all shipped benchmarks, in order."""
    return sorted((quick.NAME, *(each.parent.name for each in _FOLDER.glob("*/benchmark.toml"))))


def shipped(name: str) -> Benchmark:
    """A shipped benchmark, its tasks by kind and id. Reads all its files. Raises NotFound."""
    if name not in names():
        raise NotFound(f"no shipped benchmark {name!r}; there are: {', '.join(names())}")
    if name == quick.NAME:
        return quick.quick()
    folder = _FOLDER / name
    about = tomllib.loads((folder / "benchmark.toml").read_text(encoding="utf-8"))
    return Benchmark(name=name, title=about["title"], tasks=(*_tasks(folder), *_of_library(about)))


def _tasks(folder: Path) -> Iterator[BenchTask]:
    kinds: tuple[TaskKind, ...] = get_args(TaskKind)
    for kind in kinds:
        texts = _answer_texts(folder, kind)
        for path in sorted((folder / kind).glob("*.toml")):
            held = tomllib.loads(path.read_text(encoding="utf-8"))
            unknown = held.keys() - _PARTS - _PARTS_OF_A_KIND
            assert not unknown, f"{path}: {unknown}"
            yield _task(kind, path.stem, held, texts)


def _of_library(about: Mapping[str, object]) -> Iterator[BenchTask]:
    """Programs that the benchmark's own file names by split, all with one instruction."""
    library = cast("Mapping[str, Sequence[str]]", about.get("library", {}))
    for split, programs in library.items():
        for name in programs:
            # Some of these tests make objects of the program: those are no plain calls.
            held = {"library": name, "split": split, "title": tasks.task(name).title, "together": True}
            shared = {key: about[key] for key in ("instruction", "wall_s") if key in about}
            yield _task("fix", name, {**held, **shared}, {})


def _answer_texts(folder: Path, kind: TaskKind) -> Mapping[str, str]:
    """Describe the form of an answer, by the shape of the task: told at the end of each instruction."""
    path = folder / f"{kind}-answers.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _task(kind: TaskKind, stem: str, held: Mapping[str, object], texts: Mapping[str, str]) -> BenchTask:
    files, graders, reference = (_texts(held.get(part, {})) for part in ("files", "graders", "reference"))
    graders = {_HELD + path: text for path, text in graders.items()}
    if "library" in held:
        program = tasks.task(str(held["library"]))
        files, reference = {**program.project, **files}, {**program.fixed, **reference}
        shown = {path: text for path, text in program.project.items() if path.startswith("test_")}
        for name, texts_of in (("shown", shown), ("held", program.held)):
            graders |= {_HELD + path.replace("test_", f"test_{name}_", 1): text for path, text in texts_of.items()}
    spec = _spec(held)
    if "problem" in held:
        files["problem.json"] = str(held["problem"])
    if "tools" in held:
        files["tools.json"] = str(held["tools"])
    wall_s = held.get("wall_s", 60)
    assert isinstance(wall_s, int | float)
    parts = (str(held["instruction"]).strip(), texts.get(str(held.get("shape", kind)), "").strip())
    return BenchTask(
        id=f"{kind}-{stem}",
        kind=kind,
        split=_split(held["split"]),
        title=str(held["title"]),
        instruction="\n\n".join(filter(None, parts)) + "\n",
        scorer=_SCORERS[kind],
        files=files,
        graders=graders,
        spec=spec,
        reference=reference,
        removes=_removed(held.get("removes", [])),
        smoke=bool(held.get("smoke")),
        wall_s=float(wall_s),
    )


def _spec(held: Mapping[str, object]) -> dict[str, Json]:
    """Return the scorer's own part of a task."""
    spec: dict[str, Json] = {}
    if "problem" in held:
        spec |= json.loads(str(held["problem"]))
    spec |= {name: json.loads(str(held[name])) for name in ("tools", "calls") if name in held}
    for name in ("shape", "best", "worst", "together"):
        value = held.get(name)
        if isinstance(value, str | int | float):
            spec[name] = value
    return spec


def _removed(said: object) -> tuple[str, ...]:
    assert isinstance(said, list)
    return tuple(map(str, said))


def _split(said: object) -> Split:
    splits: tuple[Split, ...] = get_args(Split)
    for each in splits:
        if each == said:
            return each
    raise AssertionError(f"no split {said!r}")


def _texts(held: object) -> dict[str, str]:
    assert isinstance(held, dict)
    return {str(path): str(text) for path, text in held.items()}
