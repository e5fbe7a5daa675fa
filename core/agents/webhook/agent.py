"""A webhook as an agent: posts each turn, carries out the calls in the response, and posts the results."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import anyio
import msgspec

from trunkline.core.agent import Turn
from trunkline.core.agents.calls import CallRunner
from trunkline.core.agents.log import shown
from trunkline.core.agents.turn_document import PROTOCOL, TurnDocument, document_of
from trunkline.core.agents.webhook.config import WebhookConfig, wrong_header
from trunkline.core.agents.webhook.messages import BadReply, DoneCall, WebhookReply, done_call, posted, read_reply
from trunkline.core.agents.webhook.requests import Requests, Signer
from trunkline.core.config.secrets import Secret
from trunkline.core.env import Env
from trunkline.core.errors import AgentFailed, ConfigError
from trunkline.core.reasons import Reason


class WebhookAgent:
    """Answers by a URL (docs/agent-protocol.md)."""

    def __init__(self, config: WebhookConfig, requests: Requests) -> None:
        self._config = config
        self._requests = requests

    async def aclose(self) -> None:
        """Close the connections. The agent cannot be used any more."""
        await self._requests.aclose()

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
                return self._checked(reply.answer)
            # Before any of them is carried out: who asks for a thousand means none of them.
            calls.expect(len(reply.calls))
            for call in reply.calls:
                done.append(done_call(call, await calls.make(call.tool, call.params)))
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

    def _checked(self, text: str | msgspec.UnsetType | None) -> str | None:
        if text is None or text is msgspec.UNSET:
            return None
        if len(text) > self._config.max_answer:
            facts = f"{len(text)} characters; `max_answer` is {self._config.max_answer}"
            raise AgentFailed(facts, Reason.ANSWER_TOO_LONG)
        return text


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
