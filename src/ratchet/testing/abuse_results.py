"""Abuse that leaves traps in its results, for whoever reads them, clears them away or runs git in them."""

from __future__ import annotations

import os
import subprocess
import time

from ratchet.errors import Refused
from ratchet.sandbox.beneath import read_beneath, remove_tree
from ratchet.sandbox.command import Ran
from ratchet.testing.abuse import WRITES, Case
from ratchet.testing.scene import Scene

_REPOSITORY = """
def plants(folder, bare):
    for each in ("objects", "refs/heads", "hooks"): os.makedirs(folder + "/" + each)
    open(folder + "/HEAD", "w").write("ref: refs/heads/main\\n")
    work = "" if not bare else "\\tworktree = " + host + "\\n"
    planted = "touch " + host + "/ran; false"
    open(folder + "/config", "w").write(
        "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tfsmonitor = " + planted + "\\n" + work
        + "\\tpager = " + planted + "\\n[alias]\\n\\tx = !" + planted + "\\n")
host = os.path.dirname(at["outside"]) + "/work"
"""


def _git_runs_nothing(place: Scene, ran: Ran) -> list[str]:
    """Git on the host must not run what was planted, in any folder of the results."""
    del ran
    environ = {"PATH": os.environ["PATH"], "HOME": str(place.work), "GIT_CONFIG_NOSYSTEM": "1"}
    for folder in (place.work, *(each for each in place.work.rglob("*") if each.is_dir() and not each.is_symlink())):
        for command in (["status"], ["log", "-1"]):
            subprocess.run(  # noqa: S603  (two fixed commands)
                ["git", *command],  # noqa: S607  (whichever git the machine has)
                cwd=folder,
                env=environ,
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    return ["git ran what was planted"] if (place.work / "ran").exists() else []


def _clears_away(place: Scene, ran: Ran) -> list[str]:
    """Results must neither stop nor mislead who clears them away."""
    del ran
    started = time.process_time()
    remove_tree(place.work)
    place.work.mkdir()
    return [] if time.process_time() - started < 10 else ["took long to clear away"]


def _does_not_block(place: Scene, ran: Ran) -> list[str]:
    del ran
    wrong = []
    for name in ("pipe", "link", "socket", "folder/link/secret.txt", "twice", "../outside/secret.txt", "large"):
        try:
            read_beneath(place.work, name, 1 << 20)
        except (Refused, FileNotFoundError):
            continue
        wrong.append(f"{name} was read")
    return wrong


RESULTS = (
    Case(
        name="a planted repository",
        attack=_REPOSITORY + "plants('.git', False); os.makedirs('sub'); plants('sub/.git', False)",
        honest=WRITES,
        after=_git_runs_nothing,
    ),
    Case(
        name="a planted bare repository",
        attack=_REPOSITORY + "os.makedirs('deep/er'); plants('deep/er/bare', True)",
        honest="os.makedirs('objects'); open('HEAD', 'w').close()",
        after=_git_runs_nothing,
    ),
    Case(
        name="a repository hidden by a pointer file",
        attack=_REPOSITORY + "os.makedirs('x'); plants('x/real', True); os.symlink('x', 'y')\n"
        "open('x/.git', 'w').write('gitdir: real\\n')",
        honest=WRITES,
        after=_git_runs_nothing,
    ),
    Case(
        name="1,500 nested folders",
        attack="""
for _ in range(1500):
    os.mkdir("d"); os.chdir("d")
open("x", "w").close()
""",
        honest="os.makedirs('/'.join('d' * 100))",
        after=_clears_away,
    ),
    Case(
        name="folders closed to their owner",
        attack="""
os.makedirs("a/b/c"); open("a/b/c/x", "w").close()
for path in ("a/b/c", "a/b", "a"): os.chmod(path, 0)
""",
        honest="os.mkdir('a'); os.chmod('a', 0o500); os.chmod('a', 0o700)",
        after=_clears_away,
    ),
    Case(
        name="links, pipes, sockets and second names in the results",
        attack="""
os.symlink(at["outside"] + "/secret.txt", "link"); os.mkfifo("pipe"); os.mkdir("folder")
os.symlink(at["outside"], "folder/link")
tries(lambda: socket.socket(socket.AF_UNIX).bind("socket"))
open("once", "w").close(); os.link("once", "twice"); open("large", "wb").write(b"x" * (2 << 20))
""",
        honest="os.mkfifo('pipe'); os.symlink('pipe', 'link')",
        after=_does_not_block,
    ),
    Case(
        name="names that no text is",
        attack="""
for name in (b"\\xff\\xfe", b"a\\nb", b"-rf", b"$(touch ran)", b"x" * 255): open(name, "w").close()
print("\\x1b]0;title\\x07")
""",
        honest="open('with space', 'w').close(); open('\\u00e4', 'w').close()",
        after=_clears_away,
    ),
)
