"""Generated from the WebSocket of the web chat: its frames and close codes."""

import ast
import inspect
from typing import get_args

import msgspec

from tools.doc_text import codes, first_paragraph, table
from trunkline.core.http.chat.frames import Close, Incoming, ServerFrame


def frames_table() -> str:
    """Every frame with its fields: first those of clients, then those of the server."""
    rows = [
        (sender, frame)
        for sender, frames in (("client", get_args(Incoming)), ("server", ServerFrame.__subclasses__()))
        for frame in frames
    ]
    return table(
        ("from", "`type`", "fields", "what it is"),
        (
            (sender, f"`{frame.__struct_config__.tag}`", _fields(frame), first_paragraph(frame.__doc__))
            for sender, frame in rows
        ),
    )


def closes_table() -> str:
    """Every code with which the server closes a socket."""
    source = inspect.getsource(Close)
    lines, (tree,) = source.splitlines(), ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    comments = {
        node.targets[0].id: lines[node.lineno - 2].strip().removeprefix("#: ")
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return table(("code", "meaning"), ((str(int(one)), f"{_sentence(comments[one.name])}.") for one in Close))


def _fields(frame: type[msgspec.Struct]) -> str:
    named = [
        field.encode_name if field.required else f"{field.encode_name}?" for field in msgspec.structs.fields(frame)
    ]
    return codes(named) or "-"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
