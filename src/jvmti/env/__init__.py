"""JVM TI itself, one to one: each module declares one chapter of the specification.

The chapters stand in folders by subject: `threads`, `classes`, `objects`, `interception` and
`system`.  What lives here beside them: their structures, callbacks and events, and `Env`, an
environment that has them all.  What does not: the agent's own operations (`jvmti.operations`).
"""
