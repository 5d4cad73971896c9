#include "agent/channels/frame_trace.h"

#include <stdio.h>
#include <time.h>

#include "agent/calls/call.h"
#include "base/log.h"

namespace jvmti {

bool tracing_frames = false;

void trace_frames_as(const char* wanted) {
  if (wanted != nullptr && std::strcmp(wanted, "frames") == 0) tracing_frames = true;
}

void trace_frame(char sign, int channel, const Header& header) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char what[96] = "";
  const Function* function = nullptr;
  switch (header.kind) {
    case layouts::Kind::kCall:
    case layouts::Kind::kMap:
      function = find_function(header.function);
      snprintf(what, sizeof what, " %s", function == nullptr ? "?" : function->name);
      break;
    case layouts::Kind::kReturn:
      snprintf(what, sizeof what, " status %d", static_cast<int>(header.function));
      break;
    case layouts::Kind::kEvent:
      snprintf(what, sizeof what, " %#x", static_cast<unsigned>(header.function));
      break;
  }
  log("%lld.%06ld agent %d %c %s%s seq %u conv %u env %u: %u bytes",
      static_cast<long long>(now.tv_sec), now.tv_nsec / 1000, channel, sign,
      protocol::kind_name(header.kind), what, header.sequence, header.conversation,
      header.environment, header.size);
}

}  // namespace jvmti
