"""Nothing harms the target: each folder tries one way, and has the programs that do it.

``calls`` passes nonsense to functions, ``connections`` to the socket.  In ``faults`` memory, files
and the VM itself fail.  Controllers disappear in ``leaving``, stand still in ``stopped``, and do
whatever they like in ``walks``.  ``cost`` measures what the target pays.  docs/robustness.md
reports the long runs.

The target is mostly ``steady``: a program that works at a known rate.
"""
