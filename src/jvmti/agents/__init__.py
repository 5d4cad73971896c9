"""Agents that are Python files: `agent_onload`, `agent_onattach` and `agent_onunload`.

`script` reads such a file and calls its functions; `process` is the process that the agent library
starts for one.  Loading the agent library is not here, see `jvmti.target`.
"""
