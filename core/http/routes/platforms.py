"""Webhooks: where the platforms of accounts hand over what people write."""

from http import HTTPStatus

from trunkline.core.adapters.port import TakesWebhooks, WebhookCall
from trunkline.core.http.endpoint import Call, Endpoint, Reply
from trunkline.core.http.problems import not_found

_PATH = "/v1/platforms/{channel}/{account}"


async def take_webhook(call: Call) -> Reply:
    """Hand a request of a platform to its account. The account checks its signature; no token is needed."""
    adapter = call.served.gateway.adapters.get((call.path["channel"], call.path["account"]))
    if not isinstance(adapter, TakesWebhooks):
        # The same for every name: a stranger does not learn which accounts there are.
        raise not_found()
    answer = await adapter.webhook(
        WebhookCall(
            method=call.method, tail=call.path.get("tail", ""), query=call.query, headers=call.headers, body=call.body
        )
    )
    if answer.status == HTTPStatus.NOT_FOUND:
        raise not_found()
    return Reply(answer=answer.body, status=answer.status, media_type=answer.media_type)


def _endpoint(method: str, path: str) -> Endpoint:
    return Endpoint(
        method=method,
        path=path,
        scope=None,
        summary="The webhook of an account on a real platform" + (", further addresses" if path != _PATH else ""),
        run=take_webhook,
        raw=True,
        problems=(401, 403),
    )


get_update, post_update, get_further, post_further = (
    _endpoint(method, path) for path in (_PATH, _PATH + "/{tail}") for method in ("GET", "POST")
)
