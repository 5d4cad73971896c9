#include "agent/engines/instrumentation/code_moves.h"

#include <pthread.h>

#include "agent/core/class_changes.h"
#include "agent/core/redefined_classes.h"
#include "agent/core/vm_memory.h"
#include "agent/sessions/environments.h"
#include "agent/sessions/session.h"
#include "base/lock.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

using classfile::Moves;
using Moved = classfile::Instrumenter::Moved;

// Of a version: how many fit, how many there are, its class's count, and its hash.
constexpr size_t kMoveHead = 5;
constexpr size_t kMoveSize = sizeof(Moves::Move) / sizeof(uint32_t);
constexpr size_t kMostThreads = 256;  // that hooks change classes on at once
// Beyond this size of all moves, in words, the one before is forgotten.
constexpr size_t kManyMoves = 1 << 22;

// What the hooks have made of a class so far, on one thread.
struct Change {
  pthread_t thread;
  uint64_t klass;
  const uint8_t* made;
  jint size;
  MovedCode moved;
};

struct Book {
  ~Book() {
    for (Change* one : changes) unmake(one);
  }
  Vector<Change*> changes;
  Index classes;           // how often a class has been changed, from 1, by its hash
  Index methods;           // where among the moves those of a method are, from 1
  Index versions;          // and those of each version that it has had
  Vector<uint32_t> moves;  // each with its head
};

Mutex mutex{Guards::kMoves};
Book* book = nullptr;
uint32_t sessions_with_probes = 0;

// A thread reads the class file of a class.
struct Reading {
  pthread_t thread{};
  const char* signature = nullptr;
  bool before_probes = false;  // as it was before it got any
  Vector<uint8_t> file;
  bool is_short = false;  // of memory
  Reading* next = nullptr;
};
Reading* readings = nullptr;

uint64_t hash_of(uint64_t hash, const void* text, size_t size) {
  const uint8_t* bytes = static_cast<const uint8_t*>(text);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001B3u;
  return hash == 0 ? 1 : hash;
}

uint64_t hash_of_method(uint64_t klass, const void* name, size_t name_size, const void* descriptor,
                        size_t size) {
  return hash_of(hash_of(hash_of(klass, ".", 1), name, name_size), descriptor, size);
}

Change* change_of_thread() {
  for (Change* one : book->changes) {
    if (pthread_equal(one->thread, pthread_self())) return one;
  }
  return nullptr;
}

// Its own, so it uses it without the lock; null if it is of another class.  HotSpot calls a class
// that a hook causes to be loaded redefined, too, so only the name tells.
Reading* reading_of_thread(jclass redefined, const char* name) {
  if (redefined == nullptr || name == nullptr) return nullptr;
  Reading* found = nullptr;
  {
    Locked locked(mutex);
    found = readings;
    while (found != nullptr && !pthread_equal(found->thread, pthread_self())) found = found->next;
  }
  size_t length = std::strlen(name);
  bool is_it = found != nullptr && std::strncmp(found->signature + 1, name, length) == 0 &&
               found->signature[length + 1] == ';';
  return is_it ? found : nullptr;
}

// The first that it is shown.
void take_file(Reading* reading, const uint8_t* data, jint size) {
  if (!reading->file.empty() || reading->is_short) return;
  size_t length = static_cast<size_t>(size);
  reading->is_short = !reading->file.reserve(length);
  if (reading->is_short) return;
  reading->file.grow(length);
  std::memcpy(reading->file.begin(), data, length);
}

uint64_t hash_of_version(uint64_t method, uint64_t code) {
  return hash_of(method, &code, sizeof code);
}

size_t end_of_method(const MovedCode& moved, size_t begin) {
  size_t end = begin;
  while (end < moved.size() && moved[end].method == moved[begin].method) ++end;
  return end;
}

bool push(MovedCode* to, const MovedCode& from, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (!to->push(from[i])) return false;
  }
  return true;
}

