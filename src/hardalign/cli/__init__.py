"""The command-line interface."""

from __future__ import annotations


def start() -> None:
    """Run the ``hardalign`` command; Ctrl-C during its import gives no traceback either."""
    try:
        from hardalign.cli.main import main
    except KeyboardInterrupt:
        import sys

        print("hardalign: interrupted", file=sys.stderr)
        sys.exit(130)
    main()
