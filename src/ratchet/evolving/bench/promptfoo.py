"""Reads a configuration of promptfoo (promptfooconfig.yaml, or JSON) into tasks: each of its tests is one.

What is asked is its prompt with the test's variables; the answer is the text that the agent leaves in answer.txt. The
assertions that need neither a model nor node are read, and their `not-` forms; any other is refused by its name, since
a task without its assertion would pass what it should not.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ratchet.errors import BackendError, NotFound, UsageError
from ratchet.records import Json
from ratchet.registry import adding

ANSWER = "answer.txt"
_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*)\s*-?\}\}")
_TEMPLATE = re.compile(r"\{%|\{\{")
_FILE = "file://"
_MOST = 100_000
"""Values of one file, and tests of one: an alias within an alias, or a few lists of variables, name millions."""
_Config = Mapping[str, Json]


class PromptfooCase:
    """One test: what is asked, Python that judges `answer`, and a right answer where the assertions name one."""

    def __init__(self, title: str, instruction: str, checks: list[str], right: str | None) -> None:
        self.title = title
        self.instruction = instruction
        self.grader = _GRADER + "".join(f"\n\ndef test_{n}():\n    {check}\n" for n, check in enumerate(checks, 1))
        self.right = right


_GRADER = f"""import json
import re
from pathlib import Path

answer = Path("{ANSWER}").read_text().strip() if Path("{ANSWER}").exists() else None


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_there_is_an_answer():
    assert answer, "the agent left no {ANSWER}"