// Where an instruction goes.
Moves::Move moved_to(const Moved* moved, size_t count, uint32_t at) {
  size_t low = 0;
  for (size_t high = count; high - low > 1;) {
    size_t middle = (low + high) / 2;
    (moved[middle].move.at <= at ? low : high) = middle;
  }
  const Moves::Move& one = moved[low].move;
  uint32_t place = one.place + (at - one.at);
  return {at, at == one.at ? one.target : place, place};
}

// The moves of one method, one after the other.
bool join(const Moved* first, size_t first_count, const Moved* second, size_t second_count,
          MovedCode* to) {
  uint32_t method = first[0].method;
  uint32_t locals = first[0].locals;
  size_t at = 0;
  // The last of the first is the end of the code: what lies behind has come in addition.
  for (size_t i = 0; i < first_count; ++i) {
    // Those of the second that lie in front of this one of the first, in code that was there.
    for (; at < second_count && second[at].move.at < first[i].move.target; ++at) {
      uint32_t there = second[at].move.at;
      if (i == 0) continue;
      const Moves::Move& before = first[i - 1].move;
      if (there <= before.place) continue;
      const Moves::Move& move = second[at].move;
      if (!to->push(
              {method, locals, {before.at + (there - before.place), move.target, move.place}})) {
        return false;
      }
    }
    const Moves::Move& one = first[i].move;
    Moves::Move joined{one.at, moved_to(second, second_count, one.target).target,
                       moved_to(second, second_count, one.place).place};
    if (!to->push({method, locals, joined})) return false;
  }
  return true;
}

// All of a class; both lists have the methods in rising order.
bool join(const MovedCode& first, const MovedCode& second, MovedCode* to) {
  size_t i = 0;
  size_t j = 0;
  while (i < first.size() || j < second.size()) {
    size_t first_end = i < first.size() ? end_of_method(first, i) : i;
    size_t second_end = j < second.size() ? end_of_method(second, j) : j;
    bool one = i < first.size() && (j == second.size() || first[i].method <= second[j].method);
    bool other = j < second.size() && (i == first.size() || second[j].method <= first[i].method);
    if (one && other) {
      if (!join(&first[i], first_end - i, &second[j], second_end - j, to)) return false;
    } else if (!(one ? push(to, first, i, first_end) : push(to, second, j, second_end))) {
      return false;
    }
    if (one) i = first_end;
    if (other) j = second_end;
  }
  return true;
}

// Which it was by its hash when its moves were noted; zero for none.
uint32_t find_version(uint64_t version) {
  uint32_t known = book->versions.find(version);
  if (known == 0) return 0;
  return std::memcmp(&book->moves[known - 1 + 3], &version, sizeof version) == 0 ? known : 0;
}

bool enter(Index* index, uint64_t key, uint32_t place) {
  if (index->find(key) == 0) return index->insert(key, place);
  index->replace(key, place);
  return true;
}

// Notes the moves of one method; under the lock.
bool note(const WovenMoves::Method& method, uint32_t turn, const Moved* moved, uint32_t count) {
  uint32_t known = find_version(method.version);
  if (known == 0 && book->moves.size() > kManyMoves) known = book->methods.find(method.hash);
  if (known == 0 || book->moves[known - 1] < count) {
    size_t needed = book->moves.size() + kMoveHead + count * kMoveSize;
    if (needed > 0xFFFFFFF0u ||
        (needed > book->moves.capacity() && !book->moves.reserve(needed * 2))) {
      return false;
    }
    uint32_t place = static_cast<uint32_t>(book->moves.size()) + 1;
    book->moves.grow(needed);
    book->moves[place - 1] = count;
    known = place;
  }
  if (!enter(&book->methods, method.hash, known) || !enter(&book->versions, method.version, known))
    return false;
  uint32_t* head = &book->moves[known - 1];
  head[1] = count;
  head[2] = turn;
  std::memcpy(head + 3, &method.version, sizeof method.version);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(head + kMoveHead + i * kMoveSize, &moved[i].move, sizeof moved[i].move);
  }
  return true;
}

