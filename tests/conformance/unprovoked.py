"""The pairs of a function and an error that no test provokes: what was tried, and why it fails.

`UNPROVOKED` has every such pair of `conformance.pairs` with its reason; a test sees to it that
there is no other, and that none of these is provoked after all.
"""

from __future__ import annotations

from conformance.pairs import EVERY, pairs

NEVER_NEGATIVE = (
    "Tried with lists of every kind: the number is the length of a Python sequence, which is never "
    "negative, and the agent reads it as unsigned."
)
NEVER_NULL = (
    "Tried with None, which Python refuses with TypeError before anything is sent; a list travels "
    "as its items, so that a request has no form for a null one."
)
ALWAYS_MODIFIABLE = (
    "Tried with java.base, java.logging, java.management and unnamed modules: HotSpot says of "
    "every module that it can be modified, and modifies it."
)
NEVER_CIRCULAR = (
    "Tried with the class itself and with a subclass not loaded before as the new superclass: "
    "HotSpot finds the present class and gives UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED."
)
NO_THREAD_WITHOUT_EXCEPTIONS = (
    "Tried with platform threads among the exceptions, which gives INVALID_THREAD. What the error "
    "is for, a count without a list, a Python sequence cannot express."
)

ENDED_IS_STARTED = (
    "Tried with a thread that has ended: it was started once, which is INVALID_THREAD; one that "
    "has never run is what the function takes."
)

_REASONS: dict[str, list[tuple[str, str]]] = {
    NEVER_NEGATIVE: [
        ("redefine_classes", "ILLEGAL_ARGUMENT"),
        ("set_event_callbacks", "ILLEGAL_ARGUMENT"),
        ("resume_thread_list", "ILLEGAL_ARGUMENT"),
        ("retransform_classes", "ILLEGAL_ARGUMENT"),
        ("set_native_method_prefixes", "ILLEGAL_ARGUMENT"),
        ("suspend_thread_list", "ILLEGAL_ARGUMENT"),
    ],
    ENDED_IS_STARTED: [("run_agent_thread", "THREAD_NOT_ALIVE")],
    "Tried in a handler of VMStart, which gives ILLEGAL_ARGUMENT.": [
        ("set_extension_event_callback", "WRONG_PHASE"),
    ],
    NEVER_NULL: [
        (name, "NULL_POINTER")
        for name in (
            "add_capabilities",
            "follow_references",
            "get_objects_with_tags",
            "iterate_through_heap",
            "set_jni_function_table",
            "get_thread_list_stack_traces",
            "relinquish_capabilities",
            "resume_thread_list",
            "retransform_classes",
            "suspend_thread_list",
        )
    ],
    ALWAYS_MODIFIABLE: [
        (name, "UNMODIFIABLE_MODULE")
        for name in (
            "add_module_exports",
            "add_module_opens",
            "add_module_provides",
            "add_module_reads",
            "add_module_uses",
        )
    ],
    NEVER_CIRCULAR: [
        ("redefine_classes", "CIRCULAR_CLASS_DEFINITION"),
        ("retransform_classes", "CIRCULAR_CLASS_DEFINITION"),
    ],
    NO_THREAD_WITHOUT_EXCEPTIONS: [
        ("resume_all_virtual_threads", "ILLEGAL_ARGUMENT"),
        ("suspend_all_virtual_threads", "ILLEGAL_ARGUMENT"),
    ],
    "Tried with no bytes, which HotSpot calls INVALID_CLASS_FORMAT before it looks where they "
    "are.": [
        ("redefine_classes", "NULL_POINTER"),
    ],
    "Tried with a class of java.base, the one module that everything depends on: HotSpot redefines "
    "it.": [
        ("redefine_classes", "UNMODIFIABLE_MODULE"),
    ],
    "Tried with a class without any debug information: HotSpot always knows the size of the "
    "code.": [
        ("get_method_location", "ABSENT_INFORMATION"),
    ],
    "Tried with numbers far outside of the enumeration: HotSpot gives ILLEGAL_ARGUMENT, as for "
    "every event that cannot be generated.": [
        ("generate_events", "INVALID_EVENT_TYPE"),
    ],
    "Tried by suspending and resuming threads in every state: HotSpot never takes a thread's state "
    "for invalid.": [
        ("resume_thread", "INVALID_TYPESTATE"),
    ],
    "Every call is made on a thread that the VM knows: the agent has no other, and before the live "
    "phase uses the one that the VM called it on.": [
        (EVERY, "UNATTACHED_THREAD"),
    ],
    "Tried with handles and numbers of every wrong kind for every function. It stands for mistakes "
    "of the VM itself, and none showed.": [
        (EVERY, "INTERNAL"),
    ],
    "Tried with every function in every phase and without every capability: HotSpot has no place "
    "that gives it.": [
        (EVERY, "ACCESS_DENIED"),
    ],
}

UNPROVOKED: dict[tuple[str, str], str] = {
    pair: reason for reason, group in _REASONS.items() for pair in group
}

assert set(UNPROVOKED) <= pairs()
