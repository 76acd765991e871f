"""One form for names and numbers."""


def name(text):
    """Words with capitals and single spaces."""
    return " ".join(word.capitalize() for word in text.split())


def number(text):
    """Digits only, a leading plus kept."""
    digits = "".join(char for char in text if char.isdigit())
    return "+" + digits if text.strip().startswith("+") else digits
