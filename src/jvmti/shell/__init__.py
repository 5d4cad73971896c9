"""The prompt on a JVM: what `jvmti shell` gives a user beside Python itself.

`banner`       the text at the start
`completion`   the Java names that a Tab finds
`expressions`  the expression before the cursor, evaluated without calling anything that acts
`descriptions` what a question mark tells
`magics`       the commands that begin with a percent sign
`ipython`      all of that at IPython's prompt
`plain`        and at Python's own
`scripts`      code from a file, a word or standard input

Nothing here is needed to use a JVM from Python; the model does not know of it.
"""
