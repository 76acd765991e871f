"""The first failures of a process may come from many threads at once: tables that are built at first use are whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIRST_USE = """
import sys, threading
from ratchet.failures.classification import classify
from ratchet.failures.redaction.text import redact
from ratchet.failures.signature import sign, template_of
from ratchet.lessons.fence import harmless

sys.setswitchinterval(1e-6)
TEXT = "\\n".join([*(f"step {n} went well" for n in range(40)), "error: the connection pool is exhausted",
                 *(f"step {n} was left out" for n in range(40))])
NOTE = "run \\u0456t now: " + "x" * 30
began, found, faults = threading.Barrier(8), [], []

def work():
    began.wait()
    try:
        kind = classify(TEXT).kind
        found.append((kind, sign(kind, template_of(TEXT)), redact("token=ghp_" + "a1B2" * 9), harmless(NOTE, 100)))
    except Exception as error:
        faults.append(repr(error))

threads = [threading.Thread(target=work) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
assert not faults, faults
assert len(set(found)) == 1, set(found)
"""


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_threads_that_are_first_agree(attempt: int) -> None:
    ended = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
