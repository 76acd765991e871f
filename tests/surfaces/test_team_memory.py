"""Two machines share what they learnt by git alone: no lesson is lost, none comes twice, none is told untrusted."""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ratchet import Ratchet
from ratchet.lessons import team

LESSONS = 50
WORDS = ("parser", "cache", "socket", "widget", "ledger", "router", "cookie", "schema", "bucket", "tunnel", "anchor")


@dataclass(kw_only=True)
class Machine:
    """A clone with a home of its own, and what its person knows and does."""

    clone: Path
    ratchet: Ratchet
    gone: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)
    trusted: set[str] = field(default_factory=set)

    def git(self, *words: str) -> str:
        environ = {
            "PATH": os.environ["PATH"], "HOME": str(self.clone.parent), "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }  # fmt: skip
        done = subprocess.run(["git", *words], cwd=self.clone, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"git {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def learn(self, number: int) -> None:
        word = WORDS[number % len(WORDS)]
        when = f"error: the {word} {'un' * (number // len(WORDS))}folds in the {word} hall"
        do = f"Run `make {word}-{number}`."
        self.ratchet.lessons.add(when=when, do=do, state="active", project=str(self.clone))
        self.said.add(do)

    def active(self) -> dict[str, str]:
        return {each.text: each.id for each in self.ratchet.lessons.list(state="active", project=str(self.clone))}

    def reword(self, dice: random.Random) -> None:
        text, lesson = dice.choice(sorted(self.active().items()))
        new = f"{text.partition(' #')[0]} # {dice.randrange(10**9)}"
        self.ratchet.lessons.approve(lesson, do=new)
        self.gone.add(text)
        self.said.add(new)

    def retire(self, dice: random.Random) -> None:
        text, lesson = dice.choice(sorted(self.active().items()))
        self.ratchet.lessons.retire(lesson)
        self.gone.add(text)

    def share(self) -> None:
        assert self.ratchet.lessons.share(self.clone).rejected == ()
        self.git("add", "-A")
        if self.git("status", "--porcelain"):
            self.git("commit", "-q", "-m", "lessons")

    def trust(self) -> None:
        self.trusted |= {each.text for each in self.ratchet.lessons.trust(self.clone).lessons}

    def merge(self, other: Machine) -> None:
        self.git("pull", "-q", "--no-rebase", "--no-edit", str(other.clone), "main")

    def files(self) -> Counter[str]:
        """How often each lesson stands in the repository."""
        found, unread = team.contents(self.clone)
        lessons, rejected, _ = team.proposed(found, self.clone)
        assert (unread, rejected) == ((), ())
        live = Counter(
            line.split('"do": "')[1].split('", "')[0]
            for content in found.values()
            for line in content.decode().splitlines()
            if '"retired"' not in line
        )
        assert set(live) == {each.text for each in lessons}
        return live


@contextmanager
def machines(root: Path, names: str) -> Iterator[list[Machine]]:
    with Ratchet(root / "home-a") as first, Ratchet(root / "home-b") as second, Ratchet(root / "home-c") as third:
        opened = [first, second, third][: len(names)]
        found = [Machine(clone=root / name, ratchet=each) for name, each in zip(names, opened, strict=True)]
        found[0].clone.mkdir()
        found[0].git("init", "-q", "-b", "main")
        found[0].git("commit", "-q", "--allow-empty", "-m", "start")
        for each in found[1:]:
            found[0].git("clone", "-q", str(found[0].clone), str(each.clone))
        yield found


@settings(max_examples=3, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_fifty_lessons_shared_and_edited_on_both_sides_are_each_there_once_after_the_merge(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    dice = random.Random(seed)
    with machines(tmp_path_factory.mktemp("team"), "abc") as (one, two, stranger):
        for number in dice.sample(range(LESSONS), LESSONS):
            for each in dice.choice([[one], [two], [one, two]]):
                each.learn(number)
        one.share()
        two.share()
        for _ in range(dice.randrange(1, 3)):
            two.merge(one)
            one.merge(two)
            for each in (one, two):
                each.ratchet.lessons.load_reviewed(each.clone)
                assert each.active().keys() <= each.said | each.trusted
                each.trust()
            for _ in range(dice.randrange(12)):
                each = dice.choice([one, two])
                what = dice.choice([each.reword, each.retire, None])
                what(dice) if what else each.share()
            one.share()
            two.share()
        two.merge(one)
        one.merge(two)
        expected = (one.said | two.said) - one.gone - two.gone
        assert one.files() == two.files() == Counter(expected)
        stranger.merge(one)
        stranger.ratchet.lessons.load_reviewed(stranger.clone)
        assert stranger.active() == {}
        stranger.ratchet.lessons.trust(stranger.clone)
        assert stranger.active().keys() == expected
        for each in (one, two):
            each.trust()
            assert expected <= each.active().keys()
            assert len(each.ratchet.lessons.list(state="active")) == len(each.active())


def test_one_file_edited_by_hand_on_both_sides_is_two_lessons_that_wait(tmp_path: Path) -> None:
    with machines(tmp_path, "ab") as (one, two):
        one.learn(0)
        one.share()
        two.merge(one)
        two.trust()
        ((old, _),) = two.active().items()
        for each, word in ((one, "first"), (two, "second")):
            (file,) = (each.clone / ".ratchet" / "lessons").glob("*.jsonl")
            file.write_text(file.read_text().replace(old, f"Run `make {word}`."))
            each.git("commit", "-q", "-a", "-m", word)
        two.merge(one)
        assert two.files() == Counter(["Run `make first`.", "Run `make second`."])
        two.ratchet.lessons.load_reviewed(two.clone)
        assert two.active() == {}
        two.trust()
        assert two.active().keys() == two.files().keys()


def test_the_old_file_turned_into_files_on_both_sides_merges(tmp_path: Path) -> None:
    with machines(tmp_path, "ab") as (one, two):
        for number in range(3):
            one.learn(number)
        old = one.clone / ".ratchet" / "lessons.jsonl"
        old.parent.mkdir()
        one.ratchet.lessons.export(old)
        one.git("add", "-A")
        one.git("commit", "-q", "-m", "the old file")
        two.merge(one)
        two.trust()
        for each in (one, two):
            each.share()
        two.merge(one)
        assert two.files() == Counter(one.said)
        assert not (two.clone / ".ratchet" / "lessons.jsonl").exists()
        assert two.active().keys() == one.said
