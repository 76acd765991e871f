"""Measure staleness on the history of a real repository: how many lessons whose ground is gone are still told, and how
many that hold are withheld.

    python benchmarks/stale.py --repo PATH/TO/CLONE [--repo ...] [--seed 7]

Lessons are laid out on one commit and asked about on a later one. Of three kinds: one names a file (true while git has
it), one is about a dependency (true while its major version, read by json, tomllib or as a requirement, is the same),
one is about a line of a file that failed (true while the file has it; the stale ones are lines that commits called a
fix took out). Beside it: believing every lesson, and withholding one when any byte of a cited file changes. Public
repositories to point it at: encode/httpx, sindresorhus/got. Nothing of them is kept.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ratchet.lessons.citing import cited
from ratchet.lessons.rests import stale
from ratchet.records import Row

PAIRS = 24
FILES_A_PAIR = 40
FIXES = 150
LINES_A_FIX = 4
_CODE = (".py", ".ts", ".js", ".go", ".rs", ".rb")


@dataclass
class Count:
    stale: int = 0
    stale_shown: int = 0
    valid: int = 0
    valid_withheld: int = 0
    by_bytes_shown: int = 0
    by_bytes_withheld: int = 0
    spent_s: list[float] = field(default_factory=list)

    def add(self, *, holds: bool, withheld: bool, bytes_changed: bool, spent_s: float) -> None:
        self.spent_s.append(spent_s)
        if holds:
            self.valid += 1
            self.valid_withheld += withheld
            self.by_bytes_withheld += bytes_changed
        else:
            self.stale += 1
            self.stale_shown += not withheld
            self.by_bytes_shown += not bytes_changed


class Repo:
    """A clone, asked by git."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *words: str) -> str:
        command = ["git", "-C", str(self.path), "-c", "safe.directory=*", *words]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")

    def commits(self) -> list[str]:
        return self.git("rev-list", "--first-parent", "--reverse", "HEAD").split()

    def files(self, commit: str) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", commit).splitlines()

    def text(self, commit: str, path: str) -> str | None:
        try:
            return self.git("show", f"{commit}:{path}")
        except subprocess.CalledProcessError:
            return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, action="append", required=True, help="A clone, bare or not.")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    counts = {kind: Count() for kind in ("rename", "version", "fixed bug")}
    for path in given.repo:
        repo, rng = Repo(path), random.Random(given.seed)
        renames(repo, rng, counts["rename"])
        versions(repo, counts["version"])
        fixes(repo, rng, counts["fixed bug"])
    print(f"{'':<12}{'stale':>7}{'shown':>8}{'valid':>8}{'withheld':>10}   any byte: shown  withheld   ms (p95)")
    for kind, count in [*counts.items(), ("all", total(counts.values()))]:
        spent = sorted(count.spent_s)
        p95 = 1000 * spent[int(0.95 * (len(spent) - 1))] if spent else 0.0
        print(
            f"{kind:<12}{count.stale:>7,}{share(count.stale_shown, count.stale):>8}{count.valid:>8,}"
            f"{share(count.valid_withheld, count.valid):>10}   {share(count.by_bytes_shown, count.stale):>15}"
            f"{share(count.by_bytes_withheld, count.valid):>10}{p95:>11.2f}"
        )
    print("believing every lesson: 100 % of the stale ones shown, none of the valid ones withheld")


def total(counts: object) -> Count:
    whole = Count()
    for each in counts:  # type: ignore[attr-defined]
        for name in ("stale", "stale_shown", "valid", "valid_withheld", "by_bytes_shown", "by_bytes_withheld"):
            setattr(whole, name, getattr(whole, name) + getattr(each, name))
        whole.spent_s += each.spent_s
    return whole


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def asked(count: Count, root: Path, lesson: Row, *, holds: bool, bytes_changed: bool) -> None:
    started = time.perf_counter()
    reason = stale(lesson, str(root))
    spent = time.perf_counter() - started
    count.add(holds=holds, withheld=bool(reason), bytes_changed=bytes_changed, spent_s=spent)


