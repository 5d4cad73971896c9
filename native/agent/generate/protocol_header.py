"""``protocol.h``: numbers that both sides share."""

from __future__ import annotations

from cpp import HEAD, camel
from interface_text import DIGEST_SIZE

from jvmti.events.streams import layout as event_records
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.declaration import Table
from jvmti.wire import protocol


def protocol_header() -> str:
    """The numbers of `jvmti.wire.protocol`."""
    lines = [
        HEAD,
        "#pragma once\n",
        "#include <cstdint>\n",
        "namespace jvmti {",
        "namespace protocol {\n",
    ]
    for name in ("VERSION", "MAGIC", "MAXIMUM_REQUEST", "MAXIMUM_REPLY"):
        lines.append(f"constexpr uint64_t k{camel(name)} = {getattr(protocol, name)};")
    lines.append(f"constexpr unsigned kDigestSize = {DIGEST_SIZE};")
    for group, prefix in ((protocol.Kind, ""), (protocol.Flag, "Flag"), (protocol.Status, "")):
        for member in group:
            lines.append(f"constexpr int k{prefix}{camel(member.name)} = {int(member)};")
    lines.append("inline const char* kind_name(int kind) {\n  switch (kind) {")
    lines += [f'    case {int(one)}:\n      return "{one.name}";' for one in protocol.Kind]
    lines.append('  }\n  return "?";\n}')
    for group in (event_records.Words, event_records.Wishes, event_records.Announced):
        for member in group:
            lines.append(f"constexpr int k{group.__name__}{camel(member.name)} = {int(member)};")
    for name in ("LANE_LINE", "MAXIMUM_LANES", "MAXIMUM_STREAMS", "NAMES_SIZE", "CONTROL_SIZE"):
        lines.append(f"constexpr uint64_t k{camel(name)} = {getattr(event_records, name)};")
    lines.append(f"constexpr uint64_t kRecordHead = {event_records.HEAD};")
    for table in Table:
        lines.append(f"constexpr unsigned kTable{camel(table.name)} = {int(table)};")
    names = [name for name in Capabilities.__members__ if name.startswith("can_")]
    names.sort(key=lambda name: int(Capabilities[name]))
    lines.append(f"constexpr unsigned kCapabilityCount = {len(names)};")
    listed = ",\n    ".join(f'"{name}"' for name in names)
    lines.append(f"constexpr const char* kCapabilityNames[] = {{\n    {listed}}};")
    lines += ["", "}  // namespace protocol", "}  // namespace jvmti", ""]
    return "\n".join(lines)
