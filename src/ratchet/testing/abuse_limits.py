"""Abuse that uses the machine up or outstays its time."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ratchet.sandbox.command import Limits, Ran
from ratchet.testing.abuse import DEFAULT, Case
from ratchet.testing.scene import Scene

_SMALL = Limits(wall_s=30, memory_mb=128, disk_mb=48, file_mb=16, inodes=2_000, pids=32, output_kb=64, descriptors=64)


def _marked(place: Scene, ran: Ran) -> list[str]:
    """Tell whether a process with the scene's secret in its command line is still there."""
    del ran
    alive = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal() and int(each.name) != os.getpid():
            try:
                line = (each / "cmdline").read_bytes()
            except OSError:
                continue
            if f"marked-{place.secret}".encode() in line:
                alive.append(f"process {each.name} outlived the run")
    return alive


def _soon(place: Scene, ran: Ran) -> list[str]:
    """See that an order which would go on for minutes has ended; a busy machine takes its time."""
    del place
    return [f"took {ran.wall_s:.1f} s"] if ran.wall_s > DEFAULT.wall_s / 2 else []


def _capped(place: Scene, ran: Ran) -> list[str]:
    del place
    said = len(ran.stdout) + len(ran.stderr)
    return (
        [] if said <= _SMALL.output_kb * 1024 and ran.truncated else [f"{said} bytes kept, truncated={ran.truncated}"]
    )


TIME = (
    Case(
        name="sleeping for ever and ignoring every signal",
        attack="""
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: time.sleep(100)
""",
        honest="time.sleep(0.1)",
        limits=Limits(wall_s=1),
        ends=("wall",),
        after=_soon,
    ),
    Case(
        name="idling",
        attack="time.sleep(100)",
        honest="""
for _ in range(6): print("work", flush=True); time.sleep(0.2)
""",
        limits=replace(DEFAULT, idle_s=0.8),
        ends=("idle",),
        after=_soon,
    ),
    Case(
        name="spinning",
        attack="while True: pass",
        honest="sum(range(100000))",
        limits=replace(DEFAULT, cpu_s=1),
        ends=("cpu",),
        after=_soon,
    ),
    Case(
        name="spinning in many processes that nobody waits for",
        attack="""
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        while True: pass
while True: time.sleep(1)
""",
        honest="pid = os.fork() or os._exit(0); os.waitpid(pid, 0)",
        limits=replace(DEFAULT, cpu_s=1),
        ends=("cpu",),
        after=_soon,
    ),
    Case(
        name="waiting for input",
        attack="assert sys.stdin.read() == ''; assert not os.isatty(0)",
        honest="assert sys.stdin.buffer.read() == b''",
    ),
    Case(
        name="grandchildren in sessions of their own",
        attack="""
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
            os.execvp("python", ["python", "-c", code, "marked-" + at["secret"]])
        os._exit(0)
time.sleep(0.5)
""",
        honest="assert subprocess.run(['true']).returncode == 0",
        after=_marked,
    ),
    Case(
        name="a child that keeps the output open",
        attack="""
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print("done")
""",
        honest="print('done')",
        after=_soon,
    ),
)

