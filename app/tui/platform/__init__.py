"""Terminal, clipboard, files and interpreter, as far as the app needs them."""