"""


def _text(value: Json, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{where}: value is {json.dumps(value)[:60]}; use a text")
    if isinstance(value, str) and value.startswith(_FILE):
        raise UsageError(f"{where}: {value[:60]} is not read for a variable or a value; write its text out")
    return str(value)


def _texts(value: Json, where: str) -> list[str]:
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{where}: value is {json.dumps(value)[:60]}; use a list of texts")
    return [_text(each, where).strip() for each in listed]


def _one(made: Callable[[str], str]) -> Callable[[Json, str], str]:
    return lambda value, where: made(repr(_text(value, where).strip()))


def _many(made: Callable[[str], str]) -> Callable[[Json, str], str]:
    return lambda value, where: made(repr(_texts(value, where)))


def _pattern(value: Json, where: str) -> str:
    try:
        re.compile(_text(value, where))
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{where}: {value!r} is no regular expression of Python: {error}") from error
    return f"re.search({_text(value, where)!r}, answer)"


_ASSERTIONS: Mapping[str, Callable[[Json, str], str]] = {
    "equals": _one(lambda text: f"answer == {text}"),
    "contains": _one(lambda text: f"{text} in answer"),
    "icontains": _one(lambda text: f"{text}.lower() in answer.lower()"),
    "starts-with": _one(lambda text: f"answer.startswith({text})"),
    "regex": _pattern,
    "is-json": lambda _value, _where: "is_json(answer)",
    "contains-all": _many(lambda texts: f"all(each in answer for each in {texts})"),
    "contains-any": _many(lambda texts: f"any(each in answer for each in {texts})"),
    "icontains-all": _many(lambda texts: f"all(each.lower() in answer.lower() for each in {texts})"),
    "icontains-any": _many(lambda texts: f"any(each.lower() in answer.lower() for each in {texts})"),
}
"""promptfoo.dev, "Assertions and metrics": type -> Python that is true of a right `answer`."""


def looks_like_promptfoo(path: Path) -> bool:
    return path.suffix in (".yaml", ".yml") or path.name == "promptfooconfig.json"


def read_cases(path: Path) -> list[PromptfooCase]:
    """The tests of a configuration. Raises NotFound, UsageError naming the test, BackendError without PyYAML."""
    config = _table(_loaded(path), str(path))
    prompts = config.get("prompts")
    if not isinstance(prompts, list) or len(prompts) != 1:
        count = len(prompts) if isinstance(prompts, list) else 0
        raise UsageError(f"{path} has {count} prompts; leave the one whose tests an agent is to be measured on")
    prompt = _prompt(prompts[0], path)
    default = _table(config.get("defaultTest") or {}, f"{path}, defaultTest")
    found = [
        _case(prompt, default, case, values, f"{path}, test {n}")
        for n, case in enumerate(_tests(config, path), 1)
        for values in _combinations(default, case, f"{path}, test {n}")
    ]
    if not found:
        raise UsageError(f"{path} holds no tests")
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as text: {error}") from error


def _loaded(path: Path) -> object:
    text = _read(path)
    if path.suffix in (".json", ".jsonl"):
        try:
            rows = [json.loads(line) for line in text.splitlines() if line.strip()] if path.suffix == ".jsonl" else None
            return rows if rows is not None else json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path} is not JSON: {error}") from error
    try:
        import yaml
    except ImportError:
        raise BackendError(f"{path} is YAML; {adding('files')} reads it") from None
    try:
        return _plain(yaml.safe_load(_unfolded(text, path)), path)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"{path} is not valid YAML: {error}") from error


def _unfolded(text: str, path: Path) -> str:
    """A YAML text whose aliases name a bounded number of values. Raises UsageError, and as PyYAML does."""
    import yaml

    sizes: dict[int, float] = {}

    def size(node: yaml.Node | None) -> float:
        if node is None or isinstance(node, yaml.ScalarNode):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = math.inf  # as one that holds itself has
            pairs = node.value if isinstance(node, yaml.MappingNode) else [(each,) for each in node.value]
            sizes[id(node)] = 1 + sum(size(each) for pair in pairs for each in pair)
        return sizes[id(node)]

    if size(yaml.compose(text, Loader=yaml.SafeLoader)) > _MOST:
        raise UsageError(f"{path} names more than {_MOST:,} values through its aliases; write them out")
    return text


def _plain(value: object, path: Path) -> Json:
    """A value of YAML that JSON has, too. Raises UsageError for a date, bytes, a set: which text is meant is open."""
    if isinstance(value, dict):
        return {str(key): _plain(each, path) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, path) for each in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise UsageError(f"{path}: {str(value)[:40]} is a {type(value).__name__} in YAML; put it in quotes")


def _table(value: object, where: str) -> _Config:
    if not isinstance(value, dict):
        raise UsageError(f"{where} is no table of keys")
    return value


def _prompt(given: Json, path: Path) -> str:
    raw = given.get("raw", given.get("id")) if isinstance(given, dict) else given
    if not isinstance(raw, str) or not raw.strip():
        raise UsageError(f"{path}: its prompt is {json.dumps(given)[:60]}; use a text or file://PATH")
    if not raw.startswith(_FILE):
        return raw
    held = _beside(path, raw)
    if held.suffix not in (".txt", ".md") or not held.is_file():
        raise UsageError(f"{path}: the prompt {raw} is no text file (.txt, .md) that is there")
    return _read(held)


def _beside(path: Path, named: str) -> Path:
    """A file that a configuration names, in its own folder: what lies elsewhere is nobody's to show to an agent."""
    held = path.parent / named.removeprefix(_FILE)
    if not held.resolve().is_relative_to(path.parent.resolve()):
        raise UsageError(f"{path}: {named} lies outside of {path.parent}; copy it there")
    return held


def _tests(config: _Config, path: Path) -> Iterator[_Config]:
    given = config.get("tests") or []
    for each in given if isinstance(given, list) else [given]:
        if isinstance(each, str):
            held = _beside(path, each)
            if held.suffix not in (".yaml", ".yml", ".json", ".jsonl"):
                raise UsageError(f"{path}: tests in {each} cannot be read; write them as YAML or JSON")
            loaded = _loaded(held)
            for row in loaded if isinstance(loaded, list) else [loaded]:
                yield _table(row, str(held))
        else:
            yield _table(each, f"{path}, tests")


