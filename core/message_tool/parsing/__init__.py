"""Parses the parameters of a call: their types, their texts, and what models write into texts by mistake. Pure."""
