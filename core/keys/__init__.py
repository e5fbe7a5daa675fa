"""Session keys: the structured value and its text forms, `v1` and those of other gateways."""

from trunkline.core.keys.canonical import Merge, Migration, Move, StoredKey, Unreadable, canonical_key, plan_migration
from trunkline.core.keys.codec import KeyCodec
from trunkline.core.keys.v1 import SessionKey, encode_v1, parse_v1

__all__ = ["KeyCodec", "Merge", "Migration", "Move", "SessionKey", "StoredKey", "Unreadable", "canonical_key"]
__all__ += ["encode_v1", "parse_v1", "plan_migration"]
