"""A song and its length."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Song:
    title: str
    seconds: int

    @property
    def shown(self):
        minutes, rest = divmod(self.seconds, 60)
        return f"{self.title} ({minutes}:{rest:02})"