jlocation before(uint32_t known, jlocation location) {
  if (known == 0 || location < 0) return location;
  const uint32_t* head = book->moves.begin() + known - 1;
  const auto* moves = reinterpret_cast<const Moves::Move*>(head + kMoveHead);
  return Moves::before(moves, head[1], static_cast<uint32_t>(location));
}

}  // namespace

uint64_t hash_of_class(const char* name, size_t size, jint loader) {
  return hash_of(hash_of(0xCBF29CE484222325u, name, size), &loader, sizeof loader);
}

jint hash_of_loader(jvmtiEnv* env, jobject loader) {
  jint found = 0;
  if (loader != nullptr) env->GetObjectHashCode(loader, &found);
  return found;
}

bool begin_code_moves(uint64_t klass, const uint8_t* data, jint size, MovedCode* earlier) {
  earlier->clear();
  Locked locked(mutex);
  if (book == nullptr) book = make<Book>();
  if (book == nullptr) return false;
  Change* change = change_of_thread();
  if (change != nullptr && change->klass == klass && change->made == data && change->size == size) {
    return push(earlier, change->moved, 0, change->moved.size());
  }
  // The first: what was noted of the class is void.
  uint32_t known = book->classes.find(klass);
  if (known != 0) book->classes.replace(klass, known + 1);
  return true;
}

bool WovenMoves::take(uint64_t klass, const classfile::Instrumenter& woven) {
  moved_.clear();
  methods_.clear();
  if (!push(&moved_, woven.moved(), 0, woven.moved().size())) return false;
  for (size_t at = 0; at < moved_.size(); at = end_of_method(moved_, at)) {
    uint32_t number = moved_[at].method;
    const classfile::MethodInfo* method = woven.method(number);
    if (method == nullptr) continue;
    uint64_t hash = hash_of_method(klass, method->name.data, method->name.size,
                                   method->descriptor.data, method->descriptor.size);
    if (!methods_.push({number, hash, hash_of_version(hash, method->code)})) return false;
  }
  return true;
}

bool note_code_moves(uint64_t klass, const WovenMoves& woven, const MovedCode& earlier) {
  MovedCode all;
  if (!join(earlier, woven.moved(), &all)) return false;
  Locked locked(mutex);
  if (book == nullptr) return false;
  if (book->classes.find(klass) == 0 && !book->classes.insert(klass, 1)) return false;
  uint32_t turn = book->classes.find(klass);
  const WovenMoves::Method* method = woven.methods().begin();
  for (size_t at = 0, end = 0; at < all.size(); at = end) {
    end = end_of_method(all, at);
    // Those that this set has not changed have been noted before.
    if (method == woven.methods().end() || method->number != all[at].method) continue;
    uint32_t count = static_cast<uint32_t>(end - at);
    if (!note(*method++, turn, &all[at], count)) return false;
  }
  Change* change = change_of_thread();
  if (change == nullptr) {
    if (book->changes.size() >= kMostThreads) {
      unmake(book->changes[0]);
      book->changes.remove(0);
    }
    change = make<Change>();
    if (change == nullptr || !book->changes.push(change)) {
      unmake(change);
      return false;
    }
    change->thread = pthread_self();
  }
  change->klass = klass;
  change->made = nullptr;
  change->moved.clear();
  return push(&change->moved, all, 0, all.size());
}

void hand_on_code_moves(uint64_t klass, const uint8_t* made, jint size) {
  Locked locked(mutex);
  Change* change = book == nullptr ? nullptr : change_of_thread();
  if (change == nullptr || change->klass != klass) return;
  change->made = made;
  change->size = size;
}

