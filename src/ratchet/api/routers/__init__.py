"""One router a noun; each only translates operations of the runtime."""

from __future__ import annotations

from fastapi import APIRouter

from ratchet.api.routers import health, patterns

ROUTERS: tuple[APIRouter, ...] = (health.router, patterns.router)
"""All of them, in the order of the OpenAPI document."""
