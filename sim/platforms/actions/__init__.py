"""Actions on the fake platforms: the state that they change, their rules, and the answers to questions."""
