"""Names reloop's ports, for classes of users that derive from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field

from pydantic import JsonValue

from ratchet.compat.reloop.models import Checkpoint, FailureRecord, MemoryStatsResponse, Object, SuccessRecord


class MemoryBackend(ABC):
    """Keeps failures and successes, and finds them."""

    @abstractmethod
    async def store_failure(self, failure: FailureRecord) -> str:
        """Keep a failure; return its id."""

    @abstractmethod
    async def store_success(self, success: SuccessRecord) -> str:
        """Keep a success; return its id."""

    @abstractmethod
    async def get_similar_failures(
        self, error_type: str, error_message: str, limit: int = 5, embedding: list[float] | None = None
    ) -> list[FailureRecord]:
        """Failures like this error, the likest first."""

    @abstractmethod
    async def search(self, query: str, limit: int = 5, filters: Object | None = None) -> list[FailureRecord]:
        """Failures that a text is about, the best first."""

    @abstractmethod
    async def get_failure(self, failure_id: str) -> FailureRecord | None:
        """One failure; None where there is none."""

    @abstractmethod
    async def get_failures_for_task(self, task_id: str) -> list[FailureRecord]:
        """A task's failures."""

    @abstractmethod
    async def get_stats(self) -> MemoryStatsResponse:
        """Count what is kept."""

    @abstractmethod
    async def clear(self) -> None:
        """Forget all of it."""


@dataclass
class ExecutionResult:
    """A command's end."""

    exit_code: int
    stdout: str
    stderr: str
    duration_ms: int = 0

    @property
    def success(self) -> bool:
        """Tell whether it ended with 0."""
        return self.exit_code == 0

    @property
    def output(self) -> str:
        """Return the output of a success, the errors of a failure."""
        return self.stdout if self.success else self.stderr

    def to_dict(self) -> Object:
        """All of it by name."""
        return {**asdict(self), "success": self.success}


class SandboxProvider(ABC):
    """Runs commands apart from the machine."""

    @abstractmethod
    async def create(self, config: Object | None = None) -> str:
        """Make a sandbox; return its id."""

    @abstractmethod
    async def execute(self, sandbox_id: str, command: str, timeout: int = 120) -> ExecutionResult:
        """Run a command in it."""

    @abstractmethod
    async def checkpoint(self, sandbox_id: str) -> str:
        """Keep its state; return the checkpoint's id."""

    @abstractmethod
    async def restore(self, sandbox_id: str, checkpoint_id: str) -> None:
        """Go back to a checkpoint."""

    @abstractmethod
    async def destroy(self, sandbox_id: str) -> None:
        """End it."""

    @abstractmethod
    async def list_checkpoints(self, sandbox_id: str) -> list[Checkpoint]:
        """Its checkpoints."""


@dataclass
class LLMResponse:
    """A model's answer."""

    content: str
    tool_calls: list[Object] = field(default_factory=list)
    tokens_used: int = 0
    cost_usd: float = 0.0
    model: str = ""

    def to_dict(self) -> dict[str, JsonValue]:
        """All of it by name."""
        return asdict(self)


class LLMProvider(ABC):
    """Asks a model."""

    @abstractmethod
    async def generate(self, prompt: str, system: str = "", temperature: float = 0.3) -> LLMResponse:
        """Ask for an answer."""

    @abstractmethod
    async def generate_with_tools(
        self, prompt: str, system: str = "", tools: list[Object] | None = None, temperature: float = 0.3
    ) -> LLMResponse:
        """Ask for an answer or calls of tools."""

    @abstractmethod
    async def stream(self, prompt: str, system: str = "") -> AsyncIterator[str]:
        """Ask for an answer piece by piece."""

    @abstractmethod
    async def embed(self, text: str) -> list[float]:
        """Make a text a vector."""
