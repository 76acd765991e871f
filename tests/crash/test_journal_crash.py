"""Kill the writers at random moments: what was acknowledged is in the store, once; the rest costs itself."""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from ratchet.ports import Store
from ratchet.recording.drain import drain
from ratchet.recording.journal import segments
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore

WRITERS = 4

# Acknowledges on its standard output what `append` said is safe; forks in the middle, and the child writes on too.
WRITER = """
import os, sys
from ratchet.ids import uuid7
from ratchet.recording.journal import Journal

home, shared, size = sys.argv[1], sys.argv[2] == "shared", int(sys.argv[3])
journal = Journal(home, shared=shared, segment_bytes=size)
written = 0
while True:
    if written == 50:
        os.fork()
    name = uuid7()
    row = {"r": "outcome", "id": name, "agent": "a", "ok": True, "started_at": 1.0, "task": "x" * (written % 700)}
    if journal.append(row):
        os.write(1, f"{name}\\n".encode())
    written += 1
"""

# Drains again and again, to be killed as well.
DRAINER = """
import sys, time
from pathlib import Path
from ratchet.failures.patterns.ingest import ingest
from ratchet.recording.drain import drain
from ratchet.store.sqlite import SqliteStore

store = SqliteStore(Path(sys.argv[1]) / "ratchet.db")
while True:
    drain(store, sys.argv[1], ingest, time.time())
"""


@dataclass(frozen=True)
class Taken:
    new: Sequence[Row]


def insert(store: Store, rows: Sequence[Row]) -> Taken:
    return Taken([rows[i] for i in store.insert_new("outcomes", rows)])


def started(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], stdout=subprocess.PIPE, start_new_session=True
    )


def killed(process: subprocess.Popen[bytes]) -> None:
    """End a process and the children it forked, by its own group."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def acknowledged(writers: list[subprocess.Popen[bytes]], until: float) -> list[str]:
    """What the writers say is safe, read until that moment; then all are killed and the pipes emptied."""
    pipes = {writer.stdout.fileno(): bytearray() for writer in writers if writer.stdout is not None}
    while (left := until - time.monotonic()) > 0:
        for fd in select.select(list(pipes), [], [], left)[0]:
            pipes[fd] += os.read(fd, 65_536)
    for writer in writers:
        killed(writer)
    for fd, read in pipes.items():
        while piece := os.read(fd, 65_536):
            read += piece
    for writer in writers:
        if writer.stdout is not None:
            writer.stdout.close()
    # A name that was cut off by the kill was not read as an acknowledgement by anybody.
    return [line for read in pipes.values() for line in read.decode().split("\n") if len(line) == 36]


def round_of_kills(home: Path, seed: int, shared: str) -> int:
    """One campaign: four writers and a drainer, all killed at a random moment. Returns how much was acknowledged."""
    chance = random.Random(seed)
    home.mkdir(mode=0o700)
    size = chance.choice([5_000, 200_000, 64_000_000])
    writers = [started(WRITER, str(home), shared, str(size)) for _ in range(WRITERS)]
    drainer = started(DRAINER, str(home))
    safe = acknowledged(writers, time.monotonic() + 0.3 + chance.random() * 0.5)
    killed(drainer)
    assert drainer.stdout is not None
    drainer.stdout.close()
    with closing(SqliteStore(home / "ratchet.db")) as store:
        found = drain(store, str(home), insert, time.time())
        again = drain(store, str(home), insert, time.time())
        stored = [str(row["id"]) for row in store.find("outcomes").rows]
    assert again.outcomes == 0
    assert len(stored) == len(set(stored)), "an outcome twice"
    assert set(safe) <= set(stored), "an acknowledged outcome is lost"
    assert len(stored) - len(set(safe)) <= 2 * WRITERS, "more than what was under way at the kill"
    assert len(found.quarantined) <= 2 * WRITERS
    if shared == "own":
        assert segments(str(home)) == [], "nobody writes any more"
    return len(safe)


@pytest.mark.parametrize("shared", ["own", "shared"])
def test_kill_9_at_a_random_moment_loses_nothing_acknowledged_and_doubles_nothing(tmp_path: Path, shared: str) -> None:
    assert round_of_kills(tmp_path / "home", 1, shared) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_kills_lose_nothing_acknowledged_and_double_nothing(tmp_path: Path, seed: int) -> None:
    round_of_kills(tmp_path / "home", seed, "shared" if seed % 4 == 0 else "own")


def test_a_disk_that_fills_up_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    # The limit on a file's size stands for the disk: the write that crosses it is short, those after it fail.
    code = """
    import os, resource, signal, sys
    from ratchet.recording.recorder import Recorder
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
    recorder = Recorder(sys.argv[1])
    names = [recorder.record("a", task="x" * 300) for _ in range(100)]
    lost = recorder.lost
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    last = recorder.record("a")
    print(lost, last, *names)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], capture_output=True, text=True, check=True
    )
    lost, last, *names = run.stdout.split()
    assert run.stderr.count("outcomes are being lost") == 1
    with closing(SqliteStore(tmp_path / "ratchet.db")) as store:
        found = drain(store, str(tmp_path), insert, time.time())
        stored = {str(row["id"]) for row in store.find("outcomes").rows}
    assert int(lost) > 50
    assert stored == {*names[: 100 - int(lost)], last}
    assert found.lost == int(lost)


def test_a_forked_family_shares_nothing_it_should_not(tmp_path: Path) -> None:
    # Pre-forking servers: the recorder is made and used before the workers are forked.
    code = """
    import os, sys
    from ratchet.recording.recorder import Recorder
    recorder = Recorder(sys.argv[1])
    recorder.record("parent")
    children = []
    for number in range(8):
        pid = os.fork()
        if pid == 0:
            for _ in range(200):
                recorder.record(f"child{number}")
            os._exit(0)
        children.append(pid)
        recorder.record("parent")
    assert not any(os.waitpid(pid, 0)[1] for pid in children)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], check=True)
    lines = [line for path in segments(str(tmp_path)) for line in Path(path).read_text().splitlines()]
    agents = [json.loads(line)["agent"] for line in lines]
    assert len(segments(str(tmp_path))) == 9
    assert agents.count("parent") == 9
    assert all(agents.count(f"child{number}") == 200 for number in range(8))


def test_a_host_that_closes_all_its_descriptors_records_on(tmp_path: Path) -> None:
    # Daemons do that. The file that then gets a low number must never be written to.
    code = """
    import os, sys
    from ratchet.recording.recorder import Recorder
    recorder = Recorder(sys.argv[1])
    recorder.record("a")
    os.closerange(3, 4096)
    own = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
    recorder.record("a")
    assert recorder.lost == 0
    os.write(own, b"mine")
    """
    own = tmp_path / "own.txt"
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "home"), str(own)], check=True)
    assert own.read_text() == "mine"
    with closing(SqliteStore(tmp_path / "home" / "ratchet.db")) as store:
        assert drain(store, str(tmp_path / "home"), insert, time.time()).outcomes == 2


def test_few_descriptors_are_enough(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    code = """
    import resource, sys
    from ratchet.recording.recorder import Recorder
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    recorder = Recorder(sys.argv[1])
    recorder.record("a")
    assert recorder.lost == 0
    """
    assert min(soft, hard) > 64
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], check=True)
