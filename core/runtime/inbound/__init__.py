"""The inbound path: intake, chat commands, turns and their drafts."""
