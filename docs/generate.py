"""Write docs/reference from the code, so that it cannot say anything else. `--check` only compares.

usage: python docs/generate.py [--check]
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, cast, get_args, get_origin, get_type_hints

import click
from fastapi.routing import APIRoute

import ratchet
from ratchet.cli.app import EXIT_CODES, cli
from ratchet.cli.commands import SECTIONS
from ratchet.config import NOTIFY, SHARED_KEYS, Config
from ratchet.failures.kinds.table import KINDS
from ratchet.serving import shapes as package
from ratchet.serving.api.routers import ROUTERS
from ratchet.serving.mcp.tasktools import TaskTools
from ratchet.serving.mcp.tools import Tools
from ratchet.serving.shapes.bench import (
    BenchCheckShape,
    BenchComparisonShape,
    BenchmarkDetailShape,
    BenchmarkShape,
    BenchTaskShape,
    ComparedFeatureShape,
    EvaluatedBenchRunShape,
    GrantedShape,
    ImportedBenchmarkShape,
    MeasuredBenchRunShape,
    PastBenchRunShape,
)
from ratchet.serving.shapes.comparison import ComparisonShape
from ratchet.serving.shapes.evolving import (
    EvolutionDetailShape,
    EvolutionListedShape,
    EvolutionPatchShape,
    EvolutionShape,
    EvolutionTreeShape,
)
from ratchet.serving.shapes.failures import (
    ClassificationShape,
    HealthShape,
    OutcomeIdShape,
    PatternDetailShape,
    PatternShape,
    SplitShape,
)
from ratchet.serving.shapes.lessons import (
    BacktestShape,
    CorrectionShape,
    CureShape,
    DistilledShape,
    DistrustedShape,
    ImportedShape,
    LearnedShape,
    LessonShape,
    PolledShape,
    ProjectFactsShape,
    RecalledShape,
    SharedShape,
    TrustedShape,
)
from ratchet.serving.shapes.machine import (
    CheckShape,
    CompactedShape,
    DemoShape,
    HomeShape,
    InstalledShape,
    IsolationShape,
    KnownModelShape,
    MadeTokenShape,
    MigratedShape,
    RatchetVersionShape,
    RedisStateShape,
    ServiceShape,
    SyncedShape,
    TestedModelShape,
    TokenShape,
)
from ratchet.serving.shapes.prediction import PredictionShape
from ratchet.serving.shapes.scores import ScoreAnswerShape, ScorePlanShape
from ratchet.serving.shapes.served import PageShape
from ratchet.serving.shapes.sessions import SessionDetailShape, SessionsShape
from ratchet.serving.shapes.shape import Shape
from ratchet.serving.shapes.skills import FoundSkillShape, ReadSkillsShape, SkillShape
from ratchet.serving.shapes.tasks import EpisodeDetailShape, EpisodeShape, RanShape, RunShape
from ratchet.serving.shapes.trials import (
    ProposalShape,
    PulseShape,
    ReportShape,
    SettingsShape,
    TickShape,
    TrialDetailShape,
    TrialShape,
    VersionShape,
)
from ratchet.serving.shapes.used import (
    CostsShape,
    ForgottenShape,
    HandoffShape,
    ReplacedShape,
    SearchFoundShape,
    ToolWaysShape,
)
from ratchet.serving.shapes.watch import WatchShape

OUT = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py from the code. -->\n"
COMMANDS: dict[str, object] = {
    "compare PATH": list[ComparedFeatureShape],
    "services up": list[ServiceShape],
    "services down": list[ServiceShape],
    "services status": list[ServiceShape],
    "services rebuild": list[RedisStateShape],
    "models list": list[KnownModelShape],
    "models test": list[TestedModelShape],
    "init": HomeShape,
    "learn": LearnedShape,
    "watch-dir": PolledShape,
    "record": OutcomeIdShape,
    "classify TEXT": ClassificationShape,
    "patterns": list[PatternShape],
    "patterns show ID": PatternDetailShape,
    "patterns split SIGNATURE": SplitShape,
    "patterns resolve ID": PatternShape,
    "patterns ignore ID": PatternShape,
    "patterns mute ID": PatternShape,
    "patterns reopen ID": PatternShape,
    "patterns assign ID": PatternShape,
    "sessions list": SessionsShape,
    "sessions show ID": SessionDetailShape,
    "sessions search TEXT": SearchFoundShape,
    "sessions cost": CostsShape,
    "sessions how TOOL": ToolWaysShape,
    "sessions restore PATH": ReplacedShape,
    "sessions handoff ID": HandoffShape,
    "forget ID": ForgottenShape,
    "recall TEXT": RecalledShape,
    "predict TEXT": PredictionShape,
    "backtest": BacktestShape,
    "lessons list": list[LessonShape],
    "lessons facts": list[ProjectFactsShape],
    "lessons show ID": LessonShape,
    "lessons words": list[CorrectionShape],
    "lessons distill": DistilledShape,
    "lessons cure": list[CureShape],
    "lessons skills list": list[SkillShape],
    "lessons skills show NAME": SkillShape,
    "lessons skills make ID": SkillShape,
    "lessons skills export NAME": TrialShape,
    "lessons skills export NAME --dry-run": CureShape,
    "lessons skills read": ReadSkillsShape,
    "lessons skills trust NAME": FoundSkillShape,
    "lessons skills approve NAME": LessonShape,
    "lessons skills retire NAME": LessonShape,
    "lessons add": LessonShape,
    "lessons approve ID": LessonShape,
    "lessons retire ID": LessonShape,
    "lessons undo ID": LessonShape,
    "lessons quarantine ID": LessonShape,
    "lessons import FILE": ImportedShape,
    "lessons sync FILE": SyncedShape,
    "lessons share": SharedShape,
    "lessons trust": TrustedShape,
    "lessons trust --withdraw": DistrustedShape,
    "health": HealthShape,
    "report": ReportShape,
    "trials list": list[TrialShape],
    "trials show ID": TrialDetailShape,
    "trials open TARGET": TrialShape,
    "trials stop ID": TrialShape,
    "proposals list": list[ProposalShape],
    "proposals show ID": ProposalShape,
    "proposals approve ID": ProposalShape,
    "proposals reject ID": ProposalShape,
    "pulse list": list[PulseShape],
    "loop --once": TickShape,
    "settings show": list[SettingsShape],
    "settings history AGENT": list[VersionShape],
    "settings set AGENT": VersionShape,
    "settings revert AGENT": VersionShape,
    "install AGENT": InstalledShape,
    "uninstall AGENT": InstalledShape,
    "run": RunShape,
    "episodes list": list[EpisodeShape],
    "episodes show ID": EpisodeDetailShape,
    "episodes rewind ID": EpisodeShape,
    "ab": ComparisonShape,
    "sandbox exec": RanShape,
    "sandbox probe": list[IsolationShape],
    "bench check NAME": BenchCheckShape,
    "bench list": list[BenchmarkShape],
    "bench watch NAME": WatchShape,
    "bench show NAME": BenchmarkDetailShape,
    "bench show NAME TASK": BenchTaskShape,
    "bench show RUN": MeasuredBenchRunShape,
    "bench show RUN --evaluations": EvaluatedBenchRunShape,
    "bench grant DIR": GrantedShape,
    "bench run": MeasuredBenchRunShape,
    "bench history": list[PastBenchRunShape],
    "bench compare FIRST SECOND": BenchComparisonShape,
    "bench import SOURCE": ImportedBenchmarkShape,
    "gate keep FILE": ScoreAnswerShape,
    "gate status FILE": list[ScoreAnswerShape],
    "gate plan --gain G": ScorePlanShape,
    "evolve": EvolutionShape,
    "evolve list": list[EvolutionListedShape],
    "evolve show RUN": EvolutionDetailShape,
    "evolve tree RUN": EvolutionTreeShape,
    "evolve apply RUN": EvolutionPatchShape,
    "evolve revert RUN": EvolutionShape,
    "token add NAME": MadeTokenShape,
    "token list": list[TokenShape],
    "token revoke NAME": TokenShape,
    "migrate URL": MigratedShape,
    "compact": CompactedShape,
    "demo": DemoShape,
    "doctor": list[CheckShape],
    "version": RatchetVersionShape,
}
"""Each command that prints JSON, with its answer."""


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
    yield "`ratchet.toml`. The home folder's file may set every key but `home`; an unknown key is an error. The"
    yield "working directory's counts before it, but may set only keys marked under *folder*: a repository must not"
    yield "decide about code, money, destinations or what hooks obey. Its other keys cost one warning.\n"
    yield "Hooks obey what the last command that wrote has told them: after a change of `withheld_share` run"
    yield "`ratchet report`; `ratchet doctor` says where the two differ.\n"
    yield "| key | environment | folder | default | meaning |\n|---|---|---|---|---|"
    lines = inspect.getsource(Config).splitlines()
    for field in fields(Config):
        at = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{field.name}:"))
        meaning = " ".join("\n".join(lines[at + 1 :]).split('"""')[1].split())
        default = "`~/.ratchet`" if field.name == "home" else f"`{field.default}`"
        folder = "yes" if field.name in SHARED_KEYS else ""
        yield f"| `{field.name}` | `RATCHET_{field.name.upper()}` | {folder} | {default} | {meaning} |"
    yield ""
    yield "## Who is told\n"
    yield "Only from the environment, since all of these are secrets or lead to people:\n"
    yield "| environment | meaning |\n|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in NOTIFY.items())
    yield ""


