"""Runs in the environment of aiogram, whose types are made from the published Bot API.

Arguments: address of the server, token, a group, a topic in it, a person. Prints what went wrong, as JSON.

Calls go out by aiogram's own client, and as plain HTTP, whose answers have to fit the published types without a
conversion and without a field that those do not have.
"""

import asyncio
import json
import sys
from typing import Any

import aiohttp
from aiogram import Bot, methods  # pyright: ignore[reportMissingImports]
from aiogram.client.default import DefaultBotProperties  # pyright: ignore[reportMissingImports]
from aiogram.client.session.aiohttp import AiohttpSession  # pyright: ignore[reportMissingImports]
from aiogram.client.telegram import TelegramAPIServer  # pyright: ignore[reportMissingImports]
from aiogram.exceptions import TelegramAPIError  # pyright: ignore[reportMissingImports]
from aiogram.types import (  # pyright: ignore[reportMissingImports]
    BufferedInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    ReactionTypeEmoji,
    Update,
)
from pydantic import BaseModel, TypeAdapter

PICTURE = "https://example.org/lamp.png"


def differences(value: Any, raw: Any, path: str) -> list[str]:
    """The fields that the published types do not have, and values that fit them only after a conversion."""
    if isinstance(value, list | tuple):
        return [one for n, item in enumerate(value) for one in differences(item, raw[n], f"{path}[{n}]")]
    if isinstance(value, int | str | bool) and type(value) is not type(raw):
        return [f"{path}: {raw!r} is no {type(value).__name__}"]
    if not isinstance(value, BaseModel):
        return []
    found = [f"{path}.{name}: no such field" for name in value.model_extra or {}]
    for name, field in type(value).model_fields.items():
        given = field.alias or name
        if given in raw:
            found += differences(getattr(value, name), raw[given], f"{path}.{name}")
    return found


def check(kind: Any, result: Any, path: str) -> list[str]:
    """What is wrong with a result."""
    try:
        value = TypeAdapter(kind).validate_python(result)
    except ValueError as error:
        return [f"{path}: {error}"]
    return differences(value, result, path)


async def plain(http: aiohttp.ClientSession, root: str, method: str, **parameters: Any) -> tuple[int, Any]:
    async with http.post(f"{root}/{method}", json=parameters) as answer:
        return answer.status, await answer.json()


async def checked(http: aiohttp.ClientSession, root: str, call: Any, **parameters: Any) -> tuple[Any, list[str]]:
    """Make a call as plain HTTP; its result, and what is wrong with it."""
    name = call.__api_method__
    status, body = await plain(http, root, name, **parameters)
    if status != 200 or body.get("ok") is not True:
        return None, [f"{name}: {status} {body}"]
    return body["result"], check(call.__returning__, body["result"], name)


async def every_answer(root: str, group: int, topic: int, person: int) -> list[str]:
    """Every method of the fake, with its answer checked against the published types."""
    wrong: list[str] = []
    async with aiohttp.ClientSession() as http:

        async def call(kind: Any, **parameters: Any) -> Any:
            result, found = await checked(http, root, kind, **parameters)
            wrong.extend(found)
            return result

        await call(methods.GetMe)
        await call(methods.GetWebhookInfo)
        await call(methods.GetMyCommands)
        await call(methods.SetMyCommands, commands=[{"command": "start", "description": "begin"}])
        await call(methods.DeleteMyCommands)
        for place in (group, person):
            await call(methods.GetChat, chat_id=place)
        rows = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}, {"text": "Page", "url": "https://e.org"}]]}
        sent = await call(
            methods.SendMessage, chat_id=group, text="a <b>text</b>", parse_mode="HTML", reply_markup=rows
        )
        await call(methods.SendMessage, chat_id=group, text="in a topic", message_thread_id=topic)
        await call(methods.SendMessage, chat_id=person, text="*bold*", parse_mode="MarkdownV2")
        for kind in ("Photo", "Video", "Animation", "Audio", "Voice", "Document"):
            await call(getattr(methods, f"Send{kind}"), chat_id=group, caption="look", **{kind.lower(): PICTURE})
        photo = await call(methods.SendPhoto, chat_id=group, photo=PICTURE)
        stored = photo["photo"][0]["file_id"]
        await call(methods.GetFile, file_id=stored)
        await call(methods.SendSticker, chat_id=group, sticker=stored)
        album = [{"type": "photo", "media": PICTURE}, {"type": "video", "media": PICTURE, "caption": "both"}]
        await call(methods.SendMediaGroup, chat_id=group, media=album)
        await call(methods.SendPoll, chat_id=group, question="Which?", options=["red", {"text": "green"}])
        await call(methods.SendChatAction, chat_id=group, action="typing")
        one = {"chat_id": group, "message_id": sent["message_id"]}
        await call(methods.EditMessageText, text="another", **one)
        await call(methods.EditMessageCaption, caption="another", chat_id=group, message_id=photo["message_id"])
        await call(methods.SetMessageReaction, reaction=[{"type": "emoji", "emoji": "👍"}], **one)
        await call(methods.PinChatMessage, **one)
        await call(methods.UnpinChatMessage, **one)
        await call(methods.AnswerCallbackQuery, callback_query_id="1")
        await call(methods.DeleteMessage, **one)
        await call(methods.DeleteMessages, chat_id=group, message_ids=[photo["message_id"], 1])
        made = await call(methods.CreateForumTopic, chat_id=group, name="new")
        mine = {"chat_id": group, "message_thread_id": made["message_thread_id"]}
        await call(methods.EditForumTopic, name="newer", **mine)
        await call(methods.CloseForumTopic, **mine)
        await call(methods.ReopenForumTopic, **mine)
        await call(methods.DeleteForumTopic, **mine)
        both = ["message", "callback_query"]
        await call(methods.SetWebhook, url="http://127.0.0.1:9/", secret_token="abc", allowed_updates=both)
        await call(methods.GetWebhookInfo)
        await call(methods.DeleteWebhook)
        updates = await call(methods.GetUpdates, timeout=0)
        kinds = {name for update in updates for name in update if name != "update_id"}
        if kinds != {"message", "callback_query"}:
            wrong.append(f"getUpdates: expected messages and a press, got {sorted(kinds)}")
        for update in updates:
            wrong += check(Update, update, "update")
    return wrong


