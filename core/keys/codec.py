"""The text form of session keys under a profile."""

from typing import ClassVar

from trunkline.core.keys.v1 import SessionKey, encode_v1, parse_v1


class KeyCodec:
    """How a profile writes session keys and reads them: ours is ``v1``."""

    #: its name in a store, where each key has that of its form
    name: ClassVar[str] = "v1"
    #: the forms that it reads, for error messages
    forms: ClassVar[tuple[str, ...]] = (
        "<agent>:main",
        "<agent>:<channel>:<account>:<direct|group|channel>:<peer>[:thread:<id>]",
    )
    #: whether keys that a store has in other forms are rewritten when a gateway starts
    migrates: ClassVar[bool] = True

    def write(self, key: SessionKey, main_key: str) -> str:
        """The text of a key. `main_key`: the configured name of main sessions."""
        return encode_v1(key)

    def read(self, text: str, main_key: str) -> SessionKey:
        """The key of a text. Raises `KeyFormatError` naming the expected forms."""
        return parse_v1(text)

    def our_key(self, text: str) -> SessionKey | None:
        """The key of our own that a text in this form means; None if it names no conversation."""
        return parse_v1(text)

    def claims(self, key: SessionKey) -> bool:
        """Whether the ``v1`` text of a key means another key in this form."""
        return False
