"""``python -m app`` is ``trunkline``."""

import sys

from app.cli import main

sys.exit(main())
