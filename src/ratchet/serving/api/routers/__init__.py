"""One router a noun; each only translates operations of the runtime."""

from __future__ import annotations

from fastapi import APIRouter

from ratchet.serving.api.routers import (
    backtest,
    bench,
    cures,
    distill,
    events,
    evolve,
    facts,
    health,
    lessons,
    memories,
    metrics,
    otlp,
    outcomes,
    patterns,
    proposals,
    report,
    sessions,
    settings,
    skills,
    tasks,
    teams,
    trials,
    used,
    webhook,
)

ROUTERS: tuple[APIRouter, ...] = (
    outcomes.router,
    sessions.router,
    used.router,
    teams.router,
    otlp.router,
    webhook.router,
    health.router,
    report.router,
    patterns.router,
    cures.router,
    distill.router,
    lessons.router,
    skills.router,
    facts.router,
    backtest.router,
    memories.router,
    trials.router,
    proposals.router,
    settings.router,
    tasks.router,
    bench.router,
    evolve.router,
    events.router,
    metrics.router,
)
"""All of them, in the order of the OpenAPI document."""
