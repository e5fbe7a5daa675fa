"""Files on the homeserver, as bytes that clients have uploaded."""

from __future__ import annotations

import msgspec
from aiohttp import web

from trunkline.sim.wire.matrix.bodies import failed
from trunkline.sim.wire.matrix.caller import MatrixCaller

_HOME = "example.org"
_LONGEST = 50 * 1024 * 1024


class StoredMedia(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded file."""

    body: bytes
    mime_type: str
    name: str


class MediaStore:
    """The uploaded files, by their ``mxc://`` addresses."""

    def __init__(self) -> None:
        self.files: dict[str, StoredMedia] = {}

    async def upload(self, caller: MatrixCaller) -> web.Response:
        """`POST /upload`."""
        body = await caller.request.read()
        if len(body) > _LONGEST:
            return failed(413, "M_TOO_LARGE", "Upload request body is too large")
        address = f"mxc://{_HOME}/media{len(self.files) + 1}"
        kind = caller.request.headers.get("Content-Type", "application/octet-stream")
        self.files[address] = StoredMedia(body=body, mime_type=kind, name=caller.request.query.get("filename", ""))
        return web.json_response({"content_uri": address})

    def download(self, home: str, media_id: str) -> web.Response:
        """`GET /download/{server}/{media}`."""
        found = self.files.get(f"mxc://{home}/{media_id}")
        if found is None:
            return failed(404, "M_NOT_FOUND", "Not found")
        return web.Response(body=found.body, headers={"Content-Type": found.mime_type})
