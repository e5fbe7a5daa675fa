"""Every method of the Web API that the server has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from trunkline.sim.wire.slack import conversations, files, posting, reactions
from trunkline.sim.wire.slack.call import SlackCall
from trunkline.sim.wire.slack.hosts import SlackHost

Method = Callable[[SlackHost, SlackCall], Awaitable[web.StreamResponse]]


async def _nothing(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    return call.answer()


METHODS: dict[str, Method] = {
    "api.test": _nothing,
    "apps.connections.open": conversations.open_socket,
    "assistant.threads.setStatus": _nothing,
    "auth.test": conversations.auth_test,
    "chat.delete": posting.delete,
    "chat.postEphemeral": posting.post_ephemeral,
    "chat.postMessage": posting.post_message,
    "chat.update": posting.update,
    "conversations.history": conversations.history,
    "conversations.info": conversations.conversation_info,
    "conversations.list": conversations.conversation_list,
    "conversations.open": conversations.conversation_open,
    "conversations.replies": conversations.replies,
    "emoji.list": conversations.emoji,
    "files.completeUploadExternal": files.complete,
    "files.getUploadURLExternal": files.reserve,
    "files.info": files.info,
    "pins.add": reactions.pin,
    "pins.list": reactions.pins,
    "pins.remove": reactions.unpin,
    "reactions.add": reactions.add_reaction,
    "reactions.get": reactions.reactions,
    "reactions.remove": reactions.remove_reaction,
    "users.info": conversations.user_info,
    "users.list": conversations.user_list,
}
