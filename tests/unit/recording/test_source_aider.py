"""aider's chat histories: what counts as a step, and what an edit changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.ports import Read
from ratchet.recording.sources import source_for
from ratchet.recording.sources.aider import Aider
from ratchet.records import MessageTokens, Outcome, Row, Saying

HISTORY = """
# aider chat started at 2026-02-01 10:00:00

> /usr/bin/aider --model gpt-x
> Aider v0.86.2
> Main model: openai/gpt-x with diff edit format
> Git repo: .git with 2 files

#### /add a.py
> Added a.py to the chat

#### make it add, not subtract
####   and keep the name

I will do that.

## A heading of the answer

a.py
```python
<<<<<<< SEARCH
    return a - b
=======
    return a + b
>>>>>>> REPLACE
```

> Tokens: 2.4k sent, 91 received. Cost: $0.0085 message, $0.0085 session.
> Applied edit to a.py
> # Fix any errors below, if possible.
>
> ## Running: flake8 --select=F821 a.py
>
> a.py:2:12: F821 undefined name 'b'
>
> ## See relevant line below marked with █.
> Attempt to fix lint errors? (Y)es/(N)o [Yes]: y

a.py
```python
<<<<<<< SEARCH
def f(a):
=======
def f(a, b):
>>>>>>> REPLACE
```

> Tokens: 1,200 sent, 1.1k cache hit, 40 received.
> The LLM did not conform to the edit format.
> https://aider.chat/docs/troubleshooting/edit-errors.html
> # 1 SEARCH/REPLACE block failed to match!

## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in a.py
<<<<<<< SEARCH
def f(a):
=======
def f(a, b):
>>>>>>> REPLACE

The SEARCH section must exactly match an existing block of lines including all white space, comments, indentation

b.py
```python
<<<<<<< SEARCH
=======
x = 1
>>>>>>> REPLACE
```

> Applied edit to b.py
> Running pytest -q

#### no, use addition
> litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for gpt-x. Try again in 2s
> Retrying in 0.2 seconds...
"""


def written(folder: Path, text: str) -> Path:
    """The history as aider writes it: what a person said and what it prints itself ends in two blanks."""
    path = folder / ".aider.chat.history.md"
    lines = [f"{line}  " if line.startswith(("#### ", "> ")) else line for line in text.split("\n")]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def read(path: Path, *, cut: int | None = None) -> list[Read]:
    whole = path.read_bytes()
    found: list[Read] = []
    carry: Row = {}
    offset = 0
    for end in (len(whole),) if cut is None else (cut, len(whole)):
        path.write_bytes(whole[:end])
        for piece in Aider().read(str(path), offset, carry):
            found.append(piece)
            offset = piece.offset
        carry = json.loads(json.dumps(carry))
    return found


def outcomes(pieces: list[Read]) -> list[Outcome]:
    held = {item.id: item for piece in pieces for item in piece.items if isinstance(item, Outcome)}
    return list(held.values())


def test_edits_findings_and_failed_calls_of_the_model_are_steps(tmp_path: Path) -> None:
    path = written(tmp_path, HISTORY)
    assert source_for(str(path)).name == "aider"
    found = outcomes(read(path))
    told = [(each.task, each.ok, each.step.target if each.step else "") for each in found]
    assert told == [
        ("edit", True, "a.py"),
        ("bash", False, ""),
        ("edit", False, "a.py"),
        ("edit", True, "b.py"),
        ("model", False, ""),
    ]
    lint, unmet = found[1], found[2]
    assert lint.step is not None
    assert lint.failure is not None
    assert lint.step.input == "flake8 --select=F821 a.py"
    assert lint.failure.message == "a.py:2:12: F821 undefined name 'b'"
    assert unmet.failure is not None
    assert "SearchReplaceNoExactMatch" in unmet.failure.message
    assert {each.model for each in found} == {"openai/gpt-x"}
    assert {each.project for each in found} == {str(tmp_path)}
    assert len({each.session for each in found}) == 1


def test_an_applied_edit_says_what_it_changed(tmp_path: Path) -> None:
    first, *_, second = [each for each in outcomes(read(written(tmp_path, HISTORY))) if each.ok]
    assert first.step is not None
    assert first.step.change == "-     return a - b\n+     return a + b"
    assert second.step is not None
    assert second.step.change == "+ x = 1"


def test_a_persons_words_and_the_tokens_of_answers_are_kept(tmp_path: Path) -> None:
    items = [item for piece in read(written(tmp_path, HISTORY)) for item in piece.items]
    said = [item.text for item in items if isinstance(item, Saying) and item.who == "person"]
    assert said == ["make it add, not subtract\n  and keep the name", "no, use addition"]
    tokens = [(item.given, item.made) for item in items if isinstance(item, MessageTokens)]
    assert tokens == [(2400, 91), (1200, 40)]


@pytest.mark.parametrize("share", [number / 23 for number in range(1, 23)])
def test_a_file_read_while_it_grows_holds_what_it_holds_at_once(tmp_path: Path, share: float) -> None:
    path = written(tmp_path, HISTORY)
    whole = [(each.id, each.ok, each.task) for each in outcomes(read(path))]
    size = path.stat().st_size
    grown = [(each.id, each.ok, each.task) for each in outcomes(read(path, cut=int(share * size)))]
    assert grown == whole


def test_a_secret_in_an_edit_waits_nowhere(tmp_path: Path) -> None:
    path = written(tmp_path, HISTORY.replace("return a + b", 'password = "hunter2hunter2"'))
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b"> Tokens: 2.4k")])
    carry: Row = {}
    list(Aider().read(str(path), 0, carry))
    assert "blocks" in carry
    assert "hunter2" not in json.dumps(carry)


def test_a_chat_in_which_nothing_was_done_is_said_to_have_taught_nothing(tmp_path: Path) -> None:
    path = written(
        tmp_path, "\n# aider chat started at 2026-02-01 10:00:00\n\n> Aider v0.86.2\n\n#### hello\n\nHello!\n"
    )
    *_, last = read(path)
    assert "none of them a finished step" in last.note