async def conversation(bot: Bot, group: int, topic: int, person: int) -> list[str]:
    """What a bot does, by aiogram's own client: forms, files, and its errors."""
    wrong: list[str] = []
    updates = await bot.get_updates(timeout=1)
    texts = [update.message.text for update in updates if update.message]
    if texts != ["hello", "in the topic"]:
        wrong.append(f"updates: {texts}")
    threads = [update.message.message_thread_id for update in updates if update.message]
    if threads != [None, topic]:
        wrong.append(f"topics: {threads}")
    presses = [update.callback_query for update in updates if update.callback_query]
    wrong += [] if [press.data for press in presses] == ["y"] else [f"presses: {presses}"]
    await presses[0].answer(text="seen").as_(bot)
    sent = await bot.send_message(
        group,
        "<b>again</b>",
        message_thread_id=topic,
        reply_markup=InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Yes", callback_data="y")]]),
    )
    await sent.edit_text("<i>edited</i>")
    await bot.set_message_reaction(group, sent.message_id, reaction=[ReactionTypeEmoji(emoji="👍")])
    lamp = BufferedInputFile(b"a lamp", filename="lamp.png")
    photo = await bot.send_photo(person, lamp, caption="look")
    content = await bot.download(photo.photo[-1].file_id)
    if content is None or content.read() != b"a lamp":
        wrong.append("the file came back changed")
    await bot.send_media_group(group, [InputMediaPhoto(media=lamp, caption="both"), InputMediaPhoto(media=PICTURE)])
    await bot.send_poll(group, "Which?", ["red", "green"], is_anonymous=False)
    for what, call, status in (
        ("too long", bot.send_message(group, "x" * 5000), "TelegramBadRequest"),
        ("no such chat", bot.send_message(-100404, "x"), "TelegramBadRequest"),
        ("no such topic", bot.send_message(group, "x", message_thread_id=404), "TelegramBadRequest"),
        ("bad HTML", bot.send_message(group, "<b>x"), "TelegramBadRequest"),
        ("unescaped", bot.send_message(group, "a.b", parse_mode="MarkdownV2"), "TelegramBadRequest"),
        ("unchanged", sent.edit_text("<i>edited</i>").as_(bot), "TelegramBadRequest"),
    ):
        try:
            await call
            wrong.append(f"{what}: no error")
        except TelegramAPIError as error:
            if type(error).__name__ != status:
                wrong.append(f"{what}: {type(error).__name__} {error}")
    await bot.get_updates(offset=updates[-1].update_id + 1, timeout=0)
    return wrong


async def main() -> None:
    url, token, *numbers = sys.argv[1:]
    group, topic, person = (int(number) for number in numbers)
    session = AiohttpSession(api=TelegramAPIServer.from_base(url))
    async with Bot(token, session=session, default=DefaultBotProperties(parse_mode="HTML")) as bot:
        wrong = await every_answer(f"{url}/bot{token}", group, topic, person)
        wrong += await conversation(bot, group, topic, person)
    print(json.dumps(wrong))


asyncio.run(main())
