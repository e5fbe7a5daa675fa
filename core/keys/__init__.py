"""Session keys: the structured value and its text forms, `v1` and that of the upstream gateway."""

from trunkline.core.keys.canonical import Merge, Migration, Move, Unreadable, canonical_key, plan_migration
from trunkline.core.keys.openclaw import ParsedKey, encode_openclaw, key_from_openclaw, parse_openclaw
from trunkline.core.keys.stored_key import StoredKey
from trunkline.core.keys.text_form import key_text, read_key
from trunkline.core.keys.v1 import SessionKey, encode_v1, parse_v1

__all__ = [
    "Merge",
    "Migration",
    "Move",
    "ParsedKey",
    "SessionKey",
    "StoredKey",
    "Unreadable",
    "canonical_key",
    "encode_openclaw",
    "encode_v1",
    "key_from_openclaw",
    "key_text",
    "parse_openclaw",
    "parse_v1",
    "plan_migration",
    "read_key",
]
