"""One request to one model through pydantic-ai, with an end that is kept whatever the other side does."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic_ai import exceptions, messages
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from ratchet.failures.kinds.kind import is_retry_safe, kind_of
from ratchet.failures.redaction.text import clean
from ratchet.healing.models.bounding import bounded
from ratchet.healing.models.names import ModelName
from ratchet.healing.models.prices import Usage
from ratchet.records import Json

Speaker = Literal["person", "model"]
Ended = Literal["", "length", "circles", "refusal", "content_filter"]
_LOOK_S = 0.1  # how often the waiting thread asks whether to go on
_GRACE_S = 1.0  # for a cancelled request to close its connection; then its thread is left behind
_SAID = 300  # characters of a provider's error that are told on
_CONNECT_S = 10.0
_KEY_CHARS = 6  # shorter values of a key's variable are words such as "none"
_LOOK_EVENTS = 64  # of a stream, between looks at whether it goes in circles
_CIRCLE, _CIRCLES = 120, 6  # so many characters at the end that stand there so many times: small models do not recover
# The categories of pydantic-ai, narrowest first: they rest on the provider's own codes.
_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.ModelRateLimitError, "rate_limit"),
    (exceptions.ModelQuotaExceededError, "quota_exhausted"),
    (exceptions.ModelUnavailableError, "overloaded"),
    (exceptions.ModelServerError, "server_error"),
    (exceptions.ModelTimeoutError, "timeout"),
    (exceptions.ModelRequestTimeout, "timeout"),
    (exceptions.ModelConnectionError, "network"),
    (exceptions.ModelContextWindowExceededError, "context_overflow"),
    (exceptions.ModelAuthenticationError, "auth"),
    (exceptions.ModelNotFoundError, "model_not_found"),
    (exceptions.ModelRequestRejectedError, "invalid_request"),
    (exceptions.ContentFilterError, "content_filter"),
    (exceptions.UnexpectedModelBehavior, "malformed_output"),
    (ImportError, "dependency_missing"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Request to a model. `schema` binds the answer where the model can be bound."""

    model: ModelName
    rules: str
    turns: tuple[tuple[Speaker, str], ...]
    schema: Mapping[str, Json] | None
    temperature: float
    output_tokens: int
    seed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Reply of a model. `usage` is None where the server did not count."""

    text: str
    usage: Usage | None
    ended: Ended
    """What else than the end of the answer ended it; circles: it said the same again and again, and was broken off."""


class CallFailed(Exception):  # noqa: N818  (data for the chain, turned into a ModelError there)
    """No answer: a kind, and whether the same request may be sent again."""

    def __init__(self, kind: str, message: str, *, retry_after_s: float | None = None, may_cost: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_safe = is_retry_safe(kind, message)
        self.retry_after_s = retry_after_s
        self.may_cost = may_cost
        """The model may have worked on it: an answer was broken off, or never seen to its end."""


def call(request: Request, *, timeout_s: float, cancelled: Callable[[], bool]) -> Completion:
    """Send it and wait for the whole answer, at most `timeout_s`. Raises CallFailed.

    The request lives in a thread of its own with its own event loop and connections, so that a caller with a loop may
    call, and a request that cannot be stopped is left behind rather than waited for.
    """
    run = _Run(request, timeout_s)
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run.work,), daemon=True, name="ratchet-model")
    thread.start()
    ends = time.monotonic() + timeout_s
    while not run.done.wait(_LOOK_S):
        if cancelled() or time.monotonic() >= ends:
            run.stop()
            run.done.wait(_GRACE_S)
            break
    if isinstance(run.outcome, Completion):
        return run.outcome
    if isinstance(run.outcome, Exception):
        raise run.outcome
    if time.monotonic() < ends:
        raise CallFailed("cancelled", "it was cancelled", may_cost=True)
    raise CallFailed("timeout", f"no whole answer within {timeout_s:.0f} s", may_cost=True)


class _Run:
    """One request under way in its thread."""

    def __init__(self, request: Request, timeout_s: float) -> None:
        self.done = threading.Event()
        self.outcome: Completion | CallFailed | None = None
        self._request = request
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Completion] | None = None
        self._sent = False

    def work(self) -> None:
        try:
            self.outcome = asyncio.run(self._cancellable())
        except asyncio.CancelledError:
            pass  # the waiting thread knows why
        except Exception as error:  # noqa: BLE001  (SDKs and transports raise anything; all of it means: no answer)
            self.outcome = _failure(error, sent=self._sent)
        finally:
            self.done.set()

    def stop(self) -> None:
        """Close the connection, if the loop still answers."""
        with self._lock:
            self._stopped = True
            if self._loop is not None and self._task is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._task.cancel)

    async def _cancellable(self) -> Completion:
        with self._lock:
            if self._stopped:
                raise asyncio.CancelledError
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.ensure_future(self._ask())
        return await self._task

    async def _ask(self) -> Completion:
        request = self._request
        model = _model(request.model)
        bounded(getattr(model, "client", None))
        async with model:
            self._sent = True
            stream = model_request_stream(
                model,
                _messages(request),
                model_settings=_settings(request, self._timeout_s),
                model_request_parameters=_parameters(request),
            )
            async with stream as events:
                seen = 0
                async for _event in events:
                    seen += 1
                    if seen % _LOOK_EVENTS == 0 and goes_in_circles(_text(events.get())):
                        return Completion(text=_text(events.get()), usage=None, ended="circles")
                return _said(events.get())


def _model(named: ModelName) -> Model:
    if not named.base_url:
        return infer_model(str(named))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    # Without a key of its own a server is sent a placeholder: never a key that is somebody else's.
    key = os.environ.get(named.key_variable) if named.key_variable else None
    provider = OpenAICompatibleProvider(
        named.provider,
        base_url=named.base_url,
        api_key=key or "none",
        # The older name of the limit is the one that every compatible server knows.
        profile=OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False),
    )
    return OpenAIChatModel(named.name, provider=provider)


def _messages(request: Request) -> Sequence[ModelMessage]:
    found: list[ModelMessage] = []
    for speaker, text in request.turns:
        if speaker == "model":
            found.append(ModelResponse(parts=[messages.TextPart(text)]))
        else:
            found.append(messages.ModelRequest.user_text_prompt(text, instructions=request.rules or None))
    return found


def _settings(request: Request, timeout_s: float) -> ModelSettings:
    settings = ModelSettings(
        max_tokens=request.output_tokens,
        temperature=request.temperature,
        timeout=max(_CONNECT_S, timeout_s),
        max_retries=0,  # each try is paid from the purse: none is made behind its back
    )
    if request.seed is not None and request.model.base_url:
        settings["seed"] = request.seed
    return settings


def _parameters(request: Request) -> ModelRequestParameters:
    if request.schema is None:
        return ModelRequestParameters()
    bound = OutputObjectDefinition(json_schema=dict(request.schema), name="answer")
    return ModelRequestParameters(output_mode="native", output_object=bound)


def goes_in_circles(text: str) -> bool:
    """Tell whether a text has come to say the same again and again. A file of alike lines does so, too, but not with
    its last 120 characters six times without overlap."""
    if len(text) < _CIRCLE * _CIRCLES:
        return False
    return text.count(text[-_CIRCLE:]) >= _CIRCLES


def _text(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, messages.TextPart))


def _said(response: ModelResponse) -> Completion:
    text = _text(response)
    refusal = (response.provider_details or {}).get("refusal")
    ended: Ended = ""
    if refusal:
        text, ended = text or str(refusal), "refusal"
    elif response.finish_reason in ("length", "content_filter"):
        ended = response.finish_reason
    counted = response.usage
    if counted.unmeasured_requests or not counted.input_tokens:
        return Completion(text=text, usage=None, ended=ended)
    usage = Usage(
        counted.input_tokens, counted.output_tokens, counted.cache_read_tokens or 0, counted.cache_write_tokens or 0
    )
    return Completion(text=text, usage=usage, ended=ended)


def _failure(error: Exception, *, sent: bool) -> CallFailed:
    """Translate an exception of the SDKs. Its text is cut and has its secrets taken out."""
    said = _told(error)
    kind = _kind(error, said)
    # A status ahead of the stream, or a connection that was never made: nobody worked on it.
    refused = isinstance(error, exceptions.ModelHTTPError) and not error.in_stream
    never_left = getattr(error, "phase", None) in ("pool", "connect") or kind in ("auth", "dependency_missing")
    return CallFailed(
        kind,
        clean(" ".join(_without_keys(said).split()), _SAID),
        retry_after_s=getattr(error, "retry_after", None),
        may_cost=sent and not refused and not never_left,
    )


def _without_keys(said: str) -> str:
    """Take out what this process authenticates with: a provider may repeat it, and of one's own server it may have any
    form."""
    for name, value in os.environ.items():
        if name.endswith(("_API_KEY", "_TOKEN")) and len(value) >= _KEY_CHARS:
            said = said.replace(value, f"[redacted:{name}]")
    return said


def _told(error: Exception) -> str:
    """Return the provider's own words, without the frame that the SDKs put around it."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else None
    status = getattr(error, "status_code", None)
    if isinstance(said, str) and said:
        return f"{said} (HTTP {status})" if isinstance(status, int) else said
    return str(error) or type(error).__name__


def _kind(error: Exception, said: str) -> str:
    if isinstance(error, exceptions.UserError):
        if "API_KEY" in said or "api_key" in said:
            return "auth"
        return "model_not_found" if said.startswith("Unknown") else "invalid_request"
    known = next((kind for category, kind in _KINDS if isinstance(error, category)), "")
    if known == "invalid_request" and kind_of(said) == "context_overflow":  # servers that give no code of their own
        return "context_overflow"
    return known or kind_of(said, exception=[each.__name__ for each in type(error).__mro__])
