"""What the program Departing does to have an event sent."""

ACTS = {
    "Breakpoint": "locked",
    "FieldAccess": "touch",
    "FieldModification": "touch",
    "Exception": "implicit",
    "ExceptionCatch": "uncaught",
    "FramePop": "locked",
    "MonitorContendedEnter": "contended",
    "MonitorContendedEntered": "contendedMethod",
    "MonitorWait": "waiting",
    "MonitorWaited": "waiting",
    "ResourceExhausted": "exhaust",
    "NativeMethodBind": "bind",
    "ThreadStart": "start",
    "ThreadEnd": "start",
}
"""Methods of Departing in which the events are sent."""
