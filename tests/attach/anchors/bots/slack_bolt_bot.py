"""Bolt for Python, in Socket Mode: it answers in the thread of a question, if it has one."""

# A bot as a newcomer types it; its library is in an environment of its own.
# pyright: reportMissingImports=false, reportOptionalMemberAccess=false
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import os

from model import ask
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

client = WebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_URL"])
app = App(client=client)


@app.message("")
def answer(message, say) -> None:
    thread = message.get("thread_ts")
    say(text=ask((message["channel"], thread), message["text"]), thread_ts=thread)


SocketModeHandler(app, os.environ["SLACK_APP_TOKEN"], web_client=client).start()
