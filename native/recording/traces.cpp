// Stack traces as columns.

#include "fields.h"
#include "jvmti_recording.h"

using jvmti::recording::is_form;
using jvmti::recording::Reader;

namespace {

struct Trace {
  uint64_t id = 0;
  uint8_t truncated = 0;
  uint64_t depth = 0;

  // False for one with more frames than there are bytes.
  bool read(Reader& reader) {
    return reader.number(&id) && reader.byte(&truncated) && reader.number(&depth) &&
           depth <= reader.left();
  }
};

}  // namespace

int32_t jvmti_recording_measure_traces(const void* data, uint64_t size, uint64_t at, uint64_t count,
                                       const char* form, uint64_t fields, uint64_t* frames,
                                       uint64_t* behind) {
  if (!is_form(form, fields)) return JVMTI_RECORDING_BAD_ARGUMENT;
  Reader reader(data, size, at);
  uint64_t found = 0;
  int64_t ignored = 0;
  for (uint64_t row = 0; row < count; ++row) {
    Trace trace;
    if (!trace.read(reader)) return JVMTI_RECORDING_DAMAGED;
    found += trace.depth;
    for (uint64_t i = 0; i < trace.depth; ++i) {
      for (uint64_t one = 0; one < fields; ++one) {
        if (!reader.field(form[one], &ignored)) return JVMTI_RECORDING_DAMAGED;
      }
    }
  }
  *frames = found;
  *behind = reader.position();
  return JVMTI_RECORDING_OK;
}

int32_t jvmti_recording_traces(const void* data, uint64_t size, uint64_t at, uint64_t count,
                               const char* form, uint64_t fields, uint64_t frame_count,
                               int64_t* ids, uint8_t* truncated, int64_t* depths,
                               int64_t* columns) {
  if (!is_form(form, fields)) return JVMTI_RECORDING_BAD_ARGUMENT;
  Reader reader(data, size, at);
  uint64_t frame = 0;
  for (uint64_t row = 0; row < count; ++row) {
    Trace trace;
    if (!trace.read(reader)) return JVMTI_RECORDING_DAMAGED;
    if (trace.depth > frame_count - frame) return JVMTI_RECORDING_BAD_ARGUMENT;
    ids[row] = static_cast<int64_t>(trace.id);
    truncated[row] = trace.truncated != 0;
    depths[row] = static_cast<int64_t>(trace.depth);
    for (uint64_t end = frame + trace.depth; frame < end; ++frame) {
      for (uint64_t one = 0; one < fields; ++one) {
        if (!reader.field(form[one], &columns[one * frame_count + frame])) {
          return JVMTI_RECORDING_DAMAGED;
        }
      }
    }
  }
  return JVMTI_RECORDING_OK;
}
