"""The page of the web chat: a few files that are sent as they are, without a build step or an outside address."""
