from contacts import Contacts


def test_finds_by_part():
    book = Contacts()
    book.add("ada  lovelace", "+44 20 1234")
    book.add("Alan turing", "(020) 99-88 ext")
    assert book.find("lov") == [("Ada Lovelace", "+44201234")]
    assert book.find("al") == [("Alan Turing", "0209988")]


def test_nobody():
    assert Contacts().find("x") == []
