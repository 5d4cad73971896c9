"""The system properties of a JVM."""

from __future__ import annotations

from typing import Any

from jvmti import display


class Properties(display.Tabular, dict[str, str]):
    """System properties by name: a ``dict``, and a table of ``name`` and ``value``."""

    __slots__ = ()

    _repr_html_ = display.html

    def to_arrow(self) -> Any:
        """The table.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("Arrow tables need pyarrow: pip install 'jvmti[arrow]'") from error
        return pyarrow.table({"name": list(self), "value": list(self.values())})


__all__ = ["Properties"]
