// The stack of a thread with the lines of its frames, in one reply.

#include "agent/engines/instrumentation/code_moves.h"
#include "generated/overrides.h"

namespace jvmti::operations {

namespace {

// All frames of a thread, or the `most` most recent ones.  There is more room only where both the
// frames and their count ask for it: if one of them were wrong, it would ask for gigabytes.
jvmtiError read_frames(Call& call, jthread thread, jint most, Vector<jvmtiFrameInfo>* frames) {
  constexpr jint kModest = 512;
  constexpr jint kMore = 16;  // a thread that runs may have called others since they were counted
  constexpr int kTries = 32;  // it may also go up and down
  jint room = most < kModest ? most : kModest;
  for (int tries = 0;; ++tries) {
    if (!frames->reserve(static_cast<size_t>(room) + 1)) return JVMTI_ERROR_OUT_OF_MEMORY;
    jint count = 0;
    if (jvmtiError error = call.env->GetStackTrace(thread, 0, room, frames->begin(), &count)) {
      return error;
    }
    if (count < room || room == most || tries == kTries) {
      frames->grow(static_cast<size_t>(count));
      return JVMTI_ERROR_NONE;
    }
    jint depth = 0;
    if (jvmtiError error = call.env->GetFrameCount(thread, &depth)) return error;
    int64_t wanted = int64_t{depth} + kMore;
    if (wanted > int64_t{room} * 2) wanted = int64_t{room} * 2;
    if (wanted > room) room = wanted < most ? static_cast<jint>(wanted) : most;
  }
}

// The lines of methods, each of whose tables is read once.
class Lines : NoCopy {
 public:
  explicit Lines(jvmtiEnv* env) : env_(env) {}
  ~Lines() {
    for (const Table& table : tables_) deallocate(env_, table.entries);
  }
  // The line of a location; -1 if unknown.
  jint at(jmethodID method, jlocation location) {
    if (location < 0) return -1;
    const Table* table = table_of(method);
    jlocation best = -1;
    jint line = -1;
    for (jint i = 0; table != nullptr && i < table->count; ++i) {
      const jvmtiLineNumberEntry& entry = table->entries[i];
      if (entry.start_location > location || entry.start_location < best) continue;
      best = entry.start_location;
      line = entry.line_number;
    }
    return line;
  }

 private:
  struct Table {
    jint count;
    jvmtiLineNumberEntry* entries;
  };
  const Table* table_of(jmethodID method) {
    uint64_t key = reinterpret_cast<uint64_t>(method);
    uint32_t place = places_.find(key);
    if (place == 0) {
      Table table{};
      if (env_->GetLineNumberTable(method, &table.count, &table.entries) != JVMTI_ERROR_NONE) {
        table = {};
      }
      if (!tables_.push(table)) {
        deallocate(env_, table.entries);
        return nullptr;
      }
      place = static_cast<uint32_t>(tables_.size());
      if (!places_.insert(key, place)) return nullptr;
    }
    return &tables_[place - 1];
  }

  jvmtiEnv* env_;
  Index places_;  // of methods in the tables, from 1
  Vector<Table> tables_;
};

}  // namespace

jvmtiError LocateStack(Call& call, const In<kinds::Thread>& thread, const In<jint>& most,
                       const In<jboolean>& before, jint* method_count, jmethodID** methods,
                       jint* location_count, jlong** locations, jint* line_count, jint** lines,
                       jint* before_count, jlong** places, jint* depth, jint* code) {
  if (most.c() < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  *code = code_changes();
  Vector<jvmtiFrameInfo> frames;
  jvmtiError error = read_frames(call, thread.c(), most.c(), &frames);
  size_t size = frames.size();
  jint count = static_cast<jint>(size);
  if (error == JVMTI_ERROR_NONE) error = allocate_list(size, methods);
  if (error == JVMTI_ERROR_NONE) error = allocate_list(size, locations);
  if (error == JVMTI_ERROR_NONE) error = allocate_list(size, lines);
  if (error == JVMTI_ERROR_NONE) error = allocate_list(before.c() != 0 ? size : 0, places);
  if (error != JVMTI_ERROR_NONE) return error;
  Lines known(call.env);
  for (size_t i = 0; i < size; ++i) {
    (*methods)[i] = frames[i].method;
    (*locations)[i] = frames[i].location;
    (*lines)[i] = known.at(frames[i].method, frames[i].location);
  }
  *method_count = *location_count = *line_count = count;
  *depth = count;
  if (count == most.c()) call.env->GetFrameCount(thread.c(), depth);
  if (before.c() == 0) return JVMTI_ERROR_NONE;
  std::memcpy(*places, *locations, size * sizeof **places);
  // Those of one method that follow each other are found together.
  for (size_t at = 0, end = 0; at < size; at = end) {
    while (end < size && frames[end].method == frames[at].method) ++end;
    locate_before(agent.env, call.jni, frames[at].method, *places + at, end - at);
  }
  *before_count = count;
  return JVMTI_ERROR_NONE;
}

}  // namespace jvmti::operations
