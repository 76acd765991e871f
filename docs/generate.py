"""Write docs/reference from the code, so that it cannot say anything else. `--check` only compares.

usage: python docs/generate.py [--check]
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import click

import ratchet
from ratchet import classify
from ratchet.cli.app import EXIT_CODES, cli
from ratchet.cli.commands import SECTIONS
from ratchet.cli.demo import HISTORY
from ratchet.config import NOTIFY, Config
from ratchet.evolving.bench.benchmark import Agent, Benchmark, BenchTask, Evaluation
from ratchet.evolving.bench.book import Compared as ComparedRuns
from ratchet.evolving.bench.figures import figures, paired
from ratchet.evolving.bench.rows import BenchRun
from ratchet.failures.kinds.table import KINDS
from ratchet.gate.effects import Counts, Shrunk
from ratchet.healing.comparison import Compared, Ratio, Run
from ratchet.healing.episode import Attempt, Budget, Episode, Task
from ratchet.improving.book import Watched
from ratchet.improving.loop.improve import Ticked
from ratchet.improving.loop.pulse import Pulse
from ratchet.improving.settings.versions import StoredSettings
from ratchet.lessons.effect import LessonEffect
from ratchet.records import Json, Proposal
from ratchet.runtime import Runtime
from ratchet.serving.shapes import bench as benchshapes
from ratchet.serving.shapes import core as shapes
from ratchet.serving.shapes import healing as healshapes

_ATTEMPT = Attempt(episode="", n=1, status="passed")
_TASK = Task(id="", check=("",))
_EPISODE = Episode(id="", task=_TASK, number=1, status="passed", budget=Budget(), attempts=(_ATTEMPT,))
_RUN = Run(arm="none", seed=0, task="", status="", effort=0, attempts=0, same_mistakes=0, cost_usd=0.0, duration_s=0.0)
_COMPARED = Compared(
    tasks=0, seeds=0, runs=(_RUN,), ratios=(Ratio(of="memory", over="none", ratio=1.0, low=1.0, high=1.0),)
)
OUT = Path(__file__).parent / "reference"
ANY = "any JSON"
NOTE = "<!-- Written by docs/generate.py from the code. -->\n"


def pages() -> dict[str, str]:
    """File name -> text of every reference page."""
    return {
        "command-line.md": "\n".join(command_line()),
        "python.md": "\n".join(python_surface()),
        "kinds.md": "\n".join(kinds()),
        "settings.md": "\n".join(settings()),
        "json.md": "\n".join(json_shapes()),
    }


def command_line() -> Iterator[str]:
    yield from (NOTE, "# Command line\n")
    yield "`ratchet [--home FOLDER] COMMAND ...`. Every reading command takes `--json`.\n"
    ctx = click.Context(cli, info_name="ratchet")
    for section, names in SECTIONS.items():
        yield f"## {section}\n"
        for name in names:
            command = cli.get_command(ctx, name)
            assert command is not None
            yield from _command(command, click.Context(command, parent=ctx, info_name=name))
    yield "## Exit codes\n"
    yield "```" + EXIT_CODES.replace("\b\nExit codes\n", "").rstrip() + "\n```\n"


def _command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield f"### `{ctx.command_path}`\n"
    yield f"```\n{command.get_help(ctx)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            sub = command.get_command(ctx, name)
            assert sub is not None
            yield from _command(sub, click.Context(sub, parent=ctx, info_name=name))


def python_surface() -> Iterator[str]:
    yield from (NOTE, "# Python\n", "Everything here is public and stable; all of it is importable from `ratchet`.\n")
    for name in ratchet.__all__:
        value = getattr(ratchet, name)
        if name == "__version__" or isinstance(value, str):
            continue
        yield from _described(name, value)


def _described(name: str, value: object) -> Iterator[str]:
    if inspect.isclass(value):
        yield f"## `{name}`\n"
        yield _doc(value)
        if is_dataclass(value):
            yield from (f"- `{field.name}: {field.type}`" for field in fields(value))
            yield ""
        if issubclass(value, BaseException):
            return
        for member, function in vars(value).items():
            if not member.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
                shown = function.fget if isinstance(function, property) else function
                call = "" if isinstance(function, property) else str(inspect.signature(shown))
                yield f"### `{name}.{member}{call}`\n"
                yield _doc(shown)
    elif callable(value):
        yield f"## `{name}{inspect.signature(value)}`\n"
        yield _doc(value)


def _doc(value: object) -> str:
    return (inspect.getdoc(value) or "") + "\n"


def kinds() -> Iterator[str]:
    yield from (NOTE, "# Kinds of failure\n", "The narrowest kind wins. Transient: it may pass by itself.")
    yield "Safe to retry: the same call may be made again as it stands. A `?` is decided by what the text says.\n"
    yield "| kind | transient | safe to retry | severity | usual remedies |\n|---|---|---|---|---|"
    said = {True: "yes", False: "no", None: "?"}
    for name, (transient, retry_safe, severity, fixes) in KINDS.items():
        yield f"| `{name}` | {said[transient]} | {said[retry_safe]} | {severity} | {'; '.join(fixes)} |"
    yield ""


def settings() -> Iterator[str]:
    yield from (NOTE, "# Settings\n")
    yield "Where a setting is given several times, a keyword (in Python) counts before the environment, and that before"
    yield "`ratchet.toml`. One file is read: the working directory's or, if there is none, the home folder's."
    yield "What the hooks are to obey belongs into the home folder.\n"
    yield "| key | environment | default | meaning |\n|---|---|---|---|"
    lines = inspect.getsource(Config).splitlines()
    for field in fields(Config):
        at = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{field.name}:"))
        meaning = " ".join("\n".join(lines[at + 1 :]).split('"""')[1].split())
        default = "`~/.ratchet`" if field.name == "home" else f"`{field.default}`"
        yield f"| `{field.name}` | `RATCHET_{field.name.upper()}` | {default} | {meaning} |"
    yield ""
    yield "## Who is told\n"
    yield "Only from the environment, since all of these are secrets or lead to people:\n"
    yield "| environment | meaning |\n|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in NOTIFY.items())
    yield ""


