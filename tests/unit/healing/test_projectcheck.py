"""A project's own check, and checks as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.errors import UsageError
from ratchet.healing.project_check import argv_of, own_check


@pytest.mark.parametrize(
    ("files", "argv"),
    [
        ({"tests/test_a.py": ""}, "python -m pytest -q"),
        ({"test_a.py": ""}, "python -m pytest -q"),
        ({"tests/unit/test_a.py": ""}, "python -m pytest -q"),
        ({"pytest.ini": "[pytest]\n"}, "python -m pytest -q"),
        ({"setup.cfg": "[tool:pytest]\n"}, "python -m pytest -q"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python -m pytest -q"),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, "npm test --silent"),
        ({"Cargo.toml": ""}, "cargo test"),
        ({"go.mod": ""}, "go test ./..."),
        ({"sum.js": "", "sum.test.js": "const test = require('node:test')"}, "node --test"),
        ({"package.json": "{}", "test/sum.test.mjs": 'import assert from "node:assert/strict"'}, "node --test"),
        ({"Makefile": "build:\n\ttrue\ntest: build\n\ttrue\n"}, "make test"),
        (
            {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}', "go.mod": ""},
            "go test ./...",
        ),
        ({"tests/test_a.py": "", "Makefile": "test:\n"}, "python -m pytest -q"),
        ({"test.py": "", "slug/__init__.py": ""}, "python -m pytest -q test.py"),
        ({"shop/__init__.py": "", "shop/tests/test_a.py": ""}, "python -m pytest -q"),
        ({"src/shop/__init__.py": "", "src/shop/till/test/test_a.py": ""}, "python -m pytest -q"),
    ],
)
def test_the_own_check_is_found(tmp_path: Path, files: dict[str, str], argv: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = own_check(tmp_path)
    assert found is not None
    assert found.text == argv
    assert (tmp_path / found.found).exists()


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "make test"},
        {"node_modules/a/tests/test_a.py": "", "venv/lib/a/__init__.py": "", "venv/lib/a/tests/test_a.py": ""},
        {"Makefile": "TESTS := a\ntests:\n\ttrue\n"},
        {"package.json": "no JSON"},
        {"pyproject.toml": "not [ TOML"},
        {"package.json": '{"scripts": []}'},
        {"sum.test.js": "test('adds', () => {})", "node_modules/a/a.test.js": "require('node:test')"},
    ],
)
def test_where_nothing_tells_of_a_check_none_is_made_up(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert own_check(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("pytest -q tests/test_a.py::test_b[1]", ("pytest", "-q", "tests/test_a.py::test_b[1]")),
        ("pytest -k 'a and not b'", ("pytest", "-k", "a and not b")),
        ("cd x && make test", ("sh", "-c", "cd x && make test")),
        ("CI=1 npm test", ("sh", "-c", "CI=1 npm test")),
        ("pytest 'a.py::b[x|<lambda>-$(y)]'", ("pytest", "a.py::b[x|<lambda>-$(y)]")),
        ('pytest -k "a and (b or c)"', ("pytest", "-k", "a and (b or c)")),
        ('pytest "$X"', ("sh", "-c", 'pytest "$X"')),
        ("while true; do :; done", ("sh", "-c", "while true; do :; done")),
    ],
)
def test_a_check_is_split_as_a_shell_does_and_handed_to_one_where_it_needs_one(
    text: str, argv: tuple[str, ...]
) -> None:
    assert argv_of(text) == argv


@pytest.mark.parametrize("text", ["", "  ", "pytest 'unclosed"])
def test_what_is_no_command_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        argv_of(text)
