"""Adapters of real platforms: the decisions that need no socket."""
