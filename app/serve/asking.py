"""A question to a platform or a model, which changes nothing: is it there, and whose is the secret?"""

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, cast

import msgspec

from trunkline.core.adapters.config import AccountConfig
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.config.secrets import Secret

#: seconds for all of a question
_PATIENCE = 10.0
#: statuses of a server that may be well in a moment
_BUSY = (408, 425, 429)


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A request that changes nothing."""

    url: str
    method: str = "GET"
    #: the value of `Authorization`
    authorization: str = ""
    #: where the body has the name of the account
    name: tuple[str, ...] = ()
    #: statuses that say that the secret is wrong
    refusing: range | tuple[int, ...] = range(400, 500)

    def __repr__(self) -> str:
        # Addresses of Telegram contain the token.
        return "Probe()"


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question, or its absence."""

    #: whether the secret is taken, and whether anybody has answered that question
    taken: bool = False
    there: bool = True
    #: what came, for people; never a secret
    text: str
    #: the time of the server, in seconds since the epoch; none if it did not say
    time: float | None = None


#: platform -> address of the question, field with the secret, the header that has it, and where the answer has the name
_PROBES = {
    "telegram": ("{0.api_root}/bot{1}/getMe", "token", "", ("result", "username")),
    "discord": ("{0.api_root}/users/@me", "token", "Bot {}", ("username",)),
    "slack": ("{0.api_root}/auth.test", "bot_token", "Bearer {}", ("user",)),
    "matrix": ("{0.homeserver}/_matrix/client/v3/account/whoami", "token", "Bearer {}", ("user_id",)),
    "signal": ("{0.daemon}/api/v1/check", "", "", ()),
    "whatsapp": ("{0.api_root}/{0.phone_number_id}", "token", "Bearer {}", ("display_phone_number",)),
}


def probe_of(asked: AccountConfig | OpenAIConfig, read: Callable[[Secret], str]) -> Probe | None:
    """The question to a platform or a model; none for a mailbox. `read` gives a secret, or raises."""
    if isinstance(asked, OpenAIConfig):
        key = "" if asked.api_key is None else f"Bearer {read(asked.api_key)}"
        # Not every endpoint lists its models, so only a refused key counts.
        return Probe(url=f"{asked.base_url.rstrip('/')}/models", authorization=key, refusing=(401, 403))
    config = asked.platform
    if config is None:
        return None
    address, field, header, name = _PROBES[asked.on]
    secret = read(getattr(config, field)) if field else ""
    # The root of Slack ends in a slash.
    url = address.format(config, secret).replace("//auth", "/auth")
    method = "POST" if asked.on == "slack" else "GET"
    return Probe(method=method, url=url, authorization=header.format(secret), name=name)


def ask(probe: Probe) -> Heard:
    """Ask once."""
    import httpx

    headers = {"authorization": probe.authorization} if probe.authorization else {}
    try:
        response = httpx.request(probe.method, probe.url, headers=headers, timeout=_PATIENCE)
    except httpx.ConnectError as error:
        return Heard(there=False, text=f"no connection: {error}")
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        # The texts of the others may contain the address or a header, and with them the secret.
        return Heard(there=False, text=f"no answer: {type(error).__name__}")
    time, status, body = _time_of(response.headers.get("date", "")), response.status_code, _mapping_in(response.content)
    said = f"the answer is {status} {response.reason_phrase}"
    if status in _BUSY or status >= 500:
        return Heard(there=False, text=said, time=time)
    # Slack refuses with the status of success.
    if status in probe.refusing or body.get("ok") is False:
        said = said if status in probe.refusing else f"the answer is {body.get('error')}"
        return Heard(text=said, time=time)
    name = _name_in(body, probe.name)
    return Heard(taken=True, text=f"it is {name}" if name else "it answers", time=time)


def _mapping_in(content: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError):
        return {}


def _name_in(body: Any, path: tuple[str, ...]) -> str:
    found = body
    for key in path:
        found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return found if path and isinstance(found, str) else ""


def _time_of(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
