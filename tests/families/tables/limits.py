"""Long and marked texts over each channel, with limits of the platform, of the channel and of an account."""

from tests.families.family import Family

_PLAIN = '"one two three four five six seven eight nine ten eleven twelve, and no end of it for a while"'
_WORD = '"abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789 end"'
_PARAGRAPHS = '"First paragraph.\\n\\nSecond one, which is longer.\\n\\n\\nThird.\\nWith a line.\\n\\nFourth"'
_SIGNS = '"\N{THUMBS UP SIGN}\N{EMOJI MODIFIER FITZPATRICK TYPE-4} \N{FAMILY}\N{ZERO WIDTH JOINER} naïve Ωmega 漢字漢字漢字漢字漢字漢字漢字漢字漢字 \U0001f1e8\U0001f1ed\U0001f1e8\U0001f1ed the end"'
_MARKED = (
    '"# Title\\n\\n**bold _and slanted_** words, `code`, ~~gone~~, [a link](https://example.org/a_b) and <b>tags</b> & more.\\n\\n'
    '- first\\n- second\\n  - inner **one**\\n\\n1. one\\n2. two\\n\\n> a quote\\n> goes on\\n\\n||hidden|| and \\\\*no mark\\\\*"'
)
_FENCE = '"Look:\\n\\n```python\\nfor lamp in lamps:\\n    lamp.on()\\n    print(lamp)\\n```\\n\\nand\\n\\n~~~\\nplain text of a block\\n~~~\\nthat is all"'
_TABLE = '"| name | state |\\n|---|---|\\n| lamp | on |\\n| door | open |\\n\\n***\\n\\nText with <https://example.org> and http://x.y/z, 2 * 3 * 4, snake_case_word and a_b_."'
_FILES = '"Here it is\\nMEDIA: /tmp/plan.pdf\\nMEDIA:https://example.org/a.png\\n[[reply_to_current]]"'

_TEXTS = {
    "a long line": _PLAIN,
    "a long word": _WORD,
    "paragraphs": _PARAGRAPHS,
    "signs": _SIGNS,
    "marks": _MARKED,
    "a block of code": _FENCE,
    "a table": _TABLE,
    "files": _FILES,
    "reasoning": '"<think>not for you</think>This is for you, and only this, however long it may get in the end."',
    "ticks": '"Say `code with ``two`` and` a `lonely tick, then ```inline``` and `MEDIA: /no/file` and [[reply_to_current]] in `[[reply_to:m1]]` text"',
    "a fence left open": '"```yaml\\nkey: value\\nMEDIA: /tmp/in-a-block.png\\n[[reply_to_current]]\\nother: a long value that goes on over the limit of a part, and then some more of it\\nlast: line"',
    "fences in fences": '"````md\\n```py\\nx = 1\\n```\\n````\\nbetween\\n> ```\\n> quoted code\\n> ```\\n1. item\\n   ```\\n   code of the item, which is long enough to be cut in two parts at least\\n   ```"',
    "files only": '"MEDIA:/tmp/one.pdf\\nMEDIA: https://example.org/two.png\\nMEDIA:file:///tmp/three.mp3"',
    "an answer to another": '"[[reply_to:nobody]] and a text\\nwith  MEDIA:no path here"',
    "a space": '"a  b\\tc   \\n   d \\u00a0 e and then some more words to reach the limit   "',
}
_RULES = "\n".join(f'- {{when: {{text: "{name}"}}, do: [{{reply: {text}}}]}}' for name, text in _TEXTS.items())
_SAYS = "\n".join(
    f'- {{at: {2 * number + 1}s, as: ana, in: "$place", say: "{name}"}}' for number, name in enumerate(_TEXTS)
)
_SENDS = "\n".join(
    f'- {{at: {40 + number}s, send: {{to: "$place", text: {text}}}}}'
    for number, text in enumerate((_PLAIN, _PARAGRAPHS, _FENCE, _MARKED))
)

