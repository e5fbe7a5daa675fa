"""Requests to an endpoint with OpenAI's chat completions: time limits, repetitions, and the meaning of failures."""

import re
from collections.abc import AsyncIterator, Mapping
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zlib import crc32

import anyio
import anyio.to_thread

from trunkline.core.agents.openai.answer import AnswerReader, EndpointError, ModelAnswer, quoted, words_of_error
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.config.base import is_loopback
from trunkline.core.errors import AgentFailed, ConfigError
from trunkline.core.reasons import Reason
from trunkline.core.well_formed import describe

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI


# The client library of OpenAI, loaded beside the event loop: loading takes seconds, and nothing else waits.

MISSING = "the client library of OpenAI is not installed: pip install 'trunkline[openai]'"
_PACKAGES = ("openai", "httpx")


class LateClient:
    """The client of an agent, made at the first use.

    Raises `ConfigError` for an impossible key, and if the library is not installed.
    """

    def __init__(self, config: OpenAIConfig, key: str | None) -> None:
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise ConfigError("the key for the endpoint has blanks, line ends or letters that no key has")
        if any(find_spec(name) is None for name in _PACKAGES):
            raise ConfigError(MISSING)
        self._config = config
        self._key = key
        self._client: AsyncOpenAI | None = None
        self._loading = anyio.Lock()

    async def get(self) -> "AsyncOpenAI":
        """The client. Raises `ConfigError` if the library cannot be loaded."""
        if self._client is None:
            async with self._loading:
                if self._client is None:
                    try:
                        # A cancelled caller does not stop the loading; its thread finishes it.
                        loading = anyio.to_thread.run_sync(_client, self._config, self._key, abandon_on_cancel=True)
                        self._client = await loading
                    except Exception as error:
                        # A half-installed library, or a proxy of the environment that httpx cannot use.
                        facts = f"the client library of OpenAI cannot be loaded: {describe(error)}"
                        raise ConfigError(facts) from error
        return self._client

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()


def _client(config: OpenAIConfig, key: str | None) -> "AsyncOpenAI":
    import httpx
    from openai import AsyncOpenAI

    from trunkline.core.agents.openai.error_body import bound

    host = urlsplit(config.base_url).hostname or ""
    limits = httpx.Timeout(config.silence, connect=min(config.silence, config.timeout))
    client = AsyncOpenAI(
        # Without a key the library would take a key from the environment, which may be that of another endpoint.
        api_key=key or "none",
        base_url=config.base_url,
        timeout=limits,
        max_retries=0,
        default_headers={"Accept-Encoding": "identity"},
        http_client=httpx.AsyncClient(
            timeout=limits,
            limits=httpx.Limits(max_connections=None),
            event_hooks={"response": [bound]},
            # A proxy that the environment names does not reach this machine.
            trust_env=not (is_loopback(host) or host.endswith(".localhost")),
        ),
    )
    # Both come from the environment too.
    client.organization = client.project = None
    # The library loads the modules behind this at their first use, which would hold up every turn of the gateway then.
    _ = client.chat.completions.with_streaming_response
    return client


_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = "\ufeff"


class EventTooLong(Exception):
    """An event is longer than the limit."""


