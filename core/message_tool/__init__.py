"""The message tool, as decisions: schema, parsing, target rules, policy."""