void locate_before(jvmtiEnv* env, JNIEnv* jni, jmethodID method, jlocation* locations,
                   size_t count) {
  Deallocated<char> name(env);
  Deallocated<char> descriptor(env);
  Deallocated<char> signature(env);
  LocalRef<jclass> klass(jni);
  LocalRef<> loader(jni);
  jboolean is_obsolete = JNI_FALSE;
  if (env->IsMethodObsolete(method, &is_obsolete) != JVMTI_ERROR_NONE ||
      env->GetMethodName(method, name.out(), descriptor.out(), nullptr) != JVMTI_ERROR_NONE ||
      env->GetMethodDeclaringClass(method, klass.out()) != JVMTI_ERROR_NONE ||
      env->GetClassLoader(klass, loader.out()) != JVMTI_ERROR_NONE ||
      env->GetClassSignature(klass, signature.out(), nullptr) != JVMTI_ERROR_NONE) {
    return;
  }
  size_t length = std::strlen(signature);
  if (length < 3) return;
  uint64_t of_class = hash_of_class(signature + 1, length - 2, hash_of_loader(env, loader));
  uint64_t of_method =
      hash_of_method(of_class, name, std::strlen(name), descriptor, std::strlen(descriptor));
  Deallocated<unsigned char> code(env);
  jint size = 0;
  if (is_obsolete && agent.env->GetBytecodes(method, &size, code.out()) != JVMTI_ERROR_NONE) return;
  Locked locked(mutex);
  if (book == nullptr) return;
  uint32_t known = 0;
  if (is_obsolete) {
    uint64_t its = classfile::hash_of_code(code, static_cast<uint32_t>(size));
    known = find_version(hash_of_version(of_method, its));
  } else {
    known = book->methods.find(of_method);
    // The class may be without probes by now.
    if (known != 0 && book->moves[known - 1 + 2] != book->classes.find(of_class)) known = 0;
  }
  for (size_t i = 0; i < count; ++i) locations[i] = before(known, locations[i]);
}

namespace {
std::atomic<uint32_t> changes{0};
}

jint code_changes() { return static_cast<jint>(changes.load() & INT32_MAX); }

void note_code_change() { changes.fetch_add(1); }

void hold_code_moves() {
  Locked locked(mutex);
  ++sessions_with_probes;
}

void release_code_moves() {
  Locked locked(mutex);
  if (--sessions_with_probes != 0) return;
  unmake(book);
  book = nullptr;
}

bool is_read_before_probes(jclass redefined, const char* name, const uint8_t* data, jint size) {
  Reading* found = reading_of_thread(redefined, name);
  if (found == nullptr || !found->before_probes) return false;
  take_file(found, data, size);
  return true;
}

bool is_read_with_probes(jclass redefined, const char* name) {
  Reading* found = reading_of_thread(redefined, name);
  return found != nullptr && !found->before_probes;
}

namespace {

// Too short to be a class file.
constexpr uint8_t kNoClassFile[] = {0xCA, 0xFE, 0xBA, 0xBE};

// Of the newest environment, which the VM asks last.  It refuses what the thread that reads gets,
// so the class stays as it is and no code is discarded.  What others change meanwhile is not its
// own.
void JNICALL refuse_class_file(jvmtiEnv* env, JNIEnv*, jclass redefined, jobject, const char* name,
                               jobject, jint size, const unsigned char* data, jint* new_size,
                               unsigned char** new_data) {
  Reading* reading = reading_of_thread(redefined, name);
  if (reading == nullptr) return;
  take_file(reading, data, size);
  void* refused = nullptr;
  // Allocated before: without it the class would lose its probes.
  if (env->GetEnvironmentLocalStorage(&refused) != JVMTI_ERROR_NONE || refused == nullptr) return;
  env->SetEnvironmentLocalStorage(nullptr);
  *new_data = static_cast<unsigned char*>(refused);
  *new_size = sizeof kNoClassFile;
}

class Read : NoCopy {
 public:
  explicit Read(Reading* reading) : reading_(reading) {
    reading->thread = pthread_self();
    Locked locked(mutex);
    reading->next = readings;
    readings = reading;
  }
  ~Read() {
    Locked locked(mutex);
    Reading** at = &readings;
    while (*at != reading_) at = &(*at)->next;
    *at = reading_->next;
  }

