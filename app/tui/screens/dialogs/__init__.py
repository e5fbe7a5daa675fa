"""Dialogs and menus over a screen."""