_ROWS = {
    f"{platform}-{name}": {
        "platform": platform,
        "what": what,
        "settings": settings,
        "place": place,
        "world": "{}"
        if place.startswith("@")
        else "{rooms: [ops]}"
        if platform != "discord"
        else "{guild: acme, rooms: [ops]}",
    }
    for platform, name, what, settings, place in (
        ("telegram", "short", "a limit of 40 characters", "text_limit: 40", "@ana"),
        ("telegram", "usual", "no limit but its own", "bots: ignore", "ops"),
        ("telegram", "newline", "a part for each paragraph", "text_limit: 60, chunk_mode: newline", "ops"),
        ("discord", "short", "a limit of 50 characters", "text_limit: 50, chunk_mode: length", "ops"),
        ("discord", "newline", "a part for each paragraph", "text_limit: 200, chunk_mode: newline", "@ana"),
        ("slack", "short", "a limit of 40 characters", "text_limit: 40", "ops"),
        ("slack", "usual", "no limit but its own", "bots: ignore", "@ana"),
        ("matrix", "short", "a limit of 50 characters", "text_limit: 50", "ops"),
        ("matrix", "usual", "no limit but its own", "chunk_mode: newline", "@ana"),
        ("whatsapp", "short", "a limit of 60 characters", "text_limit: 60", "@ana"),
        ("whatsapp", "usual", "no limit but its own", "chunk_mode: length", "ops"),
        ("signal", "short", "a limit of 60 characters", "text_limit: 60", "ops"),
        ("signal", "usual", "no limit but its own", "bots: ignore", "@ana"),
        ("bluebubbles", "short", "a limit of 50 characters", "text_limit: 50", "ops"),
        ("imessage", "newline", "a part for each paragraph", "text_limit: 100, chunk_mode: newline", "@ana"),
        ("msteams", "short", "a limit of 60 characters", "text_limit: 60", "ops"),
        ("msteams", "newline", "a part for each paragraph", "chunk_mode: newline", "@ana"),
    )
}

_TEXT = f"""
gateway:
  channels: {{$platform: {{$settings}}}}
world:
  people: [ana]
  $platform: $world
cast:
  agents:
    main:
      {chr(36)}rules
script:
  {chr(36)}says
  {chr(36)}sends
"""

FAMILIES = (
    Family(
        name="texts",
        title="Texts of every kind on $platform, with $what",
        story="""
        An agent and clients say lines, words, paragraphs, code, tables and files, marked and plain, with $what on
        $platform. People see each of them whole, in parts that are short enough, with its styles where the platform has any.
        """,
        tags=("text", "limits", "$platform"),
        text=_TEXT,
        exercised=("D1", "M2", "T2", "L3"),
        defaults={"rules": _RULES},
        rows={
            name: row | {"says": _SAYS.replace("$place", row["place"]), "sends": _SENDS.replace("$place", row["place"])}
            for name, row in _ROWS.items()
        },
    ),
    Family(
        name="texts-accounts",
        title="Two accounts of $platform with limits of their own",
        story="""
        One account cuts at 30 characters, the other at every paragraph, and the platform's setting holds for neither. Each
        text is cut for the account that sends it, also if a crash and a refusal come in between.
        """,
        tags=("text", "limits", "accounts", "$platform"),
        text="""
        gateway:
          channels:
            $platform:
              text_limit: 200
              default_account: two
              prompt: "for all"
              prompts: {main: "for main"}
              accounts:
                one: {text_limit: 30, prompt: "you are one"}
                TWO: {chunk_mode: newline, text_limit: 90}
        world:
          people: [ana, bo]
          $platform: {accounts: {one: {bot: uno}, two: {bot: due}}$more}
        cast:
          agents:
            main:
              - do: [{reply: "{text} it is said.\\n\\nAnd a second paragraph follows, which is long enough for a cut."}]
        script:
          - {at: 0s, fault: {on: send, do: refuse, in: "$platform:one/@bo", nth: 2}}
          - {at: 1s, as: ana, in: "$platform:one/@ana", say: "by one"}
          - {at: 2s, as: ana, in: "$platform:two/@ana", say: "by two"}
          - {at: 3s, as: bo, in: "$platform:one/@bo", say: "by one"}
          - {at: 4s, crash: {when: {event: chunk.acked}, restart_after: 2s}, may_miss: true}
          - {at: 20s, send: {target: "$target", channel: $platform, text: "a client writes.\\n\\nBy whom?"}}
          - {at: 30s, send: {to: "$platform:one/@ana", text: "a client writes.\\n\\nBy the first account, and far too long for it."}}
        """,
        exercised=("D1", "T2", "M2"),
        rows={
            "telegram": {"platform": "telegram", "target": "telegram:@ana", "more": ""},
            "slack": {"platform": "slack", "target": "user:U0ANA", "more": ""},
            "matrix": {"platform": "matrix", "target": "@ana:example.org", "more": ""},
        },
    ),
)
