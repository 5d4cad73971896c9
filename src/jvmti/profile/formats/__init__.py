"""The formats of files of profiles, a module for each.

`jvmti.profile.files` chooses one by the ending of a name, or by the first bytes of a file.
"""