def json_shapes() -> Iterator[str]:
    yield from (NOTE, "# JSON\n")
    yield "What `--json` prints on standard output, as types: `[x]` is a list of x, `x?` may be null. Times are Unix"
    yield "seconds, durations end in `_s`. More fields may come. An error is one line on standard error and an"
    yield "[exit code](command-line.md#exit-codes).\n"
    bad: Json = {"path": "", "line": 0, "reason": ""}
    figures: dict[str, Json] = {"closed_at": 0.0, "estimate": None, "low": None, "high": None}
    change: Json = {"id": "", "target": "", "state": "", "mode": "", "new": {"KNOB": ANY}, "reason": "", **figures}
    with tempfile.TemporaryDirectory() as scratch, Runtime.open(home=scratch) as runtime:
        learned = runtime.learn([HISTORY])
        patterns = runtime.patterns()
        lesson = runtime.lessons.add(when="no space left on device", do="Remove the build folder.", state="active")
        recalled = runtime.recall("no space left on device")
        stored = StoredSettings(runtime.store, "agent", knobs={"timeout_s": ratchet.Range(1, 60)})
        stored.declare()
        changed = stored.change({"timeout_s": 30}, who="who", why="why")
        shown = runtime.settings.show("agent")
        trial = runtime.trials.open("settings:agent", {"timeout_s": 40}, reason="why")
        tried = {**shapes.trial(trial), "new": {"KNOB": 0}, "old": {"KNOB": 0}}
        cells: Json = {"share": 0.5, "fail_new": 0, "fail_old": 0, "ok_new": 0, "ok_old": 0}
        runtime.trials.stop(trial.id)
        proposal = Proposal(id="", agent="", pattern="", kind="", title="", fix="", state="open")
        pulse = Watched(agent="", pulse=Pulse(failures=1, window_s=0.0, cooldown_s=0.0, why=""))
        with_lessons = next(each for each in patterns if each.lessons)
        effect = LessonEffect(
            id="", text="", state="", counts=Counts(), effect=Shrunk(estimate=0.0, spread=0.0, weight=0.0), enough=False
        )
        said: dict[str, Json] = {
            "learn": {**shapes.learned(learned), "quarantined": [bad], "notes": [bad]},
            "watch-dir": {"processed": 0, "outcomes": 0, "rejected": [bad]},
            "record": {"id": ""},
            "classify TEXT": shapes.classification(classify("429 Too Many Requests")),
            "patterns": [shapes.pattern(with_lessons)],
            "patterns show ID": {**shapes.pattern_detail(runtime.pattern(with_lessons.id)), "correlated": []},
            "recall TEXT": shapes.recalled(recalled),
            "lessons list": [shapes.lesson(lesson)],
            "lessons show ID": shapes.lesson(lesson),
            "health": {**shapes.health(runtime.health()), "agents": {"NAME": 0.0}},
            "trials list": [tried],
            "trials show ID": {
                **shapes.trial_detail(runtime.trials.show(trial.id)),
                **tried,
                "counts": [cells],
                "effect": {"estimate": None, "low": 0.0, "high": 0.0},
                "events": [{"at": 0.0, "verb": ""}],
            },
            "proposals list": [{**shapes.proposal(proposal), "new": {"KNOB": 0}}],
            "proposals show ID": {**shapes.proposal(proposal), "new": {"KNOB": 0}},
            "pulse list": [shapes.watched(pulse)],
            "loop --once": shapes.ticked(Ticked()),
            "report": {
                **shapes.report(replace(runtime.report(), lessons=(effect,))),
                "changes": [change],
            },
            "install AGENT": {"path": "", "changed": False, "diff": "", "backup": ""},
            "settings show": [shapes.settings(shown)],
            "settings history AGENT": [{**shapes.version(changed), "values": {"KNOB": 0}}],
            "run": healshapes.episode(_EPISODE),
            "episodes list": [healshapes.episode(_EPISODE)],
            "episodes show ID": healshapes.detail(_EPISODE),
            "ab": healshapes.compared(_COMPARED),
            **_bench(),
            "doctor": [{"check": "", "ok": False, "found": "", "remedy": ""}],
        }
    for command, value in said.items():
        yield f"## `ratchet {command} --json`\n"
        yield f"```\n{_types(value)}\n```\n"