def json_shapes() -> Iterator[str]:
    yield from (NOTE, "# JSON\n")
    yield "The command line (`--json`, on standard output), the HTTP API and the MCP tools answer the same shapes."
    yield "Times are Unix seconds, durations end in `_s`. More fields may come. An error of the command line is one"
    yield "line on standard error and an [exit code](command-line.md#exit-codes).\n"
    yield "## Answers\n"
    yield "| asked | answer |\n|---|---|"
    asked = [(f"ratchet {command} --json", hint) for command, hint in COMMANDS.items()]
    for what, hint in [*asked, *_routes(), *_tools()]:
        yield f"| `{what}` | {_type(hint)} |"
    yield ""
    yield "## Shapes\n"
    for kind in sorted(shapes(), key=_named):
        yield f"### {_named(kind)}\n"
        above = kind.__base__ if kind.__base__ is not Shape else None
        yield f"{inspect.getdoc(kind)}" + (f" All of {_type(above)}, and:\n" if above else "\n")
        yield "| field | type | meaning |\n|---|---|---|"
        hints = get_type_hints(kind)
        for field in fields(cast("Any", kind)):
            if field.name in kind.__annotations__:
                yield f"| `{field.name}` | {_type(hints[field.name])} | {field.metadata['description']} |"
        yield ""


