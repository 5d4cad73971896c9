"""The Java Native Interface, one to one: each module declares the functions of one chapter.

The chapters are in folders by subject: `classes`, `objects` and `threads`.

A function is a method that takes and returns numbers, text and handles; `jvmti.jni.interface`
brings all of them together.  The variadic forms of a call and its ``va_list`` and array forms are
one method here, which takes the arguments as a sequence.

If a function leaves a Java exception pending, the method raises `JavaException` instead of
returning a result.
"""