def _bench() -> dict[str, Json]:
    agent = Agent(how="command", argv=("",))
    run = BenchRun(id="", name="", benchmark="", agent=agent, agent_name="", state="ended", tasks=("",), tampered=("",))
    made = Evaluation(run="", candidate="", task="", seed=0, result="passed", tampered=("",))
    pairs = paired([made], [made])
    task = BenchTask(id="", kind="code", split="dev", instruction="", scorer="", files={"": ""})
    benchmark = Benchmark(name="", title="", tasks=(task,))
    listed: dict[str, Json] = {**benchshapes.listed(benchmark), "kinds": {"KIND": 0}, "splits": {"SPLIT": 0}}
    past: dict[str, Json] = {**benchshapes.past(replace(run, runs=1))}
    measured = benchshapes.measured(run, figures([made]), pairs)
    compared = benchshapes.compared(ComparedRuns(first=run, second=run, paired=pairs, noise=pairs))
    return {
        "bench list": [listed],
        "bench show NAME": {**listed, "task_list": [benchshapes.task(task)]},
        "bench show NAME TASK": benchshapes.task(task),
        "bench show RUN --evaluations": {**measured, "evaluations": benchshapes.evaluations([made])},
        "bench run": measured,
        "bench history": [past],
        "bench compare FIRST SECOND": compared,
        "bench import SOURCE": {**listed, "fresh": False},
    }


def _types(value: Json, indent: str = "") -> str:
    if value is ANY:
        return ANY
    if isinstance(value, dict):
        inner = "".join(f"{indent}  {key}: {_types(held, indent + '  ')}\n" for key, held in value.items())
        return "{\n" + inner + indent + "}"
    if isinstance(value, list):
        return f"[{_types(value[0], indent)}]" if value else "[text]"
    return {bool: "true or false", str: "text", int: "number", float: "number", type(None): "number?"}[type(value)]


def main() -> int:
    stale = []
    for name, text in pages().items():
        path = OUT / name
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            OUT.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