class EventReader:
    """Takes bytes, and returns the data of complete events.

    `limit`: bytes of an event; a longer event raises `EventTooLong`. Comments, names and ids of events are left out. An
    event that no blank line ends is not complete.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        #: the pieces of a line that has not ended, and their bytes
        self._pending: list[bytes] = []
        self._waiting = 0
        self._data: list[str] = []
        self._size = 0
        self._is_first = True
        #: the last byte was a carriage return
        self._after_return = False

    def feed(self, data: bytes) -> list[str]:
        if not data:
            return []
        if self._after_return:
            # It belongs to the line end before it, which has counted already.
            data = data.removeprefix(b"\n")
        self._after_return = data.endswith(b"\r")
        first, *rest = _LINE_END.split(data)
        done: list[str] = []
        # Joined once per line: a long line may come in as many pieces as it has bytes.
        self._keep(first)
        for following in rest:
            line = b"".join(self._pending)
            self._pending, self._waiting = [], 0
            if line:
                self._take(line)
            elif self._data:
                done.append("\n".join(self._data))
                self._data, self._size = [], 0
            self._keep(following)
        if self._size + self._waiting > self._limit:
            raise EventTooLong
        return done

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._pending.append(piece)
            self._waiting += len(piece)

    def _take(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        if self._is_first:
            text, self._is_first = text.removeprefix(_MARK), False
        name, _, value = text.partition(":")
        if name != "data":
            return
        self._size += len(line)
        if self._size > self._limit:
            raise EventTooLong
        self._data.append(value.removeprefix(" "))


#: bytes of one character of an answer at most, as JSON escapes it; and of everything else in one event
_PER_CHARACTER, _BESIDE = 12, 65_536
#: answers that say that the same request may succeed later
_PASSING = frozenset({408, 409, 425, 429})
#: an account without money is not helped by waiting
_BROKE = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_TOO_LONG_WORDS = ("context length", "context_length", "maximum context", "context window", "too many tokens")
_END = "[DONE]"


class PassingFailure(Exception):
    """A request failed for the moment. `failed`: the error without a repetition; `wait`: requested seconds."""

    def __init__(self, failed: AgentFailed, wait: float | None = None) -> None:
        super().__init__(failed.facts)
        self.failed = failed
        self.wait = wait


class RequestTooLong(AgentFailed):
    """The request is too long for the model, according to the endpoint."""

    def __init__(self, facts: str = "") -> None:
        super().__init__(facts, Reason.INPUT_TOO_LONG)


class ModelEndpoint:
    """An endpoint for an agent.

    Raises `ConfigError` for an unusable key, and if the client library is not installed.
    """

    def __init__(self, config: OpenAIConfig, key: str | None) -> None:
        self._config = config
        self._key = key or ""
        self.client = LateClient(config, key)

    async def ask(self, body: Mapping[str, Any], turn: str) -> ModelAnswer:
        """The answer to a request. Raises `AgentFailed`. `turn`: an id, which spreads the waits of many turns."""
        waited = self._config.retry_wait
        for number in range(self._config.retries + 1):
            try:
                return await self._ask_once(body)
            except PassingFailure as error:
                asked = error.wait or 0.0
                if number == self._config.retries:
                    raise error.failed from error
                if asked > self._config.max_retry_wait:
                    facts = f"{error.failed.facts}; it asks to wait {asked:.0f} s, which is too long"
                    raise AgentFailed(facts, error.failed.reason) from error
                # Turns that failed together do not come back together.
                spread = 1 + crc32(f"{turn}/{number}".encode()) % 500 / 1000
                await anyio.sleep(min(max(asked, waited * spread), self._config.max_retry_wait))
                waited *= 2
        raise AssertionError("the last repetition returns or raises")

    async def _ask_once(self, body: Mapping[str, Any]) -> ModelAnswer:
        """Make a request, within the time limit. Raises `AgentFailed` or `PassingFailure`."""
        reader = AnswerReader(self._config.max_answer)
        client = await self.client.get()
        with anyio.move_on_after(self._config.timeout) as scope:
            return await self._request(client, body, reader)
        assert scope.cancelled_caught
        facts = f"no complete answer within {self._config.timeout:g} s; it had {reader.length} characters"
        raise AgentFailed(facts, Reason.AGENT_TIMEOUT)

    async def _request(self, client: Any, body: Mapping[str, Any], reader: AnswerReader) -> ModelAnswer:
        import httpx
        import openai

        try:
            async with client.chat.completions.with_streaming_response.create(**body) as response:
                await _read(response, reader, self._config)
            return reader.done()
        except openai.APIStatusError as error:
            raise self._of_status(error) from None
        except openai.APIConnectionError as error:
            raise self._of_connection(error.__cause__ or error, started=False) from None
        except httpx.HTTPError as error:
            raise self._of_connection(error, started=True) from None
        except EndpointError as error:
            facts = f"the endpoint reported an error in the middle of its answer: {self._clean(str(error))}"
            raise PassingFailure(AgentFailed(facts, Reason.AGENT_BROKE_OFF)) from None
        except AgentFailed as error:
            if error.reason is Reason.AGENT_BROKE_OFF:
                raise PassingFailure(error) from None
            raise

    def _of_status(self, error: "APIStatusError") -> AgentFailed | PassingFailure:
        status, response = error.status_code, error.response
        said = self._clean(words_of_error(error.body))
        code = str(error.code or "")
        if status in (400, 413, 422) and (code in _TOO_LONG or any(words in said.lower() for words in _TOO_LONG_WORDS)):
            return RequestTooLong(f"the endpoint finds the request too long for the model {self._config.model!r}")
        if status in (401, 403):
            # What it says of a key often quotes the key.
            return _unreachable(f"the endpoint does not accept the key ({status}): check `api_key` and `base_url`")
        if status == 404:
            facts = f"the endpoint has no model {self._config.model!r}, or `base_url` is wrong (404)"
            return _unreachable(f"{facts}: {said}" if said else facts)
        if 300 <= status < 400:
            return _unreachable(f"the endpoint redirects ({status}), which is not followed: check `base_url`")
        facts = f"the endpoint refused the request ({status}){f': {said}' if said else ''}"
        if (status in _PASSING or status >= 500) and code not in _BROKE:
            return PassingFailure(_unreachable(facts), _asked_wait(response.headers))
        return _unreachable(facts)

    def _of_connection(self, error: BaseException, *, started: bool) -> AgentFailed | PassingFailure:
        """The error of a failed connection. `started`: the answer had begun."""
        import httpx

        words = self._clean(f"{type(error).__name__}: {error}")
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout | httpx.ConnectError | httpx.ProxyError):
            return PassingFailure(_unreachable(f"no connection to {self._config.base_url} ({words})"))
        if isinstance(error, httpx.TimeoutException):
            return AgentFailed(f"the endpoint sent nothing for {self._config.silence:g} s", Reason.AGENT_TIMEOUT)
        if isinstance(error, httpx.DecodingError):
            return AgentFailed(f"the answer cannot be decompressed ({words})", Reason.BAD_ANSWER)
        where = "in the middle of the answer" if started else "before the answer"
        return PassingFailure(AgentFailed(f"the connection broke {where} ({words})", Reason.AGENT_BROKE_OFF))

    def _clean(self, said: str) -> str:
        """Words of an endpoint, without the key."""
        return quoted(said.replace(self._key, "***") if self._key else said)


async def _read(response: Any, reader: AnswerReader, config: OpenAIConfig) -> None:
    """Read an answer with a good status. Raises `AgentFailed`, `EndpointError`, `httpx.HTTPError`."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    limit = _PER_CHARACTER * config.max_answer + _BESIDE
    too_long = AgentFailed(f"the endpoint sent more than {limit} bytes at once", Reason.ANSWER_TOO_LONG)
    if kind.endswith("json"):
        # Also from an endpoint that cannot stream.
        whole = b""
        async for data in response.iter_bytes():
            whole += data
            if len(whole) > limit:
                raise too_long
        reader.add(whole)
        return
    if not config.stream or kind not in ("text/event-stream", ""):
        expected = "text/event-stream" if config.stream else "application/json"
        facts = f"the endpoint answered with {quoted(kind) or 'no content type'} instead of {expected}"
        raise AgentFailed(facts, Reason.BAD_ANSWER)
    try:
        async for event in _events(response, EventReader(limit)):
            if event.strip() == _END:
                return
            reader.add(event)
    except EventTooLong:
        raise too_long from None


async def _events(response: Any, events: EventReader) -> AsyncIterator[str]:
    async for data in response.iter_bytes():
        for event in events.feed(data):
            yield event


def _unreachable(facts: str) -> AgentFailed:
    return AgentFailed(facts, Reason.AGENT_UNREACHABLE)


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait for an endpoint: ``retry-after-ms``, or ``retry-after`` as seconds or as a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        # The difference of two times of the endpoint: its clock may be wrong.
        until, now = parsedate_to_datetime(headers["retry-after"]), parsedate_to_datetime(headers["date"])
        return max(0.0, (until - now).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None
