// Values of fields, elements and linked objects, many in one reply: what an object is made of is
// seen with one crossing, and a map of thousands with a few.  No Java code runs, so that it can be
// done whatever the program's threads do meanwhile; what they change meanwhile may show or not.

#include "agent/engines/instrumentation/hits/probe_events.h"
#include "agent/operations/value_writer.h"
#include "generated/overrides.h"

namespace jvmti::operations {

jvmtiError ReadFields(Call& call, const In<kinds::Object>& object,
                      const In<List<kinds::Field>>& fields, const In<jboolean>& unbox,
                      const In<jint>& text, const In<jboolean>& same, jint* size,
                      unsigned char** data, jint* count, jobject** objects) {
  if (!can_write_values(call)) return call.outcome();
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  writer.begin(object.c());
  writer.expect(static_cast<size_t>(fields.count()));
  for (jint i = 0; i < fields.count() && writer.good(); ++i) writer.field(fields.record(i));
  return writer.finish(size, data, count, objects);
}

jvmtiError ReadElements(Call& call, const In<kinds::ObjectArray>& array, const In<jint>& start,
                        const In<jint>& length, const In<jboolean>& unbox, const In<jint>& text,
                        const In<jboolean>& same, jint* size, unsigned char** data, jint* count,
                        jobject** objects) {
  if (!can_write_values(call)) return call.outcome();
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  jsize there = call.jni->GetArrayLength(array.c());
  jint first = start.c() < 0 ? 0 : start.c();
  for (jint i = first; i < there && i - first < length.c() && writer.good(); ++i) {
    writer.object(call.jni->GetObjectArrayElement(array.c(), i));
  }
  return writer.finish(size, data, count, objects);
}

jvmtiError ShowFields(Call& call, const In<kinds::Object>& object,
                      const In<List<kinds::Field>>& fields, const In<List<kinds::Field>>& sized,
                      const In<jint>& items, const In<jint>& text, jint* size, unsigned char** data,
                      jint* count, jobject** objects) {
  if (!can_write_values(call)) return call.outcome();
  ValueWriter writer(call, false, -1, true);
  writer.with_contents(items.c(), text.c(), &sized);
  writer.begin(object.c());
  writer.expect(static_cast<size_t>(fields.count()));
  for (jint i = 0; i < fields.count() && writer.good(); ++i) writer.field(fields.record(i));
  return writer.finish(size, data, count, objects);
}

jvmtiError ShowVariables(Call& call, const In<Nullable<kinds::Thread>>& thread,
                         const In<Nullable<kinds::ObjectArray>>& values,
                         const In<List<kinds::Field>>& sized, const In<jint>& items,
                         const In<jint>& text, jint* size, unsigned char** data, jint* count,
                         jobject** objects) {
  if (!can_write_values(call)) return call.outcome();
  LocalRef<> found(call.jni);
  jobjectArray array = values.c();
  if (array == nullptr) {
    Halted halted{};
    if (thread.c() == nullptr || !find_halted(call.jni, thread.c(), &halted, &found)) {
      return call.refuse(JVMTI_ERROR_OPAQUE_FRAME, "the thread has not stopped at a probe");
    }
    array = static_cast<jobjectArray>(found.get());
  }
  ValueWriter writer(call, true, -1, true);
  writer.with_contents(items.c(), text.c(), &sized);
  jsize there = array == nullptr ? 0 : call.jni->GetArrayLength(array);
  for (jint i = 0; i < there && writer.good(); ++i) {
    writer.object(call.jni->GetObjectArrayElement(array, i));
  }
  return writer.finish(size, data, count, objects);
}

namespace {

// Walks over objects that refer to each other, and writes fields of each.
class Walk : NoCopy {
 public:
  Walk(Call& call, ValueWriter& writer, const In<List<kinds::Field>>& fields, jint most)
      : call_(call),
        jni_(call.jni),
        writer_(writer),
        fields_(fields),
        left_(most),
        array_(call.jni) {}
  ~Walk() {
    for (Link& one : aside_) delete_local(jni_, one.of);
    delete_local(jni_, next_.of);
    delete_local(jni_, before_.of);
  }

  bool follow(const FieldRecord* next) { return open(next, &next_); }
  bool follow_first(const FieldRecord* before) { return open(before, &before_); }

  bool lead_aside(const In<List<kinds::Field>>& aside) {
    for (jint i = 0; i < aside.count(); ++i) {
      Link link{};
      if (!open(aside.record(i), &link)) return false;
      if (!aside_.push(link)) {
        delete_local(jni_, link.of);
        return call_.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
      }
    }
    return true;
  }

  // All chains that begin in an array.
  void chains(jobjectArray table) {
    jsize count = jni_->GetArrayLength(table);
    for (jsize i = 0; i < count && has_more(); ++i) {
      chain(jni_->GetObjectArrayElement(table, i), i, count, 0);
    }
  }

