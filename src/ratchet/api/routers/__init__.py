"""One router a noun; each only translates operations of the runtime."""

from __future__ import annotations

from fastapi import APIRouter

from ratchet.api.routers import (
    health,
    lessons,
    memories,
    otlp,
    outcomes,
    patterns,
    proposals,
    settings,
    trials,
    webhook,
)

ROUTERS: tuple[APIRouter, ...] = (
    outcomes.router,
    otlp.router,
    webhook.router,
    health.router,
    patterns.router,
    lessons.router,
    memories.router,
    trials.router,
    proposals.router,
    settings.router,
)
"""All of them, in the order of the OpenAPI document."""
