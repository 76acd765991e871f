"""The shapes of what only tools answer; the others are those of the API (`ratchet.serving.api.outputs`)."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ratchet.serving.api.outputs import Pattern
from ratchet.serving.api.runoutputs import Checkpoint


class Recorded(BaseModel):
    id: str
    ok: bool
    kind: str = Field(description="The class of the failure; empty for a success.")
    signature: str


class Patterns(BaseModel):
    patterns: list[Pattern]
    total: int


class Checkpoints(BaseModel):
    checkpoints: list[Checkpoint]


class Ran(BaseModel):
    exit_code: int
    signal: int | None
    killed: str = Field(description="The limit that ended it; empty for none.")
    truncated: bool
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    max_mem_mb: float
    isolation: str
