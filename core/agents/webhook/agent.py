"""A webhook as an agent: posts each turn, carries out the calls in the response, and posts the results."""

import hashlib
import hmac
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import anyio
import httpx
import msgspec

from trunkline.core.agent import Turn
from trunkline.core.agents.calls import CallRunner
from trunkline.core.agents.log import LOGGER, shown
from trunkline.core.agents.turn_document import PROTOCOL, TurnDocument, document_of
from trunkline.core.agents.webhook.config import WebhookConfig, wrong_header
from trunkline.core.agents.webhook.messages import BadReply, DoneCall, WebhookReply, posted, read_reply
from trunkline.core.config.secrets import Secret
from trunkline.core.env import Env
from trunkline.core.errors import AgentFailed, ConfigError
from trunkline.core.reasons import Reason
from trunkline.core.well_formed import words_of

# Requests to a webhook: repeated only where safe, with responses read within limits.

SIGNATURE_HEADER = "Trunkline-Signature"


def signature_of(secret: str, body: bytes, at: float) -> str:
    """The value of the header. `at`: seconds since the epoch; a receiver refuses any time but about now."""
    seconds = int(at)
    digest = hmac.new(secret.encode("utf-8"), b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


#: seconds that an idle connection is kept; many servers close theirs after 5 s, and a request on its way is lost then
_IDLE = 2.0
#: seconds before a request is made again: at first, and at most; a receiver that asks for more is not asked again
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
#: statuses with which a receiver may answer otherwise a little later
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
#: bytes of an error's body in the facts
_QUOTED = 300


class Signer(msgspec.Struct, frozen=True, kw_only=True):
    """The headers of every request, with their secrets."""

    secret: str | None
    headers: dict[str, str]

    def __repr__(self) -> str:
        return "Signer(...)"


class _Failed(Exception):
    """An attempt failed. `safe`: the request certainly did not reach the receiver. `again`: another may succeed."""

    def __init__(self, facts: str, reason: Reason, *, safe: bool = False, again: bool = True) -> None:
        super().__init__(facts)
        self.facts = facts
        self.reason = reason
        self.safe = safe
        self.again = again
        #: seconds that the receiver asks to wait
        self.wait = 0.0


class Requests:
    def __init__(
        self, agent: str, config: WebhookConfig, signer: Signer, trust: ssl.SSLContext | None, env: Env
    ) -> None:
        self._agent = agent
        self._config = config
        self._signer = signer
        self._env = env
        parts = urlsplit(config.url)
        #: for messages; a query may have a key
        self.where = f"{parts.scheme}://{parts.netloc}{parts.path}"
        self.client = httpx.AsyncClient(
            verify=True if trust is None else trust,
            timeout=httpx.Timeout(None, connect=config.connect_timeout),
            limits=httpx.Limits(max_keepalive_connections=config.connections, keepalive_expiry=_IDLE),
            follow_redirects=False,
            # Neither a proxy nor a password that an environment variable or a .netrc names.
            trust_env=False,
        )
        self._slots = anyio.Semaphore(config.connections)

    async def post(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        """The body of the response. Raises `AgentFailed`."""
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self._slots:
                    return await self._attempt(body, headers)
            except _Failed as failed:
                wait = max(failed.wait, min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1)))
                may = failed.safe or (failed.again and self._config.repeatable)
                facts = f"{self.where} {failed.facts}"
                if not may or attempt > self._config.retries or wait > _LONGEST_WAIT:
                    facts += f" ({attempt} requests)" if attempt > 1 else ""
                    raise AgentFailed(facts, failed.reason) from None
                LOGGER.warning("%s: %s; again in %g s", self._agent, facts, wait, extra={"agent": self._agent})
            await anyio.sleep(wait)

    async def _attempt(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Make a request. Raises `_Failed`."""
        own = {
            **self._signer.headers,
            **headers,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        if self._signer.secret is not None:
            own[SIGNATURE_HEADER] = signature_of(self._signer.secret, body, self._env.now())
        try:
            with anyio.fail_after(self._config.request_timeout):
                async with self.client.stream("POST", self._config.url, content=body, headers=own) as response:
                    return await self._read(response)
        except TimeoutError:
            facts = f"did not answer within {self._config.request_timeout:g} s; see `request_timeout`"
            raise _Failed(facts, Reason.AGENT_TIMEOUT) from None
        except httpx.ConnectTimeout:
            facts = f"did not accept a connection within {self._config.connect_timeout:g} s"
            raise _Failed(facts, Reason.AGENT_UNREACHABLE, safe=True) from None
        except (httpx.ConnectError, httpx.PoolTimeout) as error:
            raise _Failed(f"cannot be reached: {_words(error)}", Reason.AGENT_UNREACHABLE, safe=True) from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise _Failed(f"broke off: {_words(error)}", Reason.AGENT_BROKE_OFF) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _Failed(f"cannot be asked: {_words(error)}", Reason.AGENT_UNREACHABLE, again=False) from None

    async def _read(self, response: httpx.Response) -> bytes:
        """The body of a good response. Raises `_Failed`."""
        status = response.status_code
        if response.is_redirect or 300 <= status < 400:
            facts = f"answered {status}: redirects are not followed, so give the final address as `url`"
            raise _Failed(facts, Reason.AGENT_UNREACHABLE, again=False)
        if status >= 400:
            failed = _Failed(await self._error(response), Reason.AGENT_UNREACHABLE, again=status in _PASSING)
            failed.wait = _seconds(response.headers.get("Retry-After", ""))
            raise failed
        if status != 200:
            facts = f"answered {status} instead of 200: a turn is answered at once, long work belongs to a hand"
            raise _Failed(facts, Reason.BAD_ANSWER, again=False)
        if wrong := _wrong_type(response):
            raise _Failed(f"answered with {wrong}", Reason.BAD_ANSWER, again=False)
        parts: list[bytes] = []
        size = 0
        async for part in response.aiter_raw():
            size += len(part)
            if size > self._config.max_response:
                facts = f"answered with more than {self._config.max_response} bytes; see `max_response`"
                raise _Failed(facts, Reason.ANSWER_TOO_LONG, again=False)
            parts.append(part)
        return b"".join(parts)

    async def _error(self, response: httpx.Response) -> str:
        start = b""
        if not response.headers.get("Content-Encoding"):
            async for part in response.aiter_raw():
                start += part[: _QUOTED - len(start)]
                if len(start) >= _QUOTED:
                    break
        said = shown(start.decode("utf-8", "replace").strip())
        return f"answered {response.status_code}" + (f": {said}" if said else "")


def _wrong_type(response: httpx.Response) -> str:
    """The fault in the type of a body; empty for a right type."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        return f"Content-Encoding {shown(encoding, 50)}, which was not asked for"
    given = response.headers.get("Content-Type", "")
    kind, _, parameters = given.lower().partition(";")
    kind = kind.strip()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        return f"Content-Type {shown(given, 100)!r} instead of application/json"
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    return "" if charset in ("", "utf-8", "utf8") else f"charset {shown(charset, 50)} instead of UTF-8"


def _seconds(text: str) -> float:
    """The seconds of a `Retry-After`; 0 for none, and for a date, which a wrong clock would make endless."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0.0


def _words(error: Exception) -> str:
    return shown(words_of(error) or type(error).__name__)


class WebhookAgent:
    """Answers by a URL (docs/agent-protocol.md)."""

    def __init__(self, config: WebhookConfig, requests: Requests) -> None:
        self._config = config
        self._requests = requests

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Hold the connections; closed at the end of the block, after which the agent is unusable."""
        async with self._requests.client:
            yield

    async def turn(self, turn: Turn) -> str | None:
        """Ask the webhook. Raises `AgentFailed`."""
        with anyio.move_on_after(self._config.timeout):
            return await self._answer(await document_of(turn, self._config), CallRunner(turn, self._config))
        facts = f"{self._requests.where} did not answer the turn within {self._config.timeout:g} s; see `timeout`"
        raise AgentFailed(facts, Reason.AGENT_TIMEOUT)

    async def _answer(self, document: TurnDocument, calls: CallRunner) -> str | None:
        done: list[DoneCall] = []
        for number in range(self._config.max_rounds):
            reply = await self._ask(document, number, tuple(done))
            if reply.error is not msgspec.UNSET:
                raise AgentFailed(
                    shown(reply.error, 2000), Reason.AGENT_REFUSED if reply.refused else Reason.AGENT_RAISED
                )
            if reply.calls is msgspec.UNSET:
                return self._config.checked_answer(None if reply.answer is msgspec.UNSET else reply.answer)
            # Before any of them is carried out: who asks for a thousand means none of them.
            calls.expect(len(reply.calls))
            for call in reply.calls:
                outcome = await calls.make(call.tool, call.params)
                done.append(DoneCall(**msgspec.structs.asdict(call), **msgspec.structs.asdict(outcome)))
        facts = f"{self._requests.where} still called tools in its response {self._config.max_rounds}; see `max_rounds`"
        raise AgentFailed(facts, Reason.TOO_MANY_CALLS)

    async def _ask(self, document: TurnDocument, number: int, done: tuple[DoneCall, ...]) -> WebhookReply:
        turn = quote(document.id, safe="-._~:/")
        headers = {
            "Idempotency-Key": f"{turn}/{number}",
            "Trunkline-Protocol": str(PROTOCOL),
            "Trunkline-Agent": document.agent,
        }
        body = await self._requests.post(posted(document, number, done), headers)
        try:
            return read_reply(body)
        except BadReply as error:
            facts = f"{self._requests.where} answered with something that is no reply: {shown(str(error))}"
            raise AgentFailed(facts, Reason.BAD_ANSWER) from None


def make_webhook(
    agent_id: str, config: WebhookConfig, *, folder: Path, environ: Mapping[str, str], env: Env
) -> WebhookAgent:
    """The agent, with all secrets and certificates read. Raises `ConfigError`."""
    headers: dict[str, str] = {}
    for name, value in config.headers.items():
        headers[name] = value.read(folder, environ) if isinstance(value, Secret) else value
        if wrong := wrong_header(headers[name]):
            raise ConfigError(f"headers.{name}: the value {wrong}")
    secret = None if config.secret is None else config.secret.read(folder, environ)
    trust = None if config.ca_file is None else _trust(folder / config.ca_file)
    return WebhookAgent(config, Requests(agent_id, config, Signer(secret=secret, headers=headers), trust, env))


def _trust(path: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        raise ConfigError(f"ca_file: {path} has no certificates: {error}") from error
