"""Name what is asked for by a name that is not there, of the program or of a package: no small edit writes it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ratchet.healing.episode import Verdict
from ratchet.healing.judges.protection import is_test
from ratchet.healing.judges.readers import texts_in
from ratchet.healing.solvers.unreadable import unreadable
from ratchet.healing.testruns import reading

_ASKED = re.compile(
    r"^E +(?:AttributeError: module '([\w.]+)' has no attribute '(\w+)'"
    r"|ImportError: cannot import name '(\w+)' from '([\w.]+)').*\n",
    re.MULTILINE,
)
# pytest names the place below a failure, or, of a file that cannot be collected and with `--tb=short`, above it.
_BELOW = re.compile(r"(?:E .*\n|\s*\n)*(\S+\.py:\d+): \w+")
_ABOVE = re.compile(r"^(\S+\.py:\d+): in ", re.MULTILINE)


def beyond_edits(verdict: Verdict, project: Path) -> str:
    """Say why no small edit can mend a failure, in one line that ends in what to do; "" where one may."""
    return unreadable(verdict, reading(project)) or unwritten(verdict, project) or outgrown(verdict, project)


def unwritten(verdict: Verdict, project: Path) -> str:
    """Name what all failing tests ask for, in one line that ends in what to do; "" where something else is wrong: a
    name that a file of the program holds may be misspelt, or lie elsewhere."""
    failed = max(1, len(verdict.tests.failed_ids)) if verdict.tests else 1
    matches = _ASKED.finditer(verdict.output)
    asked = [(each[1] or each[4], each[2] or each[3], _place(verdict.output, each)) for each in matches]
    if len(asked) < failed or not all(
        is_test(at.partition(":")[0]) and _is_own(name, project) for name, _, at in asked
    ):
        return ""
    names = re.compile("|".join(rf"\b{re.escape(name)}\b" for _, name, _ in asked))
    for path, content in texts_in(project).items():
        if path.endswith(".py") and not is_test(path) and names.search(content.decode(errors="replace")):
            return ""
    module, name, at = asked[0]
    told = f"{at} asks for `{name}` of the module {module}, and no file of the program holds that name"
    return f"{told}: it has to be written first, by hand or with --solver model, --solver command:WORDS"


def outgrown(verdict: Verdict, project: Path) -> str:
    """Name what all files that cannot be collected want of another package, whose version here does not have it, in one
    line that ends in what to do; "" where something else is wrong."""
    found: dict[str, str] = {}
    for file, told in verdict.uncollected.items():
        asked = next((each for each in _ASKED.finditer(f"{told}\n") if each[3] and not _is_own(each[4], project)), None)
        if asked is not None and (place := _place(told, asked)):
            package, name = asked[4].partition(".")[0], asked[3]
            here = f"Python {verdict.python}" if verdict.python else "the Python of the check"
            if package in sys.stdlib_module_names:
                how = f"{here} does not have: run the tests under another Python"
            else:
                how = f"the {package} of {here} does not have: install another version of {package}"
            found[file] = f"{place} imports `{name}` from {asked[4]}, which {how}"
    failed = verdict.tests.failed_ids if verdict.tests else ()
    if not found or not found.keys() >= {*failed}:
        return ""
    return f"{next(iter(found.values()))}, or mend that line by hand or with --solver model, --solver command:WORDS"


def _place(output: str, found: re.Match[str]) -> str:
    below = _BELOW.match(output, found.end())
    above = _ABOVE.findall(output, 0, found.start())
    return str(below[1] if below else above[-1] if above else "")


def _is_own(module: str, project: Path) -> bool:
    path = module.replace(".", "/")
    places = [base / path for base in (project, project / "src", project / "lib")]
    return any(each.with_suffix(".py").is_file() or (each / "__init__.py").is_file() for each in places)
