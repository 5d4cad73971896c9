// The frames of every channel as lines of the log, for people who work on the protocol: on where
// JVMTI_TRACE is "frames".  The controller writes the same of its side, see jvmti.wire.trace.
#pragma once

#include "agent/channels/frames.h"

namespace jvmti {

extern bool tracing_frames;  // set once, as the agent is loaded
void trace_frames_as(const char* wanted);
// `sign` is < for a frame that came, > for one that goes.
void trace_frame(char sign, int channel, const Header& header);

}  // namespace jvmti
