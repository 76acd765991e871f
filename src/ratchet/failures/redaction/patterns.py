"""Regular expressions that are compiled at first use.

Lean: a hook process imports this.
"""

from __future__ import annotations

import re

_cache: dict[str, re.Pattern[str]] = {}


def compiled(source: str) -> re.Pattern[str]:
    """Compile an expression once: most processes never meet most kinds of secrets."""
    found = _cache.get(source)
    if found is None:
        found = _cache[source] = re.compile(source)
    return found
