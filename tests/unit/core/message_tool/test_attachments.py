"""Files that a call of the message tool carries itself."""

import base64

import pytest

from trunkline import InvalidAction, MessageParts
from trunkline.core.message_tool.attachments import attachment_url
from trunkline.core.reasons import Reason
from trunkline.core.text.mirror_text import media_name, mirror_text

HELLO = base64.b64encode(b"hello").decode()


@pytest.mark.parametrize(
    ("parts", "head", "name"),
    [
        (None, "data:application/octet-stream;name=attachment;base64,", "attachment"),
        (MessageParts(mime_type="image/PNG"), "data:image/png;name=attachment.png;base64,", "attachment.png"),
        (MessageParts(mime_type="no/such"), "data:no/such;name=attachment;base64,", "attachment"),
        (
            MessageParts(file_name="a;b, c.txt"),
            "data:application/octet-stream;name=a%3Bb%2C%20c.txt;base64,",
            "a;b, c.txt",
        ),
    ],
)
def test_a_file_keeps_its_type_and_its_name(parts: MessageParts | None, head: str, name: str) -> None:
    url = attachment_url(HELLO, parts, 5)
    assert url == f"{head}{HELLO}"
    assert media_name(url) == name
    assert mirror_text(None, [url]) == name


def test_base64_for_urls_and_without_padding_is_base64_too() -> None:
    content = bytes(range(256))
    url = attachment_url(base64.urlsafe_b64encode(content).decode().rstrip("="), None, 256)
    assert base64.b64decode(url.partition(",")[2]) == content


@pytest.mark.parametrize(
    ("buffer", "words"),
    [
        ("aGVsbG8=", "5 bytes, and the limit is 4"),
        ("a", "is not base64"),
        ("====", "has no content"),
        ("a*b=", "base64"),
    ],
)
def test_an_unusable_file_is_refused_with_what_is_wrong(buffer: str, words: str) -> None:
    with pytest.raises(InvalidAction, match=words) as caught:
        attachment_url(buffer, None, 4)
    assert caught.value.reason is Reason.BAD_ATTACHMENT


def test_a_data_url_of_others_has_no_name_and_its_length_costs_nothing() -> None:
    assert media_name("data:image/png;base64," + "A" * 1_000_000) == "media"
