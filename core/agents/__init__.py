"""Agents that ship: echo, OpenAI-compatible models, programs, and webhooks. Only `trunkline.app` imports them."""
