// Rows of fields as columns.

#include "fields.h"
#include "jvmti_recording.h"

using jvmti::recording::is_form;
using jvmti::recording::Reader;

namespace {

bool read_row(Reader& reader, const char* form, uint64_t fields, int64_t* item, uint64_t count) {
  uint64_t ignored = 0;
  for (uint64_t i = 0; i < fields; ++i) {
    if (form[i] == 's') {
      if (!reader.number(&ignored)) return false;
      continue;
    }
    if (!reader.field(form[i], item)) return false;
    item += count;
  }
  return true;
}

}  // namespace

int32_t jvmti_recording_rows(const void* data, uint64_t size, const int64_t* places, uint64_t count,
                             const char* form, uint64_t fields, int64_t* columns, uint64_t* at) {
  if (!is_form(form, fields)) return JVMTI_RECORDING_BAD_ARGUMENT;
  if (places == nullptr) {
    Reader reader(data, size, *at);
    for (uint64_t row = 0; row < count; ++row) {
      if (!read_row(reader, form, fields, columns + row, count)) return JVMTI_RECORDING_DAMAGED;
    }
    *at = reader.position();
    return JVMTI_RECORDING_OK;
  }
  for (uint64_t row = 0; row < count; ++row) {
    Reader reader(data, size, static_cast<uint64_t>(places[row]));
    if (!read_row(reader, form, fields, columns + row, count)) return JVMTI_RECORDING_DAMAGED;
  }
  return JVMTI_RECORDING_OK;
}
