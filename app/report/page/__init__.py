"""A run as a page that any browser opens: one file that needs no server and asks for nothing."""
