// A set of probes: the plan, the classes that have them, and the memory that they write to.
//
// Classes get their probes in the hook for class files of an environment that belongs to the set:
// those that are loaded on the thread that loads them, the others when they are retransformed.  The
// helper class asks for nothing but the set's control line, so probes do nothing from the moment on
// that it is cleared.  Their memory stays mapped for good, over private pages when the set is gone:
// a thread that was stopped in a probe may write at any time.
#pragma once

#include <jvmti.h>

#include <atomic>

#include "agent/calls/call.h"
#include "agent/engines/instrumentation/class_relations.h"
#include "agent/engines/instrumentation/code_moves.h"
#include "agent/engines/instrumentation/hits/probe_events.h"
#include "agent/engines/instrumentation/hits/probe_helper.h"
#include "agent/engines/instrumentation/late_weaving.h"
#include "agent/engines/instrumentation/used_probes.h"
#include "base/shared_memory.h"
#include "classfile/instrumenter.h"

namespace jvmti {

struct ProbeRequest {
  const uint8_t* plan;
  uint64_t plan_size;
  int64_t shortest;
  int32_t record_size;
  int32_t text_size;
  int32_t held;
  uint32_t stop = 0;         // the request that they stop threads for; then they record nothing
  bool events = false;       // they report events of JVM TI
  uint32_t profile = 0;      // the profile of locks that they report threads that were parked to
  jobject loader = nullptr;  // only its classes get any
};

// How many classes have probes and how many should and have not; and sites and methods.
struct ProbeCounts {
  uint64_t classes = 0;
  uint64_t sites = 0;
  uint64_t failed = 0;
  uint64_t reason = 0;    // of the last that failed, a classfile::Status
  uint32_t left_out = 0;  // why a place has no probe, a layouts::LeftOut; the last, or too large
};

// Bytes behind others; false without memory, with nothing changed.
template <class T>
bool append(Vector<uint8_t>* to, const T* from, size_t count) {
  size_t size = count * sizeof(T);
  if (size == 0) return true;  // nothing may have no address, which memcpy refuses
  size_t needed = to->size() + size;
  if (needed > to->capacity() && !to->reserve(needed * 2 + 1024)) return false;
  std::memcpy(to->end(), from, size);
  to->grow(needed);
  return true;
}

class Receivers;

class ProbeSet {
 public:
  // Null with a refusal.
  static ProbeSet* open(Call& call, const ProbeRequest& request, int descriptor);
  // From here on the probes do nothing and no class gets any.
  void mute();
  // Takes the probes out of all classes.
  void restore(JNIEnv* jni);
  // Frees the set; false while a thread is still inside.
  bool free(JNIEnv* jni);

  jvmtiError retransform(JNIEnv* jni, const jclass* classes, jint count);
  uint32_t number() const { return number_; }
  uint32_t profile() const { return profile_; }
  ProbeCounts counts();
  // What has been noted from `offset` on, in memory of the VM's.
  jvmtiError copy_sites(uint64_t offset, jint* count, unsigned char** bytes);
  jvmtiError copy_classes(uint64_t offset, jint* count, unsigned char** bytes);
  jvmtiError copy_keys(uint64_t offset, jint* count, unsigned char** bytes);
  // The objects of a call, which are not held any longer then; false where they are not.
  bool take_held(JNIEnv* jni, int64_t sequence, jmethodID* method, LocalRef<jobjectArray>* objects);

  // Of a set that reports events: takes another plan; null, or why not.
  const char* change(JNIEnv* jni, const uint8_t* plan, uint64_t size);
  jvmtiError enable(JNIEnv* jni, uint32_t environment, bool on, int event, jthread thread);
  jvmtiError watch(JNIEnv* jni, jclass klass, jfieldID field, char type, jint* number);
  jvmtiError await_pop(JNIEnv* jni, uint32_t environment, jthread thread, jint from_bottom);
  void clear_pops(JNIEnv* jni, uint32_t environment, jthread thread);
  // The current thread's frame begins again: nobody of the session waits for its end any more.
  void begin_frame_again(JNIEnv* jni);
  void forget_environment(JNIEnv* jni, uint32_t environment);
  // A thread may be stepped by the set's probes.
  jvmtiError step(JNIEnv* jni, uint32_t environment, bool on, jthread thread) {
    return enable(jni, environment, on, JVMTI_EVENT_SINGLE_STEP, thread);
  }
  bool reports_events() const { return events_ != nullptr; }

