"""From an envelope to a turn: admission, chat commands, turns and their drafts."""
