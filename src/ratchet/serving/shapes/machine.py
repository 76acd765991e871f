"""Shapes of the commands about this machine: its home and database, agents' hooks, tokens, sandboxes, the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ratchet.serving.shapes.failures import PatternShape
from ratchet.serving.shapes.lessons import LearnedShape
from ratchet.serving.shapes.shape import Shape, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ratchet.integrations.settings_file import Installed


class HomeShape(Shape):
    """The home folder."""

    home: str = said("The folder, absolute.")


class RatchetVersionShape(Shape):
    """The version of Ratchet."""

    version: str = said("The version.")


class HistoryHomeShape(Shape):
    """A home of an agent's histories."""

    agent: str = said("The agent.")
    path: str = said("The folder or file.")
    files: int = said("Histories in it.")
    size_bytes: int = said("Their size.")
    unread: int = said("How many of them grew since they were read, or never were.")
    read_at: float | None = said("When any was read last; null for never.")


class CheckShape(Shape):
    """One thing that was looked at."""

    check: str = said("The thing.", of="name")
    ok: bool = said("Whether it is as it should be.")
    found: str = said("The state that it is in.")
    remedy: str = said("What to do; empty for nothing.")


class KnownModelShape(Shape):
    """One language model in its place."""

    asked_for: str = said("session, loop or fast; nearby for a server that no setting names.")
    rank: int = said("Its place in the chain, from 1; 0 for nearby.")
    name: str = said("The model, as provider:name.", foreign="name")
    address: str = said("Where a server of one's own is; empty for a provider's.")
    reach: str = said("answers, silent, no key, or not asked.")
    note: str = said("What to do; empty for nothing.")
    usd_sent: float | None = said("USD for a million tokens that it is sent; null where nobody knows.")
    usd_received: float | None = said("USD for a million tokens that it answers; null where nobody knows.")


class TestedModelShape(Shape):
    """Answer of one model to one short question."""

    __test__ = False  # (its name is no test's)

    name: str = said("The model.", foreign="name")
    ok: bool = said("Whether it answered.")
    duration_s: float = said("How long it took.", digits=3)
    tokens: int = said("Tokens of question and answer.")
    cost_usd: float = said("The cost of it.", digits=6)
    answer: str = said("Its answer, cut.", foreign="words", of="said")
    problem: str = said("Why it did not answer.", foreign="words")


class ServiceShape(Shape):
    """One service beside Ratchet."""

    name: str = said("page, database, redis, model or search.")
    state: str = said("up, starting (alive, and does not answer), died, or down.")
    port: int = said("Its port on 127.0.0.1.")
    url: str = said("Its address; empty while it is down.")
    pid: int = said("Its first process; 0 while it is down.")
    since: float = said("When it was started; 0 while it is down.")
    log: str = said("The file of its log.")
    note: str = said("What is wrong, with the last line of the log.", foreign="output")


class RedisStateShape(Shape):
    """Vectors of one table, as the Redis beside the store holds them."""

    table: str = said("lessons or patterns.")
    rows: int = said("Rows that the store has.")
    held: int = said("Rows that Redis has.")
    algorithm: str = said("flat or hnsw.")
    ready: bool = said("Whether searches ask it; the store answers else.")


class DemoShape(Shape):
    """The figures of the demo."""

    learned: LearnedShape = said("The result of reading the demo's history.")
    patterns: list[PatternShape] = said("What keeps failing in it.")
    steps_without: int = said("Steps that the agent takes without a lesson.")
    steps_with: int = said("Steps that it takes with one.")
    healed: dict[str, object] = said("Figures of the failing tests that were mended.")


class SyncedShape(Shape):
    """An instructions file with the lessons of its project."""

    file: str = said("The file.")
    lessons: int = said("Lessons in it.")
    facts: int = said("Facts of its project in it.")
    changed: bool = said("Whether it had to be written.")
    left_out: dict[str, int] = said("Active lessons of the project that are not in it, by the reason.")
    diff: str = said("What changes in it, or would with --dry-run.")


class InstalledFileShape(Shape):
    """A settings file of an agent."""

    path: str = said("The file.")
    changed: bool = said("Whether anything had to be changed.")
    diff: str = said("The change.")
    backup: str = said("The file that keeps what was there before; empty for none.")
    refused: str = said("Why the file was left as it is; empty where it was not.")


class InstalledShape(InstalledFileShape):
    """All settings files of an agent; the first one stands on top."""

    files: list[InstalledFileShape] = said("All of them.")

    @classmethod
    def all(cls, done: Sequence[Installed]) -> Self:
        """The shape of all files."""
        return cls.built(done[0], changed=any(each.changed for each in done), files=done)


class MadeTokenShape(Shape):
    """A new token; it cannot be seen again."""

    token: str = said("The token itself.")
    name: str = said("Names the token.")
    scopes: list[str] = said("read, write and run.")


class TokenShape(Shape):
    """A token, without itself."""

    name: str = said("Names the token.")
    scopes: list[str] = said("read, write and run.")
    created_at: float = said("When it was made.")
    revoked_at: float | None = said("When it was ended; null while it counts.", of=lambda each: each.revoked_at or None)


class IsolationShape(Shape):
    """The guarantees that a sandbox was seen to hold on this machine."""

    name: str = said("Names the sandbox.")
    works: bool = said("Whether it works here.")
    files: str = said("Of files outside of its folder.")
    network: str = said("Of the network.")
    pids: str = said("Of the number of processes.")
    memory: str = said("Of memory.")
    disk: str = said("Of disk space.")
    secrets: str = said("Of this person's secrets.")
    domains: str = said("Of a network of named domains; none where that is refused.")
    note: str = said("Why it does not work, or what to know about it.")
    verified: bool = said("Whether the abuse suite was run on such a system.")


class CopiedTableShape(Shape):
    """One table that was copied."""

    table: str = said("Names the table.")
    rows: int = said("Rows of it.")
    copied: int = said("Rows that had to be copied now.")
    hash: str = said("The hash over all rows.")
    same: bool = said("Whether it is the same on both sides.")


class MigratedShape(Shape):
    """A database that was copied."""

    source: str = said("The database that was read.")
    target: str = said("The database that was written.")
    rows: int = said("Rows in all.")
    tables: list[CopiedTableShape] = said("All tables.")


class CompactedShape(Shape):
    """The result of removing what is old."""

    before: float = said("Outcomes before this moment were old.")
    removed: dict[str, int] = said("Rows removed, by table.")
    dry_run: bool = said("Whether nothing was removed.")
