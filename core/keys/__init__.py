"""Session keys: the structured value, and its text forms (codecs): `v1`, and that of the upstream gateway."""

from core.keys.codec import key_text, read_key
from core.keys.migrate import Merge, Migration, Move, Unreadable, canonical_key, plan_migration
from core.keys.openclaw import ParsedKey, encode_openclaw, key_from_openclaw, parse_openclaw
from core.keys.stored import StoredKey
from core.keys.v1 import SessionKey, encode_v1, parse_v1

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
