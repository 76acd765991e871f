"""Set up what measures agents on this machine: the sandbox, the executor, the files of a version."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.evolving import scorers
from ratchet.evolving.archive import Files
from ratchet.evolving.bench.measuring import Measuring
from ratchet.evolving.cluster.opening import clustered
from ratchet.evolving.job import ExecutorName
from ratchet.healing.patches import LINK_MODE
from ratchet.ports import Sandbox
from ratchet.sandbox import copyin
from ratchet.sandbox import opening as workspaces
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import PLACE
from ratchet.sandbox.choice import Sandboxes, opens
from ratchet.sandbox.command import View

_SAFE_PATH = "PYTHONSAFEPATH"  # what -P is as a variable
MOST_BYTES = 134_217_728
"""Of an agent's own files: more is a data set, which belongs beside them (`readable`)."""


def measuring(home: Path, *, guarded: Sequence[Path] = ()) -> Measuring:
    """Make the measurer of an agent on this machine. It is a value: it can be sent to another process. `guarded` are
    hashed before and after each run of an agent."""
    return Measuring(
        sandbox=partial(_sandbox, home),
        copied=workspaces.copied,
        workdir=_workdir,
        removed=remove_tree,
        score=scorers.score,
        guarded=tuple(map(str, guarded)),
        around=(str(home),),
    )


@contextmanager
def executing(name: ExecutorName, parallel: int, *, cluster: str = "", place: Path = Path()) -> Iterator[Executor]:
    """An executor, ended with whatever is still waiting in it. `cluster` is the address of one that somebody else runs;
    workers of this machine keep their files in `place`, which need not exist.

    Raises UsageError, BackendError where it cannot be had.
    """
    if name in ("dask", "ray"):
        with _safe_path(), clustered(name, parallel, cluster, place) as workers:  # a dead worker is started anew, too
            yield workers
        return
    made: Executor
    if name == "processes":
        # Not forked: a fork of a process with threads takes along locks that nobody will ever release.
        begin = partial(_begin, os.environ.get(_SAFE_PATH))
        with _safe_path():  # its locks start a process, too
            made = ProcessPoolExecutor(parallel, mp_context=_SafeContext(), initializer=begin)
    else:
        made = ThreadPoolExecutor(parallel, thread_name_prefix="ratchet-bench")
    try:
        yield made
    finally:
        made.shutdown(wait=True, cancel_futures=True)


def files_of(folder: Path) -> Files:
    """The files that are an agent: its own, without a repository, an environment, secrets, and what git ignores.

    Raises UsageError where they are too many bytes.
    """
    found: Files = {}
    size = 0
    for path, is_folder in copyin.chosen(folder):
        full = folder / path
        status = full.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[path] = (LINK_MODE, os.fsencode(full.readlink()))
        elif stat.S_ISREG(status.st_mode) and not is_folder:
            size += status.st_size
            if size > MOST_BYTES:
                raise UsageError(
                    f"{folder} holds more than {MOST_BYTES // 1_048_576} MB: put the agent into a folder of its own, "
                    "and show it its data with `readable`"
                )
            found[path] = (0o755 if status.st_mode & 0o100 else 0o644, full.read_bytes())
    return found


def check_shown(home: Path, readable: Iterable[str | Path]) -> None:
    """Raise UsageError where what an agent or a proposer is shown holds Ratchet's own files: there lie graders, what
    was learnt, and the archive."""
    for each in readable:
        if opens(Path(each), home):
            raise UsageError(f"{each} would show what judges the agent (in {home}): name the folders that it needs")


def _sandbox(home: Path, unsafe: bool) -> Sandbox:
    return Sandboxes(home).chosen(unsafe=unsafe)


def _workdir(sandbox: Sandbox, view: View) -> str:
    """Return the folder in which a command finds its files: they are mounted at one place, or used where they lie."""
    return PLACE if sandbox.overlays or sandbox.name == "docker" else str(view.folder.resolve())


@contextmanager
def _safe_path() -> Iterator[None]:
    """Have what multiprocessing starts meanwhile import nothing from the working directory, which may be a stranger's:
    it runs `python -c`, and takes no options but this process's own."""
    above = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        _set_safe_path(above)


def _set_safe_path(value: str | None) -> None:
    if value is None:
        os.environ.pop(_SAFE_PATH, None)
    else:
        os.environ[_SAFE_PATH] = value


class _SafeProcess(SpawnProcess):
    def start(self) -> None:
        with _safe_path(), _uninterrupted():
            super().start()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let what is started here be born deaf to Ctrl-C, until `_begin`: it would die of it while it still imports."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _SafeContext(SpawnContext):
    Process = _SafeProcess


def _begin(safe_path: str | None) -> None:
    """In a new worker: agents get the environment as it was. Ctrl-C reaches every process of a terminal: which
    evaluations end, the driver says. And whatever ends the driver ends the worker, which would wait for jobs for
    ever."""
    _set_safe_path(safe_path)
    signal.signal(signal.SIGINT, _not_ours)  # no SIG_IGN: agents would inherit it
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    driver = multiprocessing.parent_process()
    assert driver is not None

    def wait() -> None:
        driver.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _not_ours(_number: int, _frame: object) -> None:
    """A signal that the driver deals with."""
