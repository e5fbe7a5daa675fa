"""Files: uploaded first, and posted by a last request, which alone can be ambiguous.

Until ``files.completeUploadExternal`` nobody sees anything, so whatever fails before it was certainly not sent. Its
response names the files and not the message; that is in ``files.info``, a moment later.
"""

from __future__ import annotations

from collections.abc import Iterator

import anyio

from trunkline.core.adapters.json_values import as_object, as_objects
from trunkline.core.adapters.media_files import MediaFiles
from trunkline.core.adapters.slack.places import SlackPlaces
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.errors import NotSent, PlatformError, Refused
from trunkline.core.values import Receipt, SendRequest

#: seconds between questions for the message of a file
_WAITS = (0.2, 0.5, 1.0, 2.0, 3.0)


class Uploads:
    """Sends messages with files."""

    def __init__(self, web: SlackWeb, places: SlackPlaces, files: MediaFiles) -> None:
        self._web = web
        self._places = places
        self._files = files

    async def send(self, request: SendRequest) -> Receipt:
        """Upload the files of a request, and post all with the text. Raises `PlatformError`."""
        if request.payload is not None or (request.parts is not None and request.parts.buttons):
            raise Refused("a message with uploaded files has neither buttons nor a payload on Slack")
        channel, files = await self._prepare(request)
        done = await self._web.call(
            "files.completeUploadExternal",
            files=files,
            channel_id=channel,
            thread_ts=request.address.thread,
            initial_comment=request.text or None,
        )
        first = next(_ids(done.get("files")), files[0]["id"])
        return await self._receipt(request, channel, first)

    async def _prepare(self, request: SendRequest) -> tuple[str, list[dict[str, str]]]:
        """Make every request before the last. An error here is never ambiguous."""
        try:
            channel = await self._places.channel_of(request.address)
            return channel, [await self._upload(media, request) for media in request.media]
        except PlatformError as error:
            if error.ambiguous:
                raise NotSent(f"a file was not uploaded: {error.facts}", retry_after=error.retry_after) from error
            raise

    async def _upload(self, media: str, request: SendRequest) -> dict[str, str]:
        file = await self._files.load(media)
        shown = request.parts.file_name if request.parts is not None and len(request.media) == 1 else None
        name = shown or file.name or "file"
        if not file.content:
            raise Refused(f"the file {name} is empty, and Slack takes no empty files")
        given = await self._web.call("files.getUploadURLExternal", filename=name, length=len(file.content))
        url, number = given.get("upload_url"), given.get("file_id")
        if not isinstance(url, str) or not isinstance(number, str):
            raise NotSent("Slack named no address for a file")
        await self._web.upload(url, file.content)
        return {"id": number, "title": name}

    async def _receipt(self, request: SendRequest, channel: str, file: str) -> Receipt:
        """The receipt of a posted file, with the id of the file if Slack does not show the message in time."""
        for wait in _WAITS:
            try:
                found = await self._web.call("files.info", file=file)
            except PlatformError:
                found = {}
            ts = _share(found.get("file"), channel)
            if ts is not None:
                return Receipt(provider_id=ts, address=request.address)
            await anyio.sleep(wait)
        return Receipt(provider_id=file, address=request.address)


def _ids(files: object) -> Iterator[str]:
    for file in as_objects(files):
        number = file.get("id")
        if isinstance(number, str):
            yield number


def _share(file: object, channel: str) -> str | None:
    """The id of the message with a file in a conversation."""
    shares = as_object(as_object(file).get("shares"))
    for kind in ("public", "private"):
        for share in as_objects(as_object(shares.get(kind)).get(channel)):
            ts = share.get("ts")
            if isinstance(ts, str):
                return ts
    return None
