"""``python -m jvmti``, the same as ``jvmti``."""

import sys

from jvmti.commands import main

sys.exit(main())
