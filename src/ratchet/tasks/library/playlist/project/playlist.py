"""A list of songs with a place in it."""


class Playlist:
    def __init__(self, songs):
        self.songs = list(songs)
        self.at = 0

    @property
    def current(self):
        return self.songs[self.at]

    def following(self):
        """Go on to the next; after the last comes the first."""
        self.at = (self.at + 1) % len(self.songs)
        return self.current

    def length(self):
        return sum(song.seconds for song in self.songs)
