"""The verbs that run agents: Python files of the user, or the examples of the package."""
