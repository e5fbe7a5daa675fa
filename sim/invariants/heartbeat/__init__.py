"""Promises about heartbeats: what they say and when, and that a restart neither repeats nor forgets one."""