AMOUNTS = (
    Case(
        name="a fork bomb",
        attack="""
made = 0
try:
    while made < 300:
        if os.fork() == 0: time.sleep(60); os._exit(0)
        made += 1
except OSError: pass
if made >= 64: escaped(str(made))
""",
        honest="""
children = [subprocess.Popen(["sleep", "0.2"]) for _ in range(8)]
assert all(child.wait() == 0 for child in children)
""",
        limits=_SMALL,
        after=_soon,
    ),
    Case(
        name="a fork bomb that never stops",
        attack="""
while True:
    try: os.fork()
    except OSError: pass
""",
        honest="os.fork() or os._exit(0)",
        limits=Limits(wall_s=2, pids=64, cpu_s=30),
        ends=("wall", "cpu", ""),
        after=_soon,
    ),
    Case(
        name="a thread bomb",
        attack="""
threads = []
try:
    while len(threads) < 300:
        threads.append(threading.Thread(target=time.sleep, args=(60,), daemon=True)); threads[-1].start()
except RuntimeError: pass
if len(threads) >= 64: escaped(str(len(threads)))
os._exit(0)
""",
        honest="""
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: assert sum(pool.map(abs, range(-8, 0))) == 36
""",
        limits=_SMALL,
    ),
    Case(
        name="a memory bomb",
        attack="kept = []\nwhile True: kept.append(b'x' * (8 << 20))",
        honest="kept = b'x' * (40 << 20)",
        limits=_SMALL,
        ends=("memory",),
    ),
    Case(
        name="a memory bomb in many small processes",
        attack="""
for _ in range(16):
    if os.fork() == 0:
        kept = os.urandom(16 << 20); time.sleep(60); os._exit(0)
time.sleep(60)
""",
        honest="""
shared = os.urandom(24 << 20)
children = []
for _ in range(8):
    pid = os.fork()
    if pid == 0: time.sleep(0.5); os._exit(0)
    children.append(pid)
for pid in children: os.waitpid(pid, 0)
""",
        limits=_SMALL,
        ends=("memory",),
    ),
    Case(
        name="memory outside any process's map",
        attack="""
kept = []
def makes():
    made = os.memfd_create("x"); os.write(made, b"x" * (8 << 20)); return made
for _ in range(40):
    made = tries(makes)
    if made is not None: kept.append(made)
if len(kept) >= 30: escaped(str(len(kept)))
""",
        honest="import mmap; m = mmap.mmap(-1, 1 << 20); m.write(b'x')",
        limits=_SMALL,
        ends=("", "memory"),
    ),
    Case(
        name="filling /tmp",
        attack="""
written = 0
try:
    for number in range(100):
        open(f"/tmp/fill{number}", "wb").write(b"x" * (8 << 20)); written += 8
except OSError: pass
if written > 128: escaped(str(written))
""",
        honest="""
import tempfile
with tempfile.TemporaryDirectory() as folder: open(folder + "/x", "wb").write(b"x" * (4 << 20))
""",
        limits=_SMALL,
        ends=("", "memory", "disk"),
    ),
    Case(
        name="filling shared memory",
        attack="""
written = 0
try:
    for number in range(100):
        open(f"/dev/shm/fill{number}", "wb").write(b"x" * (8 << 20)); written += 8
except OSError: pass
if written > 128: escaped(str(written))
""",
        honest="""
from multiprocessing import shared_memory
made = shared_memory.SharedMemory(create=True, size=1 << 20); made.close(); made.unlink()
""",
        limits=_SMALL,
        ends=("", "memory"),
        needs=frozenset({"namespaces"}),
    ),
    Case(
        name="filling its home and every other folder",
        attack="""
written = 0
for folder in (os.environ["HOME"], "/var/tmp", "/run", "/home", "/dev", "/"):
    try:
        for number in range(20):
            open(f"{folder}/fill{number}", "wb").write(b"x" * (8 << 20)); written += 8
    except OSError: pass
if written > 128: escaped(str(written))
""",
        honest="open(os.environ['HOME'] + '/.cache', 'w').write('x')",
        limits=_SMALL,
        ends=("", "memory", "disk"),
        needs=frozenset({"namespaces"}),
    ),
    Case(
        name="filling the disk",
        attack="""
for number in range(400): open(f"fill{number}", "wb").write(os.urandom(1 << 20))
time.sleep(5)
""",
        honest="for number in range(8): open(f'fill{number}', 'wb').write(b'x' * (1 << 20))",
        limits=_SMALL,
        ends=("disk",),
    ),
    Case(
        name="filling the disk with files that have no name",
        attack="""
kept = []
for number in range(40):
    kept.append(open("fill", "wb")); os.unlink("fill"); kept[-1].write(b"x" * (8 << 20)); kept[-1].flush()
time.sleep(8)
""",
        honest="""
import tempfile
with tempfile.TemporaryFile(dir=".") as file: file.write(b"x" * (4 << 20))
""",
        limits=_SMALL,
        ends=("disk",),
    ),
    Case(
        name="disk space without writing",
        attack="""
for number in range(40):
    opened = os.open(f"fill{number}", os.O_CREAT | os.O_RDWR)
    if libc.fallocate(opened, 0, ctypes.c_long(0), ctypes.c_long(15 << 20)) == 0 and number > 10: escaped(str(number))
""",
        honest="opened = os.open('a', os.O_CREAT | os.O_RDWR); os.posix_fallocate(opened, 0, 1 << 20)",
        limits=_SMALL,
        ends=("", "disk"),
    ),
    Case(
        name="using the inodes up",
        attack="""
for number in range(40000): open(f"n{number}", "w").close()
time.sleep(5)
""",
        honest="for number in range(500): open(f'n{number}', 'w').close()",
        limits=_SMALL,
        ends=("inodes",),
    ),
    Case(
        name="using the inodes of /tmp up",
        attack="""
try:
    for number in range(400000): open(f"/tmp/n{number}", "w").close()
except OSError: pass
else: escaped()
""",
        honest="for number in range(500): open(f'/tmp/n{number}', 'w').close()",
        limits=_SMALL,
        ends=("inodes", "memory", ""),
        needs=frozenset({"namespaces"}),
    ),
    Case(
        name="one huge file",
        attack="""
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def writes():
    with open("huge", "wb", buffering=0) as file:
        for _ in range(40): file.write(b"x" * (1 << 20))
    return 1
if tries(writes): escaped()
""",
        honest="open('a', 'wb').write(b'x' * (8 << 20))",
        limits=_SMALL,
    ),
    Case(
        name="a sparse file",
        attack="""
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if tries(lambda: os.truncate(os.open("sparse", os.O_CREAT | os.O_RDWR), 1 << 40) or 1): escaped()
""",
        honest="os.truncate(os.open('a', os.O_CREAT | os.O_RDWR), 1 << 20)",
        limits=_SMALL,
    ),
    Case(
        name="endless output",
        attack="while True: print('y' * 1000)",
        honest="print('y' * 30000)",
        limits=_SMALL,
        ends=("output",),
        after=_capped,
    ),
    Case(
        name="endless errors without a line's end",
        attack="while True: os.write(2, b'y' * 4096)",
        honest="os.write(2, b'y' * 30000)",
        limits=_SMALL,
        ends=("output",),
        after=_capped,
    ),
    Case(
        name="using the descriptors up",
        attack="""
kept = []
try:
    while len(kept) < 500: kept.append(open("/dev/null"))
except OSError: pass
if len(kept) > 64: escaped(str(len(kept)))
""",
        honest="kept = [open('/dev/null') for _ in range(40)]",
        limits=_SMALL,
    ),
    Case(
        name="raising its own limits",
        attack="""
import resource
for name in ("NPROC", "FSIZE", "NOFILE", "CPU"):
    which = getattr(resource, "RLIMIT_" + name)
    if tries(lambda: resource.setrlimit(which, (1 << 30, 1 << 30)) or 1): escaped(name)
if tries(lambda: os.nice(-5) or 1): escaped("nice")
""",
        honest="import resource; soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); os.nice(1)",
        limits=_SMALL,
    ),
)
