"""Offers self-improving-loop's API: `from ratchet.compat.self_improving_loop import SelfImprovingLoop`."""

from ratchet.compat.self_improving_loop.adapters import ConfigAdapter
from ratchet.compat.self_improving_loop.core import SelfImprovingLoop
from ratchet.compat.self_improving_loop.notifier import TelegramNotifier
from ratchet.compat.self_improving_loop.rollback import AutoRollback
from ratchet.compat.self_improving_loop.threshold import AdaptiveThreshold
from ratchet.compat.self_improving_loop.trace_store import JsonlTraceStore, SQLiteTraceStore
from ratchet.compat.self_improving_loop.yijing import YijingEvolutionStrategy

__version__ = "0.1.3"  # whose API this is

__all__ = [
    "AdaptiveThreshold",
    "AutoRollback",
    "ConfigAdapter",
    "JsonlTraceStore",
    "SQLiteTraceStore",
    "SelfImprovingLoop",
    "TelegramNotifier",
    "YijingEvolutionStrategy",
]
