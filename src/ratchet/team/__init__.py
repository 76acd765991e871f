"""Teams of agents: tasks that need one another, handed to workers, each step an outcome; and the overseer."""

# Nothing is imported until it is used: a worker's own process reads `ratchet.team.handed` and no more of it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.team.handed import Handed
    from ratchet.team.orchestrator import Orchestrator
    from ratchet.team.supervisor import Brief, Supervised, Supervisor, TeamPlan
    from ratchet.team.tools import ToolRequest, ToolResult, call_tools
    from ratchet.team.values import TeamBudget, TeamRecord, TeamRun, TeamTask
    from ratchet.team.worker import Worker

_NAMES = {
    "handed": "Handed",
    "orchestrator": "Orchestrator",
    "supervisor": "Brief Supervised Supervisor TeamPlan",
    "tools": "ToolRequest ToolResult call_tools",
    "values": "TeamBudget TeamRecord TeamRun TeamTask",
    "worker": "Worker",
}
_HOME_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Brief",
    "Handed",
    "Orchestrator",
    "Supervised",
    "Supervisor",
    "TeamBudget",
    "TeamPlan",
    "TeamRecord",
    "TeamRun",
    "TeamTask",
    "ToolRequest",
    "ToolResult",
    "Worker",
    "call_tools",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'ratchet.team' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"ratchet.team.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
