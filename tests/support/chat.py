"""A web chat over the HTTP API of a small real gateway."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.http import Api, api
from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.env import system_env

CHANNEL, ACCOUNT = "webchat", "default"


@asynccontextmanager
async def web_chat(path: Path, **options: Any) -> AsyncGenerator[Api]:
    """The API of a gateway with a mailbox account, `webchat:default`."""
    async with api(path, **options) as one:
        add_mailbox(one)
        yield one


def add_mailbox(one: Api, channel: str = CHANNEL, account: str = ACCOUNT) -> MailboxAdapter:
    """Install the adapter of another mailbox account."""
    mailbox = MailboxAdapter(channel, account, one.served.store, system_env())
    one.served.gateway.install(mailbox)
    return mailbox


def said(text: str = "hello", message: str = "m1", by: str = "ana", **fields: Any) -> dict[str, Any]:
    """The body of a message that a person writes."""
    body = {"channel": CHANNEL, "peer": {"kind": "direct", "id": by, "name": by.title()}}
    return {**body, "message_id": message, "text": text, **fields}


async def say(one: Api, text: str = "hello", message: str = "m1", by: str = "ana", **fields: Any) -> httpx.Response:
    """Hand over a message."""
    return await one.http.post("/v1/chat/inbound", json=said(text, message, by, **fields))


def texts(answer: httpx.Response) -> list[str]:
    """The texts of what a message caused."""
    assert answer.status_code == 200, answer.text
    return [payload["text"] for payload in answer.json()["outbound_payloads"]]
