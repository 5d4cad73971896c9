"""Tells of every method that the JVM compiles: its code, its lines, and what was inlined in it.

jvmti run compiled_method_load.py=com.acme.* -- java -jar app.jar
"""

from fnmatch import fnmatchcase

from jvmti.interface.constants import Event

wanted = "*"


def agent_onload(vm, options):
    global wanted
    wanted = options or "*"
    vm.env.add_capabilities({"can_generate_compiled_method_load_events", "can_get_line_numbers"})
    vm.env.on("CompiledMethodLoad", loaded)
    vm.env.on("CompiledMethodUnload", unloaded)


def agent_onattach(vm, options):
    agent_onload(vm, options)
    vm.env.generate_events(Event.COMPILED_METHOD_LOAD)  # those that have been compiled already


def loaded(event):
    method = event.method
    if not fnmatchcase(method.class_name, wanted):
        return
    lines = {entry.start_location: entry.line_number for entry in method.lines}
    text = [f"load {name(method)} {event.code_size} bytes at {event.code_addr:#x}"]
    for point in event.map:
        starts = [start for start in lines if start <= point.location]
        line = lines[max(starts)] if starts else "?"
        text.append(f"  {point.start_address:#x} bytecode {point.location} line {line}")
    inlined = {one for point in event.compile_info for one in point.methods} - {method}
    text += [f"  inlines {one}" for one in sorted(map(name, inlined))]
    print("\n".join(text), flush=True)


def unloaded(event):
    print(f"unload {event.code_addr:#x}", flush=True)


def name(method):
    return f"{method.class_name}.{method.name}{method.signature}"
