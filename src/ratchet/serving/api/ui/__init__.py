"""The pages of a server, under `/` and `/ui`: drawn from the same operations, without a build step."""

from __future__ import annotations

from fastapi import APIRouter

from ratchet.serving.api.ui import (
    agents,
    episodes,
    finding,
    lessons,
    login,
    overview,
    patterns,
    recalling,
    sessions,
    settings,
    skills,
    teams,
    trials,
)

ROUTERS: tuple[APIRouter, ...] = (
    overview.router,
    sessions.router,
    patterns.router,
    lessons.router,
    skills.router,
    trials.router,
    finding.router,
    recalling.router,
    settings.router,
    episodes.router,
    teams.router,
    agents.router,
    login.router,
)
"""All of them; none is in the OpenAPI document, since they are for eyes."""
