"""Session keys: the structured value, and its text forms (codecs): `v1`, and that of the upstream gateway."""

from core.keys.v1 import SessionKey, encode_v1, parse_v1

__all__ = ["SessionKey", "encode_v1", "parse_v1"]