  // One chain, which begins at one of the places of an array; takes the local reference over.
  void chain(jobject first, jsize place, jsize places, int depth) {
    LocalRef<> at(jni_, first);
    LocalRef<> seen(jni_);  // one of those before: a race may lead a chain back into itself
    for (size_t step = 1, mark = 1; at != nullptr && has_more(); ++step) {
      if (seen != nullptr && jni_->IsSameObject(at, seen)) break;
      if (step == mark) {
        seen.reset(jni_->NewLocalRef(at));
        mark *= 2;
      }
      const Link* aside = aside_of(at);
      if (aside == nullptr && !jni_->IsInstanceOf(at, next_.of)) break;
      if (aside == nullptr) write(at);
      at.reset(jni_->GetObjectField(at, (aside == nullptr ? next_ : *aside).id));
      if (aside != nullptr && at != nullptr && is_array(at)) {
        moved(static_cast<jobjectArray>(at.get()), place, places, depth);
        break;
      }
    }
  }

  // A binary tree in its order; takes the local reference over.
  void tree(jobject root) {
    LocalRef<> at(jni_, root);
    Vector<jobject> above;
    while (has_more() && (at != nullptr || !above.empty())) {
      // The two fields may be of different classes; in an object without one of them its place is
      // somebody else's.
      if (at != nullptr && above.size() < kDeepest && jni_->IsInstanceOf(at, next_.of) &&
          jni_->IsInstanceOf(at, before_.of)) {
        if (!above.push(at)) {
          writer_.fail();
          break;
        }
        at = LocalRef<>(jni_, jni_->GetObjectField(at.release(), before_.id));
        continue;
      }
      at.reset();
      if (above.empty()) break;
      LocalRef<> top(jni_, above.pop());
      write(top);
      at.reset(jni_->GetObjectField(top, next_.id));
    }
    for (jobject one : above) delete_local(jni_, one);
  }

 private:
  struct Link {
    jclass of;
    jfieldID id;
  };

  // A table that doubles each time has no more sizes, a balanced tree no more levels.
  static constexpr int kDeepest = 64;

  bool has_more() const { return left_ > 0 && writer_.good(); }

  bool open(const FieldRecord* record, Link* link) {
    if (!record->is_static && simple_type(record->type) == 'L') {
      link->of = static_cast<jclass>(jni_->NewLocalRef(record->klass));
      link->id = record->id;
    }
    if (link->of != nullptr) return true;
    return call_.refuse(JVMTI_ERROR_INVALID_FIELDID, "the field refers to no further object");
  }

  const Link* aside_of(jobject at) {
    for (const Link& one : aside_) {
      if (jni_->IsInstanceOf(at, one.of)) return &one;
    }
    return nullptr;
  }

  bool is_array(jobject at) {
    if (array_ == nullptr) array_ = class_named(jni_, "[Ljava/lang/Object;");
    return array_ != nullptr && jni_->IsInstanceOf(at, array_);
  }

  // What was at one place of a table is at several of a larger one.
  void moved(jobjectArray table, jsize place, jsize places, int depth) {
    if (depth >= kDeepest) return;
    jsize count = jni_->GetArrayLength(table);
    for (jlong i = place; i < count && has_more(); i += places) {
      jsize there = static_cast<jsize>(i);
      chain(jni_->GetObjectArrayElement(table, there), there, count, depth + 1);
    }
  }

  void write(jobject at) {
    writer_.begin(at);
    for (jint f = 0; f < fields_.count() && writer_.good(); ++f) writer_.field(fields_.record(f));
    --left_;
  }

  Call& call_;
  JNIEnv* jni_;
  ValueWriter& writer_;
  const In<List<kinds::Field>>& fields_;
  jint left_;
  Link next_{};
  Link before_{};
  Vector<Link> aside_;
  LocalRef<jclass> array_;
};

}  // namespace

jvmtiError ReadLinked(Call& call, const In<kinds::Object>& start, const In<kinds::Field>& next,
                      const In<List<kinds::Field>>& aside, const In<List<kinds::Field>>& fields,
                      const In<jint>& most, const In<jboolean>& unbox, const In<jint>& text,
                      const In<jboolean>& same, jint* size, unsigned char** data, jint* count,
                      jobject** objects) {
  if (!can_write_values(call)) return call.outcome();
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  Walk walk(call, writer, fields, most.c());
  if (!walk.follow(next.record()) || !walk.lead_aside(aside)) {
    return call.outcome();
  }
  if (kind_of(start.handle()) == kinds::ObjectArray::kind) {
    walk.chains(static_cast<jobjectArray>(start.c()));
  } else {
    walk.chain(call.jni->NewLocalRef(start.c()), 0, 1, 0);
  }
  return writer.finish(size, data, count, objects);
}

jvmtiError ReadTree(Call& call, const In<kinds::Object>& root, const In<kinds::Field>& left,
                    const In<kinds::Field>& right, const In<List<kinds::Field>>& fields,
                    const In<jint>& most, const In<jboolean>& unbox, const In<jint>& text,
                    const In<jboolean>& same, jint* size, unsigned char** data, jint* count,
                    jobject** objects) {
  if (!can_write_values(call)) return call.outcome();
  ValueWriter writer(call, unbox.c() != 0, text.c(), same.c() != 0);
  Walk walk(call, writer, fields, most.c());
  if (!walk.follow(right.record()) || !walk.follow_first(left.record())) {
    return call.outcome();
  }
  walk.tree(call.jni->NewLocalRef(root.c()));
  return writer.finish(size, data, count, objects);
}

}  // namespace jvmti::operations