 private:
  Reading* const reading_;
};

jvmtiError read_class_file(jvmtiEnv* env, JNIEnv* jni, jclass klass, Reading* reading) {
  Deallocated<char> signature(env);
  jvmtiError error = env->GetClassSignature(klass, signature.out(), nullptr);
  if (error != JVMTI_ERROR_NONE) return error;
  reading->signature = signature;
  unsigned char* refused = nullptr;
  error = env->Allocate(sizeof kNoClassFile, &refused);
  if (error != JVMTI_ERROR_NONE) return error;
  std::memcpy(refused, kNoClassFile, sizeof kNoClassFile);
  jvmtiEventCallbacks callbacks{};
  callbacks.ClassFileLoadHook = refuse_class_file;
  env->SetEnvironmentLocalStorage(refused);
  env->SetEventCallbacks(&callbacks, sizeof callbacks);
  error = env->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
  if (error == JVMTI_ERROR_NONE) {
    ClassChange change;
    Read read(reading);
    error = retransform_classes(env, jni, &klass, 1);
  }
  void* left = nullptr;
  env->GetEnvironmentLocalStorage(&left);
  deallocate(env, left);
  if (reading->is_short) return JVMTI_ERROR_OUT_OF_MEMORY;
  if (!reading->file.empty()) return JVMTI_ERROR_NONE;
  return error == JVMTI_ERROR_NONE ? JVMTI_ERROR_OUT_OF_MEMORY : error;
}

}  // namespace

namespace operations {

jvmtiError LocateBeforeProbes(Call& call, const In<List<kinds::Method>>& methods,
                              const In<List<jlong>>& locations, jint* count, jlong** before) {
  if (methods.count() != locations.count()) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  size_t wanted = static_cast<size_t>(locations.count());
  jvmtiError error = allocate_list(wanted, before);
  if (error != JVMTI_ERROR_NONE) return error;
  if (wanted != 0) std::memcpy(*before, locations.items(), wanted * sizeof(jlong));
  // Those of one method that follow each other are found together.
  for (size_t at = 0, end = 0; at < wanted; at = end) {
    while (end < wanted && methods.items()[end] == methods.items()[at]) ++end;
    locate_before(agent.env, call.jni, methods.items()[at], *before + at, end - at);
  }
  *count = locations.count();
  return JVMTI_ERROR_NONE;
}

jvmtiError ReadClassFile(Call& call, const In<kinds::Class>& klass,
                         const In<jboolean>& before_probes, jint* count, unsigned char** bytes) {
  jvmtiCapabilities wanted{};
  wanted.can_retransform_classes = 1;
  jvmtiEnv* env = environment_with(wanted);
  if (env == nullptr) {
    return call.refuse(JVMTI_ERROR_MUST_POSSESS_CAPABILITY, "this JVM cannot retransform classes");
  }
  Reading reading;
  reading.before_probes = before_probes.c() != JNI_FALSE;
  jvmtiError error = read_class_file(env, call.jni, klass.c(), &reading);
  env->DisposeEnvironment();
  if (error != JVMTI_ERROR_NONE) return error;
  size_t size = reading.file.size();
  error = agent.env->Allocate(static_cast<jlong>(size), bytes);
  if (error != JVMTI_ERROR_NONE) return error;
  std::memcpy(*bytes, reading.file.begin(), size);
  *count = static_cast<jint>(size);
  return JVMTI_ERROR_NONE;
}

}  // namespace operations

}  // namespace jvmti
