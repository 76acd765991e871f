"""Abuse that reaches for secrets and for files outside."""

from __future__ import annotations

import stat
from pathlib import Path

from ratchet.sandbox.command import Ran
from ratchet.testing.abuse import READS_SYSTEM, WRITES, Case
from ratchet.testing.scene import Scene


def _no_set_ids(place: Scene, ran: Ran) -> list[str]:
    del ran
    found = [
        each for each in place.work.rglob("*") if each.is_file() and each.lstat().st_mode & (stat.S_ISUID | 0o2000)
    ]
    return [f"{each.name} has set-id bits" for each in found]


def _with_git(work: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("[core]\n\tbare = false\n", encoding="utf-8")
    (work / "code.py").write_text("x = 1\n", encoding="utf-8")


def _git_untouched(place: Scene, ran: Ran) -> list[str]:
    del ran
    kept = (place.work / ".git" / "config").read_text(encoding="utf-8") == "[core]\n\tbare = false\n"
    return [] if kept and len(list((place.work / ".git").iterdir())) == 1 else ["the repository was changed"]


SECRETS = (
    Case(
        name="the first process's environment",
        attack="if at['secret'].encode() in (tries(lambda: open('/proc/1/environ', 'rb').read()) or b''): escaped()",
        honest="assert os.environ['PATH'] and os.environ['HOME']",
    ),
    Case(
        name="every process's environment and command line",
        attack="""
for pid in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc/self") else ()):
    for name in ("environ", "maps", "cwd", "exe"):
        path = f"/proc/{pid}/{name}"
        text = tries(lambda: open(path, "rb").read() if name in ("environ", "maps") else os.readlink(path).encode())
        if text and at["secret"].encode() in text: escaped(path)
""",
        honest="assert os.environ['PATH'] and os.path.isdir(os.environ['HOME'])",
    ),
    Case(
        name="variables of the caller",
        attack="if at['secret'] in ' '.join(os.environ.values()): escaped()",
        honest="open(os.path.join(os.environ['HOME'], 'x'), 'w').close()",
    ),
    Case(
        name="the caller's home",
        attack="""
own = [os.path.join(at["home"], name) for name in (".ssh", ".aws", ".config", ".bash_history", ".netrc", ".profile")]
for path in own:
    if tries(lambda: os.listdir(path) if os.path.isdir(path) else open(path).read()): escaped(path)
""",
        honest="assert os.path.expanduser('~') == os.environ['HOME']",
    ),
    Case(
        name="password hashes and keys of the machine",
        attack="""
for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/machine-id", "/root/.ssh", "/var/lib",
             "/run/secrets"):
    if tries(lambda: os.listdir(path) if os.path.isdir(path) else open(path).read()): escaped(path)
""",
        honest="import getpass; assert getpass.getuser()",
    ),
    Case(
        name="descriptors left open",
        attack="""
for number in range(3, 256):
    if tries(lambda: os.fstat(number)): escaped(str(number))
""",
        honest="assert os.read(0, 10) == b''; os.write(1, b'x'); os.write(2, b'x')",
    ),
)

FILES = (
    Case(
        name="a file outside by its path",
        attack="if tries(lambda: open(at['outside'] + '/secret.txt').read()): escaped()",
        honest=WRITES,
    ),
    Case(
        name="a file outside by dots",
        attack="""
for depth in range(1, 12):
    if tries(lambda: open("../" * depth + at["outside"].lstrip("/") + "/secret.txt").read()): escaped()
""",
        honest="os.mkdir('a'); open('a/../b', 'w').close(); assert os.path.exists('b')",
    ),
    Case(
        name="a file outside by a link",
        attack="""
os.symlink(at["outside"] + "/secret.txt", "link")
if tries(lambda: open("link").read()): escaped("read")
os.symlink(at["outside"] + "/new", "other")
if tries(lambda: open("other", "w")) and os.path.exists(at["outside"]): escaped("write")
""",
        honest="open('a', 'w').write('x'); os.symlink('a', 'b'); assert open('b').read() == 'x'",
    ),
    Case(
        name="a second name for a file outside",
        attack="if tries(lambda: os.link(at['outside'] + '/secret.txt', 'taken') or 1): escaped()",
        honest="open('a', 'w').write('x'); os.link('a', 'b'); assert open('b').read() == 'x'",
    ),
    Case(
        name="writing and removing outside",
        attack="""
for action in (lambda: open(at["outside"] + "/new", "w"), lambda: os.unlink(at["outside"] + "/secret.txt") or 1,
               lambda: os.rename(at["outside"], "x") or 1):
    if tries(action): escaped()
""",
        honest=WRITES,
    ),
    Case(
        name="modes, times and owners outside",
        attack="""
path = at["outside"] + "/secret.txt"
for action in (lambda: os.chmod(path, 0) or 1, lambda: os.utime(path, (1, 1)) or 1, lambda: os.chown(path, 1, 1) or 1):
    if tries(action): escaped()
""",
        honest="open('a', 'w').close(); os.chmod('a', 0o640); os.utime('a', (1, 1))",
        needs=frozenset({"namespaces"}),
    ),
    Case(
        name="other roots in /proc",
        attack="""
for pid in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc/self") else ()):
    for name in ("root", "cwd"):
        if tries(lambda: open(f"/proc/{pid}/{name}{at['outside']}/secret.txt").read()): escaped(pid)
""",
        honest=READS_SYSTEM,
    ),
    Case(
        name="the interpreter and its packages",
        attack="""
import sysconfig
for folder in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), at["python"],
               os.path.dirname(sys.executable)):
    if tries(lambda: open(os.path.join(folder, "planted.pth"), "w")): escaped(folder)
""",
        honest="import click, json, sqlite3; subprocess.run([sys.executable, '-c', 'import ratchet'], check=True)",
    ),
    Case(
        name="the system's own files",
        attack="""
for path in ("/usr/bin/planted", "/etc/planted", "/etc/passwd", "/lib/planted", "/planted", "/dev/planted"):
    if tries(lambda: open(path, "a")): escaped(path)
""",
        honest=READS_SYSTEM,
    ),
    Case(
        name="set-id bits that would outlive the run",
        attack="""
open("a", "w").close()
for action in (lambda: os.chmod("a", 0o4755), lambda: os.chmod("a", 0o2755), lambda: os.fchmod(os.open("a", 0), 0o6755),
               lambda: os.close(os.open("b", os.O_CREAT | os.O_WRONLY, 0o4755)),
               lambda: libc.syscall(452, -100, b"a", 0o4755, 0), lambda: os.mknod("c", 0o104755)):
    tries(action)
""",
        honest="open('a', 'w').close(); os.chmod('a', 0o755); os.mkdir('d'); os.chmod('d', 0o1777)",
        after=_no_set_ids,
    ),
    Case(
        name="capabilities of a file",
        attack="""
open("a", "w").close()
value = b"\\x01\\x00\\x00\\x02" + b"\\xff" * 16
if tries(lambda: os.setxattr("a", "security.capability", value) or 1): escaped()
if tries(lambda: os.chown("a", 0, 0) or os.stat("a").st_uid == 0): escaped("chown")
""",
        honest="open('a', 'w').close(); os.chmod('a', 0o700); os.utime('a', (1, 1))",
    ),
    Case(
        name="the project's repository",
        attack="""
for action in (lambda: open(".git/config", "a").write("x"), lambda: os.mkdir(".git/hooks") or 1,
               lambda: os.rename(".git", "git") or 1, lambda: open(".git/config").read()):
    if tries(action): escaped()
""",
        honest="assert open('code.py').read() == 'x = 1\\n'; open('code.py', 'a').write('y = 2\\n')",
        prepare=_with_git,
        after=_git_untouched,
        needs=frozenset({"namespaces"}),
    ),
)
