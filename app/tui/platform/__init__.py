"""What the app needs of terminal, clipboard, files and interpreter."""
