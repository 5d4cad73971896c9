"""The Java Native Interface, one to one: each module declares the functions of one chapter.

A function is a method that takes and gives numbers, text and handles; `jvmti.jni.interface` brings
all of them together.  The variadic forms of a call and its ``va_list`` and array forms are one
method here, which takes the arguments as a sequence.

A Java exception that a function leaves pending is raised as `JavaException` when the function
returns, so a result is there only if there was none.
"""