  // Of the helper class: whether a step of a condition holds for what is behind an object.
  static jint test(JNIEnv* jni, uint32_t number, uint32_t step, jobject from);
  // Where the fields on the path of a step are, for the helper; false without memory.
  bool make_paths(JNIEnv* jni);
  void note_path(JNIEnv* jni, uint32_t step, jobject from);
  void forget_paths(JNIEnv* jni);
  // The same: waits while the set is there; throws an exception of a class, as the caller of the
  // helper finds it.
  static void pause(uint32_t number, int64_t nanoseconds);
  static void raise(JNIEnv* jni, uint32_t number, jstring name, jstring message);
  // The same: the tally of calls with a value, the position of that of those which return.
  static jint key(JNIEnv* jni, uint32_t number, jobject value, jint operand);
  // The same: the thread waits for the controller, which reads and writes the array.
  static void halt(JNIEnv* jni, jobjectArray values, uint32_t number, uint32_t site);
  // The same: writes what an object is, or the stack of the current thread.
  static void record_object(JNIEnv* jni, uint8_t* record, jobject value, jint offset, jint operand);

 private:
  explicit ProbeSet(uint32_t number) : number_(number) {}
  ~ProbeSet() {
    unmake(events_);
    unmake(relations_);
  }
  bool prepare(Call& call, const ProbeRequest& request, int descriptor);
  bool listen(JNIEnv* jni);
  void serve_receivers();
  void forget_pops(JNIEnv* jni, jthread thread, jint frames);
  void need_gate(JNIEnv* jni, bool needs);
  const char* share_memory(const ProbeRequest& request, int descriptor);
  bool takes_stops(Call& call, const ProbeRequest& request);
  bool find_receivers(JNIEnv* jni, uint32_t site, bool leaves, jthread thread,
                      ProbeEvents::Site* place, ProbeEvents::Field* field, Receivers* receivers,
                      Receivers* popping);
  // `leaves`: the thread returns from there early.
  static void report(JNIEnv* jni, jobjectArray values, uint32_t number, uint32_t site, bool leaves);
  const classfile::Plan& plan() const { return events_ == nullptr ? plan_ : *events_->plan(); }
  void hook(jvmtiEnv* env, JNIEnv* jni, const ShownClass& shown, bool is_read, jint* new_size,
            unsigned char** new_data);
  bool weave(const ShownClass& shown, uint64_t klass, bool is_read, bool knows,
             Vector<uint8_t>* woven);
  void note_failure(classfile::Status why);
  uint32_t first_site(uint64_t klass, uint32_t fresh) const;
  bool is_as_before(uint64_t klass, const char* name, uint32_t first) const;
  bool describe_sites(const char* name, Vector<uint8_t>* to) const;
  bool note(uint64_t klass, const char* name, bool is_new);
  bool note_first(uint64_t klass, size_t at);
  static void JNICALL class_file_load_hook(jvmtiEnv* env, JNIEnv*, jclass, jobject,
                                           const char* name, jobject, jint size,
                                           const unsigned char* data, jint* new_size,
                                           unsigned char** new_data);
  static void JNICALL class_prepare(jvmtiEnv* env, JNIEnv* jni, jthread, jclass klass);
  uint64_t number_of(JNIEnv* jni, jclass klass);
  // What its objects are, and which box, by its number.
  static layouts::RecordedKind kind_of(uint64_t number) {
    return static_cast<layouts::RecordedKind>(number >> 32 & 0xFF);
  }
  static size_t box_of(uint64_t number) { return number >> 40 & 7; }
  struct KnownField {
    jfieldID id;
    char type;  // 0 where the class has no such field
  };
  KnownField field_of(JNIEnv* jni, jclass klass, uint64_t noted, classfile::Text name);
  KnownField find_field(JNIEnv* jni, jclass klass, classfile::Text name);
  // What a path of fields leads to: an object, or a number.
  struct Found {
    char type;  // as in a descriptor, L for objects; 0: there is no such field
    bool is_real() const { return type == 'F' || type == 'D'; }
    int64_t number;
    double real;
  };
  Found follow(JNIEnv* jni, classfile::Text path, LocalRef<>* at);
  // The classes of the objects on the path of a step, where the fields are in them, and what the
  // last one is; of no length where the helper cannot follow it.
  struct Path {
    static constexpr jsize kLongest = 8;
    jclass classes[kLongest + 1];  // and a box
    jlong offsets[kLongest + 2];
    jlong type;
    jsize length;
  };
  Path find_path(JNIEnv* jni, const classfile::Step& step, jobject from);
  static Found primitive(JNIEnv* jni, jobject object, jfieldID field, char type);
  bool holds(JNIEnv* jni, const classfile::Step& step, jobject from);
  static bool answers(const classfile::Step& step, const char* text, size_t size);
  bool caller_is(JNIEnv* jni, const classfile::Step& step);
  bool class_is(JNIEnv* jni, const classfile::Step& step, jobject klass);
  // Writes what an object is, or what the path of an operand leads to from there; as much as a
  // record has space for.
  void describe(JNIEnv* jni, jobject from, jint operand, int own_frames, uint8_t* at);
  void describe_object(JNIEnv* jni, jobject value, uint8_t* at);
  void write_stack(JNIEnv* jni, int own_frames, jint wanted, uint8_t* into,
                   layouts::RecordedObject* about);
  int64_t hold(JNIEnv* jni, jobject objects);
  void let_go(JNIEnv* jni);
  LocalRef<> made(JNIEnv* jni, jstring name, jstring message);
  uint32_t number_of(JNIEnv* jni, const jvmtiFrameInfo& frame);
  int line_of(const jvmtiFrameInfo& frame);
  void write_text(JNIEnv* jni, jstring text, uint8_t* into, layouts::RecordedObject* about);
  jvmtiError copy(const Vector<uint8_t>& from, uint64_t offset, jint* count, unsigned char** bytes);