def lay(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


# -- kinds ----------------------------------------------------------------------------------------------------------


def renames(repo: Repo, rng: random.Random, count: Count) -> None:
    """Files that a lesson names, in pairs of commits."""
    commits = repo.commits()
    for _ in range(PAIRS):
        early, late = sorted(rng.sample(range(len(commits)), 2))
        before, after = repo.files(commits[early]), set(repo.files(commits[late]))
        gone = [path for path in before if path not in after]
        kept = [path for path in before if path in after]
        chosen = rng.sample(gone, min(FILES_A_PAIR // 2, len(gone))) + rng.sample(kept, min(FILES_A_PAIR, len(kept)))
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / ".git").mkdir()
            for path in before:
                lay(root, path, "")
            lessons = {path: cites(root, f"Run `python {path}` first.") for path in chosen if " " not in path}
            for path in gone:
                (root / path).unlink()
            for path in after - set(before):
                if not any(parent.is_file() for parent in (root / path).parents):
                    lay(root, path, "")
            for path, lesson in lessons.items():
                if lesson["rests"]:
                    changed = path in after and repo.text(commits[early], path) != repo.text(commits[late], path)
                    asked(count, root, lesson, holds=path in after, bytes_changed=path not in after or changed)


def versions(repo: Repo, count: Count) -> None:
    """Dependencies that a lesson is about, between any two states of a manifest."""
    for path in ("package.json", "pyproject.toml", "requirements.txt", "Cargo.toml", "go.mod"):
        touched = repo.git("rev-list", "--first-parent", "--reverse", "HEAD", "--", path).split()
        states = [text for commit in touched if (text := repo.text(commit, path))]
        states = states[:: max(1, len(states) // PAIRS)]
        for early, text in enumerate(states):
            for later in states[early + 1 :: 3]:
                was, now = dict(majors(path, text)), dict(majors(path, later))
                with tempfile.TemporaryDirectory() as folder:
                    root = Path(folder)
                    (root / ".git").mkdir()
                    lay(root, path, text)
                    lessons = {name: cites(root, "", tools=[name]) for name in was if name in now}
                    lay(root, path, later)
                    for name, lesson in lessons.items():
                        asked(count, root, lesson, holds=was[name] == now[name], bytes_changed=text != later)


def fixes(repo: Repo, rng: random.Random, count: Count) -> None:
    """Lines that failed: those that a fix took out, and as many that it left in the same file."""
    found = repo.git("log", "--first-parent", "--no-merges", "-i", "-E", "--grep=fix|bug", "--format=%H").split()
    for commit in rng.sample(found, min(FIXES, len(found))):
        for path in repo.git(
            "diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=M", commit
        ).splitlines():
            before, after = repo.text(f"{commit}^", path), repo.text(commit, path)
            if not path.endswith(_CODE) or before is None or after is None:
                continue
            was = {line.strip() for line in before.split("\n") if len(line.strip()) >= 12}
            now = {line.strip() for line in after.split("\n")}
            out, kept = sorted(was - now), sorted(was & now)
            chosen = rng.sample(out, min(LINES_A_FIX, len(out))) + rng.sample(kept, min(LINES_A_FIX, len(kept)))
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder)
                (root / ".git").mkdir()
                lay(root, path, before)
                said = {line: f'File "{root}/{path}", line 3, in run\n    {line}\nError' for line in chosen}
                lessons = {line: cites(root, "", said=text) for line, text in said.items()}
                lay(root, path, after)
                for line, lesson in lessons.items():
                    asked(count, root, lesson, holds=line in now, bytes_changed=True)


def cites(root: Path, advice: str, *, said: str = "", tools: list[str] | None = None) -> Row:
    return {"rests": cited(folder=str(root), advice=advice, said=said, tools=tools or [])}


def majors(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Each dependency of a manifest with its major version, read as its own tools read it."""
    try:
        if path == "package.json":
            held = json.loads(text)
            pairs = [pair for part in ("dependencies", "devDependencies") for pair in held.get(part, {}).items()]
        elif path.endswith(".toml"):
            held = tomllib.loads(text)
            project = held.get("project", {})
            extras = [each for group in project.get("optional-dependencies", {}).values() for each in group]
            pairs = [split(each) for each in (*project.get("dependencies", []), *extras)]
            pairs += [pair for pair in held.get("dependencies", {}).items() if isinstance(pair[1], str)]
        elif path == "go.mod":
            pairs = re.findall(r"^\s+(\S+?)(?:/v\d+)? v(\S+)", text, re.MULTILINE)
        else:
            pairs = [split(line) for line in text.splitlines() if line[:1] not in ("", "#", "-")]
    except (ValueError, AttributeError):
        return
    for name, said in pairs:
        version = re.match(r"[\^~=<>! v]*(\d+)(?:\.(\d+))?", said) if isinstance(said, str) else None
        if version is not None and re.fullmatch(r"[\w@/.-]+", name):
            yield name, f"0.{version[2]}" if version[1] == "0" and version[2] else version[1]


def split(requirement: str) -> tuple[str, str]:
    """Name and version of a requirement."""
    found = re.match(r"\s*([\w.-]+)(?:\[[^\]]*\])?\s*([^;#]*)", requirement)
    return (found[1], found[2].split(",")[0].strip()) if found else ("", "")


if __name__ == "__main__":
    main()
