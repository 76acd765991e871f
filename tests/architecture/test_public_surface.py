"""The public names: adding one is a decision, removing one breaks somebody's agent."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import ratchet

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {
    "ratchet": """
        AsyncRatchet BackendError Change Choice Classification Conflict Exposure Failure FileTarget Fix
        FunctionTarget Knob Lesson MappingTarget ModelError NotFound Outcome Pattern Problem Proposal ProposalJob
        Proposed ProposerOptions Range Ratchet RatchetError Refused SandboxError SolveJob Solved SolverOptions
        SpanProcessor Step StoreError Trial UsageError __version__ bench classify evolve failed group heal record redact
        retry settings succeeded watch
    """,
    "ratchet.team": """
        Brief Handed Orchestrator Supervised Supervisor TeamBudget TeamPlan TeamRecord TeamRun TeamTask ToolRequest
        ToolResult Worker call_tools
    """,
    "ratchet.gate": "CanaryTest Counts EvidenceLedger PairedGate PromoteTest RankBet ScoreAnswer ScoreGate",
    "ratchet.ports": """
        Arms Changes Command Edit FileChange Fix Guarantee Held Isolation Killed Limits Notice Notifier Page Problem
        Progress Proposer Ran Read Restored Sandbox Source Store Target View Where Workspace
    """,
}
BESIDE = {
    "ratchet.integrations.otel_evaluations": {"EvaluationEvents"},
    "ratchet.compat.rsi_loop.doom_loop_detector": {"check_before_tool_call"},
    "ratchet.compat.rsi_loop.risk_policy": {"RiskPolicy"},
    "ratchet.compat.rsi_loop.training": {"export_sessions"},
    "ratchet.compat.reloop": {"FailureMemory", "SyncFailureMemory"},
    "ratchet.compat.self_improving_loop": {"AutoRollback", "SelfImprovingLoop"},
    "ratchet.compat.rsi_loop": {"Config", "Fixer", "RSILoop"},
    "ratchet.testing.clients": {"Sample", "check"},
    "ratchet.hookpath": {"main"},  # stands in people's settings files
    "ratchet.testing.abuse_suite": {"CASES", "problems"},
    "ratchet.testing.abuse_domains": {"DIRECT", "HONEST", "WAYS", "broken", "through"},
    "ratchet.testing.domain_world": {"domain_world"},
    "ratchet.testing.model_server": {"ModelServer"},
    "ratchet.testing.wire": {"Reply"},
    "ratchet.sandbox.bubblewrap": {"Bubblewrap"},  # by which the page on the sandbox shows the abuse suite
}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these(module: str) -> None:
    assert set(import_module(module).__all__) == set(PUBLIC[module].split())


@pytest.mark.parametrize("module", [*PUBLIC, *BESIDE])
def test_every_public_name_is_importable_from_where_it_says(module: str) -> None:
    held = import_module(module)
    for name in BESIDE.get(module) or PUBLIC[module].split():
        assert hasattr(held, name), f"{module}.{name}"


def test_what_documents_import_is_public() -> None:
    known = {**{module: set(names.split()) for module, names in PUBLIC.items()}, **BESIDE}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ratchet":
                    names = {alias.name for alias in node.names}
                    assert names <= known.get(node.module or "", set()), f"{page.name}: {node.module} {names}"


def test_the_reference_describes_every_name_of_ratchet() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    described = set(re.findall(r"^## `(\w+)", page, flags=re.MULTILINE))
    assert described == set(ratchet.__all__) - {"__version__"}
