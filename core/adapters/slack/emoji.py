"""Slack's names of emoji. Slack takes and gives names, such as ``thumbsup``; people and models write the character."""

import re

from trunkline.core.errors import Refused

#: character -> its name on Slack; the first of several names is the name in Slack's answers
_NAMES = {
    "👍": "+1", "👎": "-1", "❤": "heart", "😀": "grinning", "😁": "grin", "😂": "joy",
    "🤣": "rolling_on_the_floor_laughing", "😃": "smiley", "😄": "smile", "😅": "sweat_smile",
    "😉": "wink", "😊": "blush", "😍": "heart_eyes", "😎": "sunglasses", "🤔": "thinking_face",
    "😐": "neutral_face", "🙄": "face_with_rolling_eyes", "😮": "open_mouth", "😢": "cry", "😭": "sob",
    "😡": "rage", "😱": "scream", "😴": "sleeping", "🙂": "slightly_smiling_face",
    "🙃": "upside_down_face", "🤗": "hugging_face", "🤷": "shrug", "🤦": "face_palm", "🙏": "pray",
    "👏": "clap", "🙌": "raised_hands", "👋": "wave", "👌": "ok_hand", "✌": "v", "🤞": "crossed_fingers",
    "💪": "muscle", "👀": "eyes", "🧠": "brain", "✅": "white_check_mark", "☑": "ballot_box_with_check",
    "✔": "heavy_check_mark", "❌": "x", "❎": "negative_squared_cross_mark", "❓": "question",
    "❗": "exclamation", "⚠": "warning", "⛔": "no_entry", "🚫": "no_entry_sign", "💯": "100",
    "🔥": "fire", "⭐": "star", "🌟": "star2", "✨": "sparkles", "🎉": "tada", "🎊": "confetti_ball",
    "🚀": "rocket", "💡": "bulb", "🔔": "bell", "🔒": "lock", "🔑": "key", "🔧": "wrench",
    "🛠": "hammer_and_wrench", "⚙": "gear", "🐛": "bug", "📌": "pushpin", "📎": "paperclip",
    "📝": "memo", "📅": "date", "📈": "chart_with_upwards_trend", "📉": "chart_with_downwards_trend",
    "📦": "package", "📣": "mega", "💬": "speech_balloon", "💰": "moneybag",
    "⏳": "hourglass_flowing_sand", "⌛": "hourglass", "⏰": "alarm_clock", "🕐": "clock1",
    "🔄": "arrows_counterclockwise", "➕": "heavy_plus_sign", "➖": "heavy_minus_sign",
    "⬆": "arrow_up", "⬇": "arrow_down", "➡": "arrow_right", "⬅": "arrow_left", "🆗": "ok",
    "🆕": "new", "🤖": "robot_face", "👻": "ghost", "💀": "skull", "💩": "hankey", "🎯": "dart",
    "🏆": "trophy", "🥇": "first_place_medal", "☕": "coffee", "🍕": "pizza", "🍺": "beer",
    "🎂": "birthday", "🌈": "rainbow", "☀": "sunny", "🌙": "crescent_moon", "⚡": "zap",
    "💔": "broken_heart", "💙": "blue_heart", "💚": "green_heart", "💛": "yellow_heart",
    "💜": "purple_heart", "🟢": "large_green_circle", "🔴": "red_circle", "🟡": "large_yellow_circle",
    "🔵": "large_blue_circle", "🧵": "thread", "🫡": "saluting_face", "🫶": "heart_hands",
}  # fmt: skip
#: further names that Slack takes
_ALIASES = {"thumbsup": "+1", "thumbsdown": "-1", "satisfied": "laughing", "poop": "hankey"}
_CHARACTERS = {name: character for character, name in _NAMES.items()}
#: asks for the coloured form of a character
_VARIATION = "\ufe0f"
#: skin tone 2 to 6, as characters
_TONES = {chr(0x1F3FB + n): f"skin-tone-{n + 2}" for n in range(5)}
_NAME = re.compile(r":?([a-z0-9_+'-]{1,100}(?:::skin-tone-[2-6])?):?")


def name_of(emoji: str) -> str:
    """Slack's name of an emoji: of a character, or of a name with or without colons.

    Raises `Refused` for a character whose name is not known here.
    """
    text = emoji.strip()
    named = _NAME.fullmatch(text)
    if named is not None:
        return _ALIASES.get(named[1], named[1])
    bare = text.replace(_VARIATION, "")
    tone = _TONES.get(bare[-1:], "")
    found = _NAMES.get(bare[:-1] if tone else bare)
    if found is None:
        raise Refused(f"Slack knows emoji by name: write :name: instead of {text!r}")
    return f"{found}::{tone}" if tone else found


def character_of(name: str) -> str:
    """The character of an emoji by Slack's name; ``:name:`` for an emoji without a character."""
    plain, _, tone = name.partition("::")
    found = _CHARACTERS.get(_ALIASES.get(plain, plain))
    if found is None:
        return f":{name}:"
    return found + next((character for character, word in _TONES.items() if word == tone), "")