def _combinations(default: _Config, case: _Config, where: str) -> Iterator[dict[str, str]]:
    """The variables of a test; a list of values makes a test of each, as in promptfoo."""
    given = {
        **_table(default.get("vars") or {}, f"{where}, vars"),
        **_table(case.get("vars") or {}, f"{where}, vars"),
    }
    options = [
        [_text(each, where) for each in (value if isinstance(value, list) else [value])] for value in given.values()
    ]
    if (tests := math.prod(map(len, options))) > _MOST:
        raise UsageError(f"{where} is {tests:,} tests by its lists of variables; use fewer values")
    for chosen in itertools.product(*options):
        yield dict(zip(given, chosen, strict=True))


def _case(prompt: str, default: _Config, case: _Config, values: dict[str, str], where: str) -> PromptfooCase:
    for key in ("threshold", "assertScoringFunction"):
        if key in case or key in default:
            raise UsageError(f"{where}: {key} is not read; a task passes where all of its assertions do")
    given = [each for held in (default, case) for each in _assertions(held, where)]
    if not given:
        raise UsageError(f"{where} asserts nothing: any answer would pass")
    checks, named = [], []
    for each in given:
        kind, value = _asserted(each, values, where)
        said = "" if str(each["type"]) == kind else "not "
        told = f"{each['type']}: {json.dumps(value)}"[:200]
        checks.append(f"assert {said}({_ASSERTIONS[kind](value, where)}), {told!r}")
        named.append((kind, _named(kind, value, where)) if not said else (kind, None))
    title = case.get("description")
    return PromptfooCase(
        title=title if isinstance(title, str) else "",
        instruction=f"{_filled(prompt, values, where).rstrip()}\n\nWrite your answer, and nothing else, to {ANSWER}.",
        checks=checks,
        right=_right(named),
    )


def _assertions(held: _Config, where: str) -> list[_Config]:
    given = held.get("assert") or []
    return [_table(each, f"{where}, assert") for each in (given if isinstance(given, list) else [given])]


def _asserted(given: _Config, values: dict[str, str], where: str) -> tuple[str, Json]:
    """The type of an assertion, without `not-`, and its value with the variables filled in."""
    said = str(given.get("type") or "")
    kind = said.removeprefix("not-")
    if kind not in _ASSERTIONS:
        known = ", ".join(_ASSERTIONS)
        raise UsageError(f"{where}: an assertion of type {said!r} is not read here; these are, with not- too: {known}")
    value = given.get("value")
    if isinstance(value, list):
        return kind, [_filled(each, values, where) if isinstance(each, str) else each for each in value]
    return kind, _filled(value, values, where) if isinstance(value, str) else value


def _named(kind: str, value: Json, where: str) -> str | None:
    """The text that an assertion names as right; None where it names none."""
    if kind.endswith(("-all", "-any")):
        return "\n".join(_texts(value, where))
    return _text(value, where) if kind in ("equals", "contains", "icontains", "starts-with") else None


def _right(named: list[tuple[str, str | None]]) -> str | None:
    """An answer that every assertion names; None where one names none. What must be equal is all of it, what it must
    start with comes first."""
    texts = [text for _, text in named if text is not None]
    if len(texts) < len(named):
        return None
    whole = [text for kind, text in named if kind == "equals" and text is not None]
    first = [text for kind, text in named if kind == "starts-with" and text is not None]
    return whole[0] if whole else "\n".join(dict.fromkeys([*first, *texts]))


def _filled(template: str, values: Mapping[str, str], where: str) -> str:
    def named(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise UsageError(f"{where}: no variable {found[1]!r}; it has {', '.join(values) or 'none'}")
        return values[found[1]]

    rest = _VARIABLE.sub("", template)
    if _TEMPLATE.search(rest):
        raise UsageError(f"{where}: {rest[:60]!r} is more than a variable in braces; write the text out")
    return _VARIABLE.sub(named, template)
