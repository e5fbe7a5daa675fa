"""Calendar: cron expressions, active hours and time zones."""
