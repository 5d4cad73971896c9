"""Source code of classes: where it is, and which line of which file a line number means.

`source`       pieces of source files
`places`       directories and archives, and the files in them
`repositories` the -sources jars that Maven, Gradle and others keep
`projects`     the sources beside a project's class files
`strata`       lines of other files and languages (SMAP): Kotlin's inlined functions, JSP
`disassembly`  in place of missing sources
`finder`       all of that in an order

Nothing here needs a JVM; `jvmti.model.classes.sources` adds what one knows. Names in class files
are untrusted: no name leads out of the places, and only regular files are opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.reexports import reexports

if TYPE_CHECKING:
    from jvmti.sources.disassembly import Disassembly
    from jvmti.sources.finder import SourceFinder
    from jvmti.sources.source import Source, SourceNotFound, package_of
    from jvmti.sources.strata import MalformedSourceMap, OriginalLine, SourceMap
else:
    __getattr__, __dir__ = reexports(
        __name__,
        {
            "Disassembly": "jvmti.sources.disassembly",
            "MalformedSourceMap": "jvmti.sources.strata",
            "OriginalLine": "jvmti.sources.strata",
            "Source": "jvmti.sources.source",
            "SourceFinder": "jvmti.sources.finder",
            "SourceMap": "jvmti.sources.strata",
            "SourceNotFound": "jvmti.sources.source",
            "package_of": "jvmti.sources.source",
        },
    )


__all__ = [
    "Disassembly",
    "MalformedSourceMap",
    "OriginalLine",
    "Source",
    "SourceFinder",
    "SourceMap",
    "SourceNotFound",
    "package_of",
]