  const uint32_t number_;
  jvmtiEnv* env_ = nullptr;
  uint32_t record_size_ = 0;
  uint32_t text_size_ = 0;
  uint32_t stop_ = 0;         // the request for which they stop threads
  uint32_t environment_ = 0;  // of the session, where that request is
  Session* session_ = nullptr;
  uint32_t profile_ = 0;           // that it reports to
  ProbeEvents* events_ = nullptr;  // those that it reports
  bool needs_gate_ = false;        // threads are stepped by it
  std::atomic<bool> active_{false};
  SharedMemory memory_;
  classfile::Plan plan_;
  ClassRelations* relations_ = nullptr;  // where the plan asks for any
  LateWeaving* late_ = nullptr;
  jweak loader_ = nullptr;  // null: of any

  Mutex mutex_{Guards::kLists};
  classfile::Instrumenter instrumenter_;
  WovenClass last_;
  Vector<uint8_t> sites_;
  // Where the sites of a class are among them, as it was woven last.
  struct Noted {
    uint32_t first;  // number
    size_t at;
    size_t size;
  };
  Vector<Noted> noted_;
  Index noted_numbers_;    // of classes among these, from 1, by their hashes
  Vector<uint8_t> names_;  // of classes of objects, a zero behind each
  uint32_t named_ = 0;
  Vector<uint8_t> keys_;  // what calls are counted by
  Index key_numbers_;     // of their hashes, from 1
  struct Held {
    jmethodID method;
    jobject objects;
  };
  Vector<Held> held_;  // the last calls, each at its number modulo their number
  int64_t held_count_ = 0;
  Vector<uint8_t> path_tries_;  // how often the path of a step has been noted
  Index caller_answers_;        // of a caller and a step: 1 for no, 2 for yes
  Index frame_numbers_;         // of a method and a location, among those of classes
  Index field_numbers_;         // of a class and a name, from 1
  Vector<KnownField> fields_;
  Index woven_;  // hashes of the names of classes that have probes
  // When a class that was loading got its probes last, by the clock in milliseconds.
  int64_t loading_last_ = 0;
  uint64_t most_sites_ = 0;
  bool boxes_ = false;  // numbers, which classes of boxes must not do on their part
  ProbeCounts counts_;
};

}  // namespace jvmti
