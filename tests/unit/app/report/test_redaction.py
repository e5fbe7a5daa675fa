"""No token, key or folder of a person gets into a page that is passed on."""

from pathlib import Path

from tests.support.for_each import for_each
from trunkline.app.report.redaction import REDACTED, PageRedaction

NOTHING = PageRedaction({})


@for_each(
    "secret",
    [
        "700000001:AAF0abcdefghijklmnopqrstuvwxyz12345",
        "MTA1NDQ5MDM2MzQ3NTM2NTg4OA.GbT1xY.abcdefghijklmnopqrstuvwxyz_-01234",
        "xoxb-123456789012-abcdefghijklmnop",
        "xapp-1-A0123-456-abcdef",
        "syt_dXNlcg_abcdefghijkl_0a1b2c",
        "sk-proj-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijkl_mnop",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl",
    ],
)
def test_what_looks_like_a_token_is_taken_out(secret: str):
    for text in (secret, f"GET /{secret}/getMe", f'{{"t": "{secret}"}}', f"before {secret} after"):
        found = NOTHING.text(text)
        assert secret not in found and REDACTED in found, text


@for_each(
    ("text", "gone"),
    [
        ("GET /bot700000001:AAF0abcdefghijklmnopqrstuvwxyz12345/getMe", "AAF0abc"),
        ("Authorization: Bearer abcdef.ghijkl", "abcdef.ghijkl"),
        ("authorization: Bot abcdefghij", "abcdefghij"),
        ("api_key=hunter2hunter2", "hunter2hunter2"),
        ('{"apiKey": "hunter2hunter2"}', "hunter2hunter2"),
        ("TELEGRAM_BOT_TOKEN=hunter2hunter2", "hunter2hunter2"),
        ("env BOT_KEY=hunter2hunter2 DB_PASS='correct-horse' gateway", "hunter2hunter2"),
        ("env BOT_KEY=hunter2hunter2 DB_PASS='correct-horse' gateway", "correct-horse"),
        ("password: correct-horse", "correct-horse"),
        ("https://ana:hunter2@example.org/path", "hunter2"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "MIIE"),
    ],
)
def test_what_is_named_as_a_secret_is_taken_out(text: str, gone: str):
    assert gone not in NOTHING.text(text)


#: in pieces: no file of the repository names a folder of somebody
HOME, USERS, ROOT = "/ho" + "me", "/Us" + "ers", "/ro" + "ot"


def test_secrets_of_the_environment_are_taken_out_wherever_they_stand():
    redaction = PageRedaction(
        {"OPENAI_API_KEY": "planted-value-1", "MY_PASSWORD": "planted-value-12", "EDITOR": "vimvimvim"}
    )
    found = redaction.text("a planted-value-12 and planted-value-1 in vimvimvim")
    assert found == f"a {REDACTED} and {REDACTED} in vimvimvim"


def test_a_short_value_or_a_path_is_no_secret():
    redaction = PageRedaction({"TOKEN": "yes", "XAUTHORITY": "/tmp/.Xauthority"})
    assert redaction.text("yes, in /tmp/.Xauthority") == "yes, in /tmp/.Xauthority"


def test_folders_of_a_person_become_short():
    redaction = PageRedaction({"HOME": "/srv/people/ana"}, [(Path("/tmp/try-1"), "(its folder)")])
    text = f"/srv/people/ana/x {HOME}/ben/y {USERS}/Carl/z {ROOT}/w /tmp/try-1/state/log"
    assert redaction.text(text) == "~/x ~/y ~/z ~/w (its folder)/state/log"


def test_ordinary_texts_stay():
    text = "Answer one. AZone-g1: the token was refused at 12:30:15, see telegram/ops/deploy (#12) +1.356 s"
    assert NOTHING.text(text) == text


def test_trees_are_redacted_in_depth():
    assert NOTHING.tree({"a": ["password=hunter2hunter2", 3, None, ({"b": f"{ROOT}/x"},)]}) == {
        "a": [f"password={REDACTED}", 3, None, [{"b": "~/x"}]]
    }


def test_what_a_slot_of_a_command_fills_in_is_no_secret():
    command = "gateway BOT_TOKEN=${telegram.token}"
    assert PageRedaction({}).text(command) == command
