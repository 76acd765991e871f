"""Offers rsi-loop's API: `from ratchet.compat.rsi_loop import RSILoop`."""

from ratchet.compat.rsi_loop.analyzer import Analyzer
from ratchet.compat.rsi_loop.fixer import Fixer
from ratchet.compat.rsi_loop.loop import RSILoop
from ratchet.compat.rsi_loop.observer import Observer
from ratchet.compat.rsi_loop.types import Config, Fix, Outcome, Pattern

__all__ = ["Analyzer", "Config", "Fix", "Fixer", "Observer", "Outcome", "Pattern", "RSILoop"]
