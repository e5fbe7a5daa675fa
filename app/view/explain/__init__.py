"""What `trunkline explain` and the Why pane show, without Textual."""
