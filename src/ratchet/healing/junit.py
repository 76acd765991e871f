"""Read which tests failed in an earlier job, from the JUnit file that it left."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path, PurePosixPath

from ratchet.errors import UsageError

_LARGEST_BYTES = 50_000_000
_MOST = 200  # failing tests that are named; with more, all tests are run


def failed_in(file: Path, folder: Path) -> tuple[str, ...]:
    """Ids of pytest for the tests that failed, as far as their files are in the project; () where one is not, or there
    are very many: then all tests are to be run. Raises UsageError for what is no such file."""
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            raise UsageError(f"{file} is too large to be a report of tests")
        text = file.read_text(encoding="utf-8", errors="replace")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:  # no runner writes one, and it can name other files
            raise UsageError(f"{file} is no JUnit report: it declares entities")
        root = ElementTree.fromstring(text)  # noqa: S314  (without entities there is nothing to expand)
    except (OSError, ElementTree.ParseError) as error:
        raise UsageError(f"{file} cannot be read as a JUnit report: {error}") from error
    bad = [case for case in root.iter("testcase") if case.find("failure") is not None or case.find("error") is not None]
    found = [_id(case, folder) for case in bad]
    return tuple(dict.fromkeys(found)) if all(found) and len(found) <= _MOST else ()


def _id(case: ElementTree.Element, folder: Path) -> str:
    """The id of a test case: by its file where the runner says it, else by the module in its class; "" for none."""
    name, parts = case.get("name", ""), [each for each in case.get("classname", "").split(".") if each]
    said = case.get("file")
    if said and (folder / said).is_file() and not PurePosixPath(said).is_absolute():
        module = [*PurePosixPath(said).with_suffix("").parts]
        classes = parts[len(module) :] if parts[: len(module)] == module else []
        return "::".join([said, *classes, name])
    for at in range(len(parts), 0, -1):
        path = "/".join(parts[:at]) + ".py"
        if (folder / path).is_file():
            return "::".join([path, *parts[at:], name])
    return ""
