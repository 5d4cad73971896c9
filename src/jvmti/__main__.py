"""``python -m jvmti``, the same as ``jvmti``."""

import sys


def main() -> int:
    """Run the command of this process's arguments and return its exit code."""
    from jvmti.interruption import exit_when_interrupted

    exit_when_interrupted()
    from jvmti.commands import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
