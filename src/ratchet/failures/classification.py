"""`ratchet.classify`: what kind of failure a text or an exception is, and whether a retry can help."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ratchet.errors import UsageError
from ratchet.failures.kinds.kind import decided, is_retry_safe, is_transient
from ratchet.failures.redaction.text import clean
from ratchet.failures.signature import sign, template_of

DEPTH = 5  # causes that are followed; deeper ones are the machinery of retries around the same error
VAGUE = frozenset(("other", "code_error", "tool_error", "command_failed"))  # a cause that says more decides instead


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """Class of a failure. `kind` is a name of `kinds.KINDS`; `transient`: it may pass by itself; `retry_safe`: the same
    call may be made again as it stands, unless its caller knows it is not idempotent; `signature` names the cause on
    every machine; `template` is the masked text behind it; `rule` says what decided the kind."""

    kind: str
    transient: bool
    retry_safe: bool
    signature: str
    template: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """Facts that an exception tells of itself.

    `text` is its message, or its class where it has none; `classes` are the names of its class and bases, narrowest
    first; `code` is the provider's own, or the name of an errno. None and empty where it says nothing.
    """

    text: str
    classes: tuple[str, ...]
    status: int | None = None
    exit_code: int | None = None
    code: str = ""


def classify(failure: str | BaseException, status: int | None = None, exit_code: int | None = None) -> Classification:
    """Classify an error text (a provider's JSON body and a whole tool output are fine too) or an exception.

    `status` is the HTTP status and `exit_code` the process's, where the caller knows them. Raises UsageError for
    anything that is neither text nor an exception.
    """
    _check_number("status", status)
    _check_number("exit_code", exit_code)
    if isinstance(failure, str):
        text = clean(failure)  # as it would be recorded, so that both have one signature
        kind, rule = decided(text, (), status, exit_code)
    elif isinstance(failure, BaseException):
        text, kind, rule = _kind_raised(failure, status, exit_code)
    else:
        raise UsageError(
            f"classify takes an error text (str) or an exception, not {type(failure).__name__}; "
            "pass json.dumps(body) for a provider's error body and decode bytes first"
        )
    template = template_of(clean(text))
    return Classification(
        kind=kind,
        transient=is_transient(kind, text),
        retry_safe=is_retry_safe(kind, text),
        signature=sign(kind, template),
        template=template,
        rule=rule,
    )


def raised(error: BaseException) -> Raised:
    """Read an exception of any library, without importing it and whatever its attributes do."""
    cls = type(error)
    module = "" if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}."
    said = text_of(error)
    number = attribute(error, "errno")
    status, exit_code = _status_of(error), None
    code = _code_of(error) or (errno.errorcode.get(number, "") if isinstance(number, int) else "")
    returned = attribute(error, "returncode")
    if isinstance(returned, int):
        exit_code = returned
        said = "\n".join(
            filter(None, (said, _decoded(attribute(error, "stderr")), _decoded(attribute(error, "output"))))
        )
    return Raised(
        text=said or f"{module}{cls.__qualname__}",  # as `record` keeps it: the same failure has the same signature
        classes=tuple(base.__name__ for base in cls.__mro__[:-1] if base not in (Exception, BaseException)),
        status=status,
        exit_code=exit_code,
        code=code,
    )


def kind_raised(error: BaseException) -> str:
    """The kind of an exception: its own, or where that is vague, that of the first telling cause."""
    return _kind_raised(error, None, None)[1]


def _kind_raised(error: BaseException, status: int | None, exit_code: int | None) -> tuple[str, str, str]:
    """The text of the exception itself, its kind (where its own is vague, the first telling cause's) and its rule."""
    text, kind, rule = "", "other", ""
    for depth, one in enumerate(chain(error)):
        facts = raised(one)
        found, by = decided(
            facts.text,
            facts.classes or ("Exception",),
            status if status is not None and depth == 0 else facts.status,
            exit_code if exit_code is not None and depth == 0 else facts.exit_code,
            facts.code,
        )
        if depth == 0:
            text, kind, rule = facts.text, found, by
        if found not in VAGUE:
            return text, found, by
    return text, kind, rule


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it wraps: causes, the last attempt of a retry, the members of a group."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < DEPTH:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        held = (attribute(one, "reason"), *one.args[:1])  # urllib's URLError, urllib3's MaxRetryError, requests'
        wrapped = [one.__cause__, _last_attempt(one), *_members(one), *held]
        waiting += [inner for inner in wrapped if isinstance(inner, BaseException)]


def _members(error: BaseException) -> tuple[object, ...]:
    return error.exceptions if isinstance(error, BaseExceptionGroup) else ()


def _last_attempt(error: BaseException) -> object:
    """tenacity's RetryError keeps the failed future, stamina and backoff chain the cause."""
    attempt = attribute(error, "last_attempt")
    return attribute(attempt, "_exception") if attempt is not None else None


def _status_of(error: BaseException) -> int | None:
    response = attribute(error, "response")
    meta = response.get("ResponseMetadata") if isinstance(response, Mapping) else None  # botocore
    found = (
        *(attribute(error, name) for name in ("status_code", "status", "http_status", "code")),
        *(attribute(response, name) for name in ("status_code", "status")),
        meta.get("HTTPStatusCode") if isinstance(meta, Mapping) else None,
    )
    return next((int(value) for value in found if isinstance(value, int) and 400 <= value <= 599), None)


def _code_of(error: BaseException) -> str:
    """The provider's own words: `code`, `type`, those in the body, botocore's Error.Code, gRPC's status, JSON-RPC's."""
    response, body = attribute(error, "response"), attribute(error, "body")
    boto = response.get("Error") if isinstance(response, Mapping) else None
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    jsonrpc = attribute(attribute(error, "error"), "code")
    said: list[object] = [attribute(error, "code"), attribute(error, "type"), attribute(error, "error_code"), jsonrpc]
    if isinstance(boto, Mapping):
        said.append(boto.get("Code"))
    if isinstance(inner, Mapping):
        said += [inner.get("type"), inner.get("code"), inner.get("status")]
    if hasattr(type(error), "code") and callable(said[0]):  # gRPC: a method that returns an enum
        said[0] = attribute(_called(said[0]), "name")
    words = [value for value in said if isinstance(value, str) and len(value) < 100]
    if isinstance(jsonrpc, int):
        words.append(str(jsonrpc))
    return " ".join(words)


def _called(method: object) -> object:
    try:
        return method() if callable(method) else None
    except Exception:  # noqa: BLE001  (a foreign exception's method may do anything; its code is only a hint)
        return None


def attribute(thing: object, name: str) -> object:
    """An attribute, or None: properties of foreign exceptions raise (an unread httpx response does)."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001  (see above: the hint is absent, the failure itself is still classified)
        return None


def text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (a broken __str__ must not hide the failure it belongs to)
        return ""


def _decoded(output: object) -> str:
    if isinstance(output, bytes):
        return output.decode("utf-8", "replace")
    return output if isinstance(output, str) else ""


def _check_number(name: str, value: object) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise UsageError(f"{name} is a whole number or None, not {type(value).__name__}; pass for example {name}=1")
