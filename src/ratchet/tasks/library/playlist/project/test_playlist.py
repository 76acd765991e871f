from playlist import Playlist
from song import Song

SONGS = [Song("One", 65), Song("Two", 130)]


def test_goes_round():
    played = Playlist(SONGS)
    assert [played.current.title, played.following().title, played.following().title] == ["One", "Two", "One"]


def test_length():
    assert Playlist(SONGS).length() == 195


def test_shown():
    assert SONGS[0].shown == "One (1:05)"
    assert SONGS[1].shown == "Two (2:10)"
