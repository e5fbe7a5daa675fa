"""The contents of `trunkline explain` and of the Why pane, without Textual."""
