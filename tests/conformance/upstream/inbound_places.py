"""Where OpenClaw's monitors of four platforms say that a message is, and the route that follows from that."""

import msgspec

from trunkline.core.channels.platforms import discord, mattermost, slack, telegram
from trunkline.core.channels.platforms.telegram import GENERAL
from trunkline.core.channels.rules import DEFAULT_ACCOUNT, InboundPlace
from trunkline.core.config import DmScope, GatewayConfig
from trunkline.core.routing.inbound import RouteDecision, decide
from trunkline.core.routing.index import index_of
from trunkline.core.routing.match_input import RouteQuery
from trunkline.core.values import ChatKind


class IsolatedPlace(InboundPlace, frozen=True, kw_only=True, gc=False):
    """The place of an inbound message."""

    #: if no route rule matches, the direct conversation is keyed by account, channel and peer
    isolates: bool = False


def read_discord(message: discord.DiscordMessage, account: str) -> InboundPlace:
    """A direct conversation without a user has its own id."""
    if message.kind == "dm" and not message.user_id:
        message = msgspec.structs.replace(message, user_id=message.conversation_id)
    return discord.read_inbound(message, account)


def read_slack(
    message: slack.SlackMessage, account: str, reply_mode: str = "off", inherit_parent: bool = False
) -> InboundPlace:
    """If replies are threaded, every direct message starts a session."""
    found = slack.read_inbound(message, account, reply_mode, inherit_parent)
    if found.is_thread_reply or reply_mode != "all" or found.address.kind is not ChatKind.DIRECT:
        return found
    address = msgspec.structs.replace(found.address, thread=message.ts)
    return msgspec.structs.replace(found, address=address, inherits_parent=inherit_parent)


def read_post(message: mattermost.MattermostMessage, account: str, reply_mode: str = "off") -> InboundPlace:
    """Without a reply mode threads are ignored, else every post outside threads starts one."""
    found = mattermost.read_inbound(message, account, reply_mode)
    thread = None if reply_mode == "off" else found.message_thread
    return msgspec.structs.replace(
        found,
        address=msgspec.structs.replace(found.address, thread=thread),
        message_thread=thread,
        inherits_parent=thread is not None,
    )


def read_telegram(message: telegram.TelegramMessage, account: str) -> IsolatedPlace:
    """Every thread id of a private chat is a topic, and keys have General's number."""
    found = telegram.read_inbound(message, account)
    chat, direct = str(message.chat_id), message.chat_type == "private"
    number = None if message.thread_id is None else int(message.thread_id)
    topic = number if direct else (GENERAL if number is None else number) if message.is_forum else None
    thread = str(topic) if topic else None
    # The key of a private chat's topic includes the chat.
    parent = chat if thread and direct and chat != found.address.conversation else None
    return IsolatedPlace(
        address=msgspec.structs.replace(found.address, thread=thread, parent=parent),
        is_thread_reply=thread is not None,
        reply_to=found.reply_to,
        message_thread=thread,
        threaded=thread is not None or number is None or (message.is_forum and number == GENERAL),
        isolates=direct and account != DEFAULT_ACCOUNT,
    )


def decide_message(query: RouteQuery, place: InboundPlace, config: GatewayConfig) -> RouteDecision:
    """Decide agent and session of a message."""
    if isinstance(place, IsolatedPlace) and place.isolates and index_of(config).find(query) is None:
        session = config.session.model_copy(update={"dm_scope": DmScope.PER_ACCOUNT_CHANNEL_PEER})
        config = config.model_copy(update={"session": session})
    return decide(query, place.address, config)
