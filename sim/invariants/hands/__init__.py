"""Promises about hands, by what the world says of them."""
