"""Editors that debug with `jvmti debug`: VS Code's extension, and configurations of others."""
