"""``protocol.h``: numbers that both sides share."""

from __future__ import annotations

from cpp import HEAD, camel
from interface_text import DIGEST_SIZE

from jvmti.interface.capabilities import SOLO, Capabilities
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
    for name in ("VERSION", "MAGIC"):
        lines.append(f"constexpr uint64_t k{camel(name)} = {getattr(protocol, name)};")
    lines.append(f"constexpr unsigned kDigestSize = {DIGEST_SIZE};")
    lines.append("inline const char* kind_name(int kind) {\n  switch (kind) {")
    lines += [f'    case {int(one)}:\n      return "{one.name}";' for one in protocol.Kind]
    lines.append('  }\n  return "?";\n}')
    tables = ", ".join(f"k{camel(table.name)} = {int(table)}" for table in Table)
    lines.append(f"enum class Table : uint8_t {{{tables}}};")
    names = [name for name in Capabilities.__members__ if name.startswith("can_")]
    names.sort(key=lambda name: int(Capabilities[name]))
    lines.append(f"constexpr unsigned kCapabilityCount = {len(names)};")
    listed = ",\n    ".join(f'"{name}"' for name in names)
    lines.append(f"constexpr const char* kCapabilityNames[] = {{\n    {listed}}};")
    lines.append(f"constexpr uint64_t kSoloCapabilities = {int(SOLO):#x};")
    lines += ["", "}  // namespace protocol", "}  // namespace jvmti", ""]
    return "\n".join(lines)
