"""The adapter of WhatsApp."""
