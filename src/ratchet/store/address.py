"""Addresses of databases as people may see them: never with a password."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

SCHEMES = ("postgresql", "postgres")
_SECRETS = ("password", "sslpassword", "passfile")


def is_database(text: str) -> bool:
    """Tell whether this is the address of a database server, and not a path."""
    return text.partition("://")[0] in SCHEMES and "://" in text


def masked(url: str) -> str:
    """The address without its password and without its options."""
    try:
        parts = urlsplit(url)
        user, host, port = parts.username or "", parts.hostname or "", f":{parts.port}" if parts.port else ""
        folder = parse_qs(parts.query).get("host", [""])[0]
    except ValueError:  # a port that is no number: nobody can tell where the password ends
        return f"{url.partition('://')[0]}://..."
    named = f"{user}{':***' if parts.password else ''}@" if user else ""
    host = f"[{host}]" if ":" in host else host
    # After an unescaped "/", "?" or "#" of a password its rest stands where no password is looked for.
    path = parts.path if "@" not in parts.path + parts.query + parts.fragment else "/..."
    return f"{parts.scheme}://{named}{host or folder}{port}{path}"


def without_secrets(said: str, url: str) -> str:
    """A message of a driver, with every secret of the address taken out."""
    try:
        parts = urlsplit(url)
        found = [parts.password or ""]
        options = parse_qs(parts.query)
    except ValueError:
        return "the address cannot be read"
    found += [value for name in _SECRETS for value in options.get(name, [])]
    for secret in found:
        for form in {secret, unquote(secret)} - {""}:
            said = said.replace(form, "***")
    return said
