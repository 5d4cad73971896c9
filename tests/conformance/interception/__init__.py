"""Events, breakpoints, watched fields, extensions, the JNI table, as in ``env/interception``."""
