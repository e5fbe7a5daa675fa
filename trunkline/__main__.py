"""`python -m trunkline` is the command `trunkline`."""

import sys

from trunkline.app.cli import main

sys.exit(main())
