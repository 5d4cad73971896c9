"""Preparations for the first stop of a session, made while the editor starts.

An import, or how a function's arguments and results are encoded, takes longer at its first use than
all else that is to be done then.
"""

from __future__ import annotations

import importlib

from jvmti.env.interface import FUNCTIONS
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.operations.functions import OPERATIONS
from jvmti.wire.codecs import codec_of

_MODULES = (
    "encodings.utf_16_le",
    "jvmti.model.vm",
    "jvmti.target.attach",
    "jvmti.model.threads.locals",
    "jvmti.model.threads.probed_locals",
    "jvmti.sources.strata",
    "jvmti.sources.disassembly",
)
_FUNCTIONS = """
    add_capabilities ancestry change_event_probes count_probes create_stop_request find_class
    find_classes find_probed_frame get_all_stack_traces get_all_threads get_array_length
    get_bytecodes get_capabilities get_class_fields get_class_methods get_class_modifiers
    get_class_signature get_field_id get_field_modifiers get_field_name get_frame_count
    get_line_number_table get_local_int get_local_object get_local_variable_table
    get_long_field get_max_locals get_method_declaring_class get_method_modifiers
    get_method_name get_object_array_element get_object_class get_object_hash_code
    get_potential_capabilities get_source_file_name get_stack_trace get_stopped_values
    get_string_chars get_thread_cpu_time get_thread_info identify is_modifiable_class
    is_same_object list_classes locate_stack new_env open_event_probes open_stop_probes
    open_stream place_probes read_class_file read_elements read_fields
    read_probe_sites service_threads set_event_notification_mode show_fields show_variables
    step_thread
"""


def preload() -> None:
    """Import it, and compile how the functions are encoded."""
    for name in _MODULES:
        importlib.import_module(name)
    tables = (FUNCTIONS, JNI_FUNCTIONS, OPERATIONS)
    for name in _FUNCTIONS.split():
        codec_of(next(functions[name] for functions in tables if name in functions))


__all__ = ["preload"]
