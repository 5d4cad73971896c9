"""The prompt on a JVM: what `jvmti shell` adds to Python.

`banner`       the text at the start
`completion`   the Java names that a Tab finds
`expressions`  the expression before the cursor, evaluated without side effects
`descriptions` the answers to a question mark
`magics`       the commands that begin with a percent sign
`debugger`     those of them that debug
`ipython`      all of that at IPython's prompt
`plain`        and at Python's own
`scripts`      code from a file, a word or standard input

You can use a JVM from Python without this; the model does not import it.
"""
