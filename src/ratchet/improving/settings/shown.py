"""Settings as they may be shown: a person's secret may stand in a knob or in what its declaration allows."""

from __future__ import annotations

from dataclasses import replace

from ratchet.failures.redaction.text import redact_json
from ratchet.improving.settings.book import SettingsView
from ratchet.records import Json, Row, Version


def masked(view: SettingsView) -> SettingsView:
    """The same settings, each secret in their values and bounds hidden."""
    return replace(
        view,
        version=masked_version(view.version),
        knobs=tuple(
            replace(each, value=_masked(each.name, each.value), bounds=_values({**each.bounds})) for each in view.knobs
        ),
    )


def masked_version(version: Version) -> Version:
    """The same version, each secret in its values hidden."""
    return replace(version, values=_values({**version.values}))


def _values(values: Row) -> Row:
    return {name: _masked(name, value) for name, value in values.items()}


def _masked(name: str, value: Json) -> Json:
    """The value without a secret; what the name says about it counts."""
    held = redact_json({name: value})
    return next(iter(held.values()), None) if isinstance(held, dict) else None
