"""Takes outcomes over HTTP, in a Flask application. `ratchet serve` has the same route, with tokens and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ratchet.compat.rsi_loop.integrations.adapter import Adapter
from ratchet.compat.rsi_loop.types import Outcome
from ratchet.errors import UsageError

if TYPE_CHECKING:
    from flask import Flask

    from ratchet.records import Json


class WebhookAdapter(Adapter):
    """Adapter of an HTTP endpoint: POST /observe, GET /health, GET /patterns."""

    def create_app(self) -> Flask:
        """Make the Flask application. Raises UsageError without Flask."""
        try:
            from flask import Flask, request
        except ImportError:
            raise UsageError(
                "the webhook adapter of rsi-loop is a Flask application: pip install flask, or use `ratchet serve`"
            ) from None

        app = Flask("rsi_loop_webhook")

        def observe() -> tuple[dict[str, Json], int]:
            recorded = self.loop.observer.record(Outcome.from_dict(request.get_json(force=True)))
            return {"id": recorded.id, "issues": [*recorded.issues]}, 201

        def health() -> dict[str, Json]:
            return {"health_score": self.health_score()}

        def patterns() -> dict[str, Json]:
            found: list[Json] = [each.to_dict() for each in self.run_cycle()]
            return {"health_score": self.health_score(), "patterns": found}

        app.add_url_rule("/observe", view_func=observe, methods=["POST"])
        app.add_url_rule("/health", view_func=health)
        app.add_url_rule("/patterns", view_func=patterns)
        return app