def shapes() -> set[type[Shape]]:
    """All shapes that there are."""
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
    found, left = set[type[Shape]](), [Shape]
    while left:
        below = left.pop().__subclasses__()
        found.update(below)
        left += below
    return found


def _routes() -> Iterator[tuple[str, object]]:
    """Method and path of each route of the API, with its answer."""
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, APIRoute) and route.response_model is not None:
                yield from ((f"{method} {route.path}", route.response_model) for method in sorted(route.methods))


def _tools() -> Iterator[tuple[str, object]]:
    """Each MCP tool, with its answer."""
    for kind in (Tools, TaskTools):
        for name, tool in vars(kind).items():
            if not name.startswith("_"):
                answer = get_type_hints(tool, include_extras=True)["return"].__metadata__[0]
                yield f"{name} (MCP)", answer.model_fields["root"].annotation


def _named(kind: type[Shape]) -> str:
    return kind.__name__.removesuffix("Shape")


def _type(hint: Any) -> str:
    """A type as people read it: `[x]` is a list of x, `x?` may be null."""
    inner = [_type(each) for each in get_args(hint) if each is not NoneType]
    origin = get_origin(hint)
    if origin is PageShape:
        return f"[Page](#page) of {inner[0]}"
    if origin in (list, Sequence):
        return f"list of {inner[0]}"
    if origin is dict:
        return f"{inner[1]} by name"
    if inner:
        return f"{inner[0]} or null"
    if isinstance(hint, type) and issubclass(hint, Shape):
        return f"[{_named(hint)}](#{_named(hint).lower()})"
    return {bool: "true or false", str: "text", int: "number", float: "number"}.get(hint, "any JSON")


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
