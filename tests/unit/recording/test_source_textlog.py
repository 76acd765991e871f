"""Plain logs: one failure per entry, whatever language wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.recording.sources.textlog import TextLog
from support.histories import Taught, read

SOURCE = TextLog()

PYTHON = """\
Traceback (most recent call last):
  File "/app/cart.py", line 12, in add
    total += item.price
AttributeError: 'NoneType' object has no attribute 'price'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    run()
shop.errors.CartError: cart 7 is broken
"""
JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: no cart
\tat com.shop.Cart.add(Cart.java:12)
\tat com.shop.Main.main(Main.java:3)
Caused by: java.lang.NullPointerException: price
\tat com.shop.Item.price(Item.java:4)
\t... 2 more
"""
NODE = """\
/app/index.js:3
    throw new TypeError('no cart');
    ^

TypeError: no cart
    at add (/app/index.js:3:11)
    at Object.<anonymous> (/app/index.js:6:1)

Node.js v20.1.0
"""
GO = """\
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.add(0xc0000140a8, 0x3)
\t/app/main.go:12 +0x1d
main.main()
\t/app/main.go:5 +0x20
exit status 2
"""
RUST = """\
thread 'main' panicked at src/main.rs:4:5:
index out of bounds: the len is 3 but the index is 5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""


def log(path: Path, text: str) -> Taught:
    path.write_text(text, encoding="utf-8")
    return read(SOURCE, path)


@pytest.mark.parametrize(
    ("trace", "name", "last"),
    [
        (PYTHON, "shop.errors.CartError", "CartError: cart 7 is broken"),
        (JAVA, "", "2 more"),
        (NODE, "TypeError", "index.js:6:1"),
        (GO, "", "exit status 2"),
        (RUST, "", "RUST_BACKTRACE=1"),
    ],
)
def test_a_traceback_is_one_failure_with_all_that_belongs_to_it(
    tmp_path: Path, trace: str, name: str, last: str
) -> None:
    taught = log(tmp_path / "worker.log", f"starting\n{trace}all done\n")
    found = taught.only
    assert found.failure is not None
    assert last in found.failure.message
    assert "all done" not in found.failure.message
    assert (found.agent, found.ok) == ("worker", False)
    assert name in found.failure.type


def test_two_tracebacks_in_a_row_are_two_failures(tmp_path: Path) -> None:
    one = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    x\nNameError: x\n'
    assert len(log(tmp_path / "a.log", one + one).outcomes) == 2


@pytest.mark.parametrize(
    ("line", "writer", "said"),
    [
        ("2026-02-01 10:00:00,123 - shop.cart - ERROR - cart 7 is broken", "shop.cart", "cart 7 is broken"),
        ("2026-02-01T10:00:00.5Z ERROR [main] com.shop.Cart - cart 7 is broken", "com.shop.Cart", "cart 7 is broken"),
        ("[2026-02-01 10:00:00 +0000] [17] [ERROR] cart 7 is broken", "", "cart 7 is broken"),
        ("2026/02/01 10:00:00 [error] 17#17: *4 cart 7 is broken", "", "cart 7 is broken"),
        ('time="2026-02-01T10:00:00Z" level=error msg="cart 7 is broken"', "", "cart 7 is broken"),
        ("ERROR:shop.cart:cart 7 is broken", "shop.cart", "cart 7 is broken"),
        ("CRITICAL cart 7 is broken", "", "cart 7 is broken"),
        ("Feb  1 10:00:00 host shopd[17]: ERROR cart 7 is broken", "shopd", "cart 7 is broken"),
        ("[Sun Feb 01 10:00:00 2026] [error] cart 7 is broken", "", "cart 7 is broken"),
        ("E0201 10:00:00.123456   17 cart.go:12] cart 7 is broken", "cart", "cart 7 is broken"),
        ("2026-02-01 10:00:00 FATAL cart 7 is broken", "", "cart 7 is broken"),
    ],
)
def test_a_line_of_a_failing_level_is_a_failure(tmp_path: Path, line: str, writer: str, said: str) -> None:
    taught = log(tmp_path / "a.log", f"INFO fine\n{line}\nINFO fine again\n")
    found = taught.only
    assert found.failure is not None
    assert said in found.failure.message
    assert "fine again" not in found.failure.message
    if writer:
        assert found.task == writer
    assert SOURCE.claims(line.encode()) or line.startswith("time=")


def test_times_are_read_from_the_line(tmp_path: Path) -> None:
    text = "2026-02-01 10:00:00,500 ERROR a\n2026-02-01T12:00:01+02:00 ERROR b\n[Sun Feb 01 10:00:02 2026] [error] c\n"
    times = [found.started_at for found in log(tmp_path / "a.log", text).outcomes]
    assert times == [1769940000.5, 1769940001.0, 1769940002.0]


def test_a_traceback_below_its_log_line_is_one_failure(tmp_path: Path) -> None:
    text = f"2026-02-01 10:00:00 ERROR shop: adding failed\n{PYTHON}2026-02-01 10:00:01 INFO shop: next\n"
    found = log(tmp_path / "a.log", text).only
    assert found.failure is not None
    assert "adding failed" in found.failure.message
    assert found.failure.type == "shop.errors.CartError"
    prefixed = "".join(f"2026-02-01T10:00:00Z {line}\n" for line in PYTHON.split("\n"))
    assert log(tmp_path / "b.log", prefixed).only.failure is not None


def test_a_failing_level_inside_a_message_is_no_failure(tmp_path: Path) -> None:
    taught = log(tmp_path / "a.log", "2026-02-01 10:00:00 INFO handler: ERROR count=0\n2026-02-01 10:00:01 WARN x\n")
    assert not taught.outcomes
    assert not taught.bad
    assert "none reports a failure" in taught.note


def test_a_text_that_is_no_log_is_an_error(tmp_path: Path) -> None:
    taught = log(tmp_path / "a.txt", "once upon a time\nthere was a cart\n")
    assert [piece.line for piece in taught.bad] == [0]
    assert not SOURCE.claims(b"once upon a time\n")
    assert not SOURCE.claims(b"ERROR \0\0")


def test_reading_again_adds_nothing_and_a_growing_log_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("2026-02-01 10:00:00 ERROR a\n2026-02-01 10:00:01 INFO b\n2026-02-01 10:00:02 ERROR c\n")
    first = read(SOURCE, path)
    again = read(SOURCE, path, first.offset, first.carry)
    assert set(again.ids) <= set(first.ids)
    with path.open("a") as file:
        file.write(PYTHON + "2026-02-01 10:00:03 ERROR d\n")
    then = read(SOURCE, path, again.offset, again.carry)
    assert len(set(then.ids) - set(first.ids)) == 1
    assert {*first.ids, *then.ids} == set(read(SOURCE, path).ids)


def test_invalid_bytes_and_long_lines_are_survived(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(
        b"2026-02-01 10:00:00 ERROR \xff\xfe caf\xe9 " + b"x" * 3_000_000 + b"\n" + b"(" * 1_000_000 + b"\n"
    )
    found = read(SOURCE, path).only
    assert found.failure is not None
    assert len(found.failure.message) < 5000
