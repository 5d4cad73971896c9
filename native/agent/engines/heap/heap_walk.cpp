#include "agent/engines/heap/heap_walk.h"

#include "agent/engines/heap/heap_pass.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

using layouts::About;
using layouts::WrittenTags;

constexpr size_t kRecords = 4096;      // of a block
constexpr size_t kBytes = 256 * 1024;  // of a block, about

}  // namespace

HeapWalk::HeapWalk(Call& call, jint go_on, jint abort) : call_(call), go_on_(go_on), abort_(abort) {
  call_.channel.begin_walk(call_.environment);
}

HeapWalk::~HeapWalk() { call_.channel.end_walk(); }

jint HeapWalk::visited(Visit visit, jlong* tag, jlong* referrer_tag) {
  order_.number(static_cast<uint8_t>(visit));
  if (modes_[static_cast<int>(visit)] == CallbackMode::kAtOnce) return send(tag, referrer_tag);
  size_t bytes = data_.size();
  if (order_.size() >= kRecords || bytes >= kBytes) return send(nullptr, nullptr);
  return go_on_;
}

// In the form of `jvmti.layouts.heap_walks`.
void HeapWalk::write_block() {
  block_.clear();
  uint8_t kinds = 0;
  block_.number(kinds);
  for (int i = 0; i < layouts::kVisitCount; ++i) {
    if (rows_[i].size() == 0) continue;
    ++kinds;
    block_.number(
        layouts::WalkKind{static_cast<uint8_t>(i), static_cast<uint32_t>(rows_[i].size())});
  }
  block_.fill(0, kinds);
  bool failed = order_.failed() || data_.failed();
  bool exhausted = order_.exhausted() || data_.exhausted();
  for (Writer& rows : rows_) {
    block_.bytes(rows.data(), rows.size());
    failed = failed || rows.failed();
    exhausted = exhausted || rows.exhausted();
    rows.clear();
  }
  if (kinds > 1) block_.bytes(order_.data(), order_.size());
  block_.bytes(data_.data(), data_.size());
  order_.clear();
  data_.clear();
  if (!failed && !block_.failed()) return;
  over_ = true;
  if (exhausted || block_.exhausted()) call_.refuse(JVMTI_ERROR_OUT_OF_MEMORY);
  call_.refuse(layouts::Status::kReplyTooLarge,
               "an array of the heap is larger than a message may be");
}

jint HeapWalk::send(jlong* tag, jlong* referrer_tag) {
  write_block();
  if (over_) return abort_;
  Header opening{0, layouts::Kind::kCallback, 0, 0, 0, call_.environment_number, 0};
  Reader answer;
  Channel::Outcome outcome = call_.channel.ask_in_walk(opening, block_, &answer);
  auto reply = answer.number<layouts::WalkAnswer>();
  outcome_ = outcome;
  if (outcome != Channel::Outcome::kAnswered || answer.failed()) {
    over_ = true;
    return abort_;
  }
  // A walk that ends keeps the tags that its last callback wrote.
  if (tag != nullptr && (reply.written & WrittenTags::kTag) != 0) *tag = reply.tag;
  if (referrer_tag != nullptr && (reply.written & WrittenTags::kReferrerTag) != 0) {
    *referrer_tag = reply.referrer_tag;
  }
  if (abort_ == 0 ? reply.control == abort_ : (reply.control & abort_) != 0) over_ = true;
  return reply.control;
}

jvmtiError HeapWalk::ended(jvmtiError error) {
  if (error == JVMTI_ERROR_NONE && !over_ && order_.size() > 0) send(nullptr, nullptr);
  if (outcome_ == Channel::Outcome::kOverran) {
    call_.refuse(layouts::Status::kWalkEnded, "its time limit had passed");
  } else if (outcome_ == Channel::Outcome::kStopped) {
    call_.refuse(layouts::Status::kWalkEnded, "this process was stopped in the middle of it");
  }
  return error;
}

namespace {

HeapWalk& of(void* user_data) { return *static_cast<HeapWalk*>(user_data); }

// ---- the callbacks ----------------------------------------------------------------------------

jint JNICALL object(jlong class_tag, jlong size, jlong* tag, jint length, void* user_data) {
  HeapWalk& walk = of(user_data);
  if (walk.over()) return walk.abort();
  layouts::WalkObject record{class_tag, size, *tag, length};
  return walk.visited(Visit::kObject, record, tag);
}

jint JNICALL reference(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info,
                       jlong class_tag, jlong referrer_class_tag, jlong size, jlong* tag,
                       jlong* referrer_tag, jint length, void* user_data) {
  HeapWalk& walk = of(user_data);
  if (walk.over()) return walk.abort();
  ReferencePlace place = place_of(kind, info, 0);
  unsigned about = 0;
  if (referrer_tag != nullptr) about |= About::kHasReferrer;
  if (referrer_tag == tag) about |= About::kSameObject;
  layouts::WalkReference record{static_cast<jint>(kind),
                                class_tag,
                                referrer_class_tag,
                                size,
                                *tag,
                                referrer_tag == nullptr ? jlong{0} : *referrer_tag,
                                static_cast<uint8_t>(about),
                                length,
                                place.thread_tag,
                                place.thread_id,
                                place.depth,
                                walk.method(place.method),
                                place.location,
                                place.index};
  return walk.visited(Visit::kReference, record, tag, referrer_tag);
}

jint JNICALL primitive_field(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info,
                             jlong class_tag, jlong* tag, jvalue value, jvmtiPrimitiveType type,
                             void* user_data) {
  HeapWalk& walk = of(user_data);
  if (walk.over()) return walk.abort();
  layouts::WalkPrimitiveField record{static_cast<jint>(kind),
                                     info->field.index,
                                     class_tag,
                                     *tag,
                                     static_cast<jint>(type),
                                     bits_of(static_cast<char>(type), value)};
  return walk.visited(Visit::kPrimitiveField, record, tag);
}

jint JNICALL array(jlong class_tag, jlong size, jlong* tag, jint count, jvmtiPrimitiveType type,
                   const void* elements, void* user_data) {
  HeapWalk& walk = of(user_data);
  if (walk.over()) return walk.abort();
  layouts::WalkArray record{class_tag, size, *tag, count, static_cast<jint>(type)};
  walk.data().bytes(elements, static_cast<size_t>(count) * width_of(type));
  return walk.visited(Visit::kArray, record, tag);
}

jint JNICALL string(jlong class_tag, jlong size, jlong* tag, const jchar* value, jint length,
                    void* user_data) {
  HeapWalk& walk = of(user_data);
  if (walk.over()) return walk.abort();
  layouts::WalkString record{class_tag, size, *tag, length};
  walk.data().bytes(value, static_cast<size_t>(length) * sizeof *value);
  return walk.visited(Visit::kString, record, tag);
}

template <class Record>
jvmtiIterationControl visit_10(void* user_data, Visit visit, const Record& record, jlong* tag) {
  HeapWalk& walk = of(user_data);
  if (walk.over()) return JVMTI_ITERATION_ABORT;
  return static_cast<jvmtiIterationControl>(walk.visited(visit, record, tag));
}

jvmtiIterationControl JNICALL object_10(jlong class_tag, jlong size, jlong* tag, void* user_data) {
  return visit_10(user_data, Visit::kObject10, layouts::WalkObject10{class_tag, size, *tag}, tag);
}

jvmtiIterationControl JNICALL root_10(jvmtiHeapRootKind kind, jlong class_tag, jlong size,
                                      jlong* tag, void* user_data) {
  layouts::WalkRoot10 record{static_cast<jint>(kind), class_tag, size, *tag};
  return visit_10(user_data, Visit::kRoot10, record, tag);
}

jvmtiIterationControl JNICALL stack_reference_10(jvmtiHeapRootKind kind, jlong class_tag,
                                                 jlong size, jlong* tag, jlong thread_tag,
                                                 jint depth, jmethodID method, jint slot,
                                                 void* user_data) {
  HeapWalk& walk = of(user_data);
  if (walk.over()) return JVMTI_ITERATION_ABORT;
  layouts::WalkStackReference10 record{
      static_cast<jint>(kind), class_tag, size, *tag, thread_tag, depth, walk.method(method), slot};
  return visit_10(user_data, Visit::kStackReference10, record, tag);
}

jvmtiIterationControl JNICALL reference_10(jvmtiObjectReferenceKind kind, jlong class_tag,
                                           jlong size, jlong* tag, jlong referrer_tag,
                                           jint referrer_index, void* user_data) {
  layouts::WalkReference10 record{static_cast<jint>(kind), class_tag, size, *tag, referrer_tag,
                                  referrer_index};
  return visit_10(user_data, Visit::kReference10, record, tag);
}

jvmtiHeapCallbacks callbacks_of(HeapWalk& walk, const In<jvmtiHeapCallbacks>& wanted) {
  jvmtiHeapCallbacks callbacks{};
  if (wanted.iteration) callbacks.heap_iteration_callback = object;
  if (wanted.reference) callbacks.heap_reference_callback = reference;
  if (wanted.primitive_field) callbacks.primitive_field_callback = primitive_field;
  if (wanted.array) callbacks.array_primitive_value_callback = array;
  if (wanted.string) callbacks.string_primitive_value_callback = string;
  walk.call_for(Visit::kObject, wanted.iteration);
  walk.call_for(Visit::kReference, wanted.reference);
  walk.call_for(Visit::kPrimitiveField, wanted.primitive_field);
  walk.call_for(Visit::kArray, wanted.array);
  walk.call_for(Visit::kString, wanted.string);
  return callbacks;
}

}  // namespace

// ---- the walks --------------------------------------------------------------------------------

namespace overrides {

jvmtiError FollowReferences(Call& call, const In<jint>& heap_filter,
                            const In<Nullable<kinds::Class>>& klass,
                            const In<Nullable<kinds::Object>>& initial_object,
                            const In<jvmtiHeapCallbacks>& wanted, const In<Stored>&) {
  HeapWalk walk(call, JVMTI_VISIT_OBJECTS, JVMTI_VISIT_ABORT);
  jvmtiHeapCallbacks callbacks = callbacks_of(walk, wanted);
  return walk.ended(call.env->FollowReferences(heap_filter.c(), klass.c(), initial_object.c(),
                                               &callbacks, &walk));
}

jvmtiError IterateThroughHeap(Call& call, const In<jint>& heap_filter,
                              const In<Nullable<kinds::Class>>& klass,
                              const In<jvmtiHeapCallbacks>& wanted, const In<Stored>&) {
  HeapWalk walk(call, 0, JVMTI_VISIT_ABORT);
  jvmtiHeapCallbacks callbacks = callbacks_of(walk, wanted);
  return walk.ended(call.env->IterateThroughHeap(heap_filter.c(), klass.c(), &callbacks, &walk));
}

jvmtiError IterateOverObjectsReachableFromObject(Call& call, const In<kinds::Object>& object,
                                                 const In<Callback>& object_reference_callback,
                                                 const In<Stored>&) {
  if (!object_reference_callback) return JVMTI_ERROR_NULL_POINTER;
  HeapWalk walk(call, JVMTI_ITERATION_CONTINUE, JVMTI_ITERATION_ABORT);
  walk.call_for(Visit::kReference10, object_reference_callback);
  return walk.ended(
      call.env->IterateOverObjectsReachableFromObject(object.c(), reference_10, &walk));
}

jvmtiError IterateOverReachableObjects(Call& call, const In<Callback>& heap_root_callback,
                                       const In<Callback>& stack_ref_callback,
                                       const In<Callback>& object_ref_callback, const In<Stored>&) {
  HeapWalk walk(call, JVMTI_ITERATION_CONTINUE, JVMTI_ITERATION_ABORT);
  walk.call_for(Visit::kRoot10, heap_root_callback);
  walk.call_for(Visit::kStackReference10, stack_ref_callback);
  walk.call_for(Visit::kReference10, object_ref_callback);
  return walk.ended(call.env->IterateOverReachableObjects(
      heap_root_callback ? root_10 : nullptr, stack_ref_callback ? stack_reference_10 : nullptr,
      object_ref_callback ? reference_10 : nullptr, &walk));
}

namespace {

// HotSpot takes any number for "all objects".
bool known(Call& call, jvmtiHeapObjectFilter filter) {
  if (filter >= JVMTI_HEAP_OBJECT_TAGGED && filter <= JVMTI_HEAP_OBJECT_EITHER) return true;
  return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "%d is not a filter of objects", filter);
}

}  // namespace

jvmtiError IterateOverHeap(Call& call, const In<jvmtiHeapObjectFilter>& object_filter,
                           const In<Callback>& heap_object_callback, const In<Stored>&) {
  if (!heap_object_callback) return JVMTI_ERROR_NULL_POINTER;
  if (!known(call, object_filter.c())) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  HeapWalk walk(call, JVMTI_ITERATION_CONTINUE, JVMTI_ITERATION_ABORT);
  walk.call_for(Visit::kObject10, heap_object_callback);
  return walk.ended(call.env->IterateOverHeap(object_filter.c(), object_10, &walk));
}

jvmtiError IterateOverInstancesOfClass(Call& call, const In<kinds::Class>& klass,
                                       const In<jvmtiHeapObjectFilter>& object_filter,
                                       const In<Callback>& heap_object_callback,
                                       const In<Stored>&) {
  if (!heap_object_callback) return JVMTI_ERROR_NULL_POINTER;
  if (!known(call, object_filter.c())) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  HeapWalk walk(call, JVMTI_ITERATION_CONTINUE, JVMTI_ITERATION_ABORT);
  walk.call_for(Visit::kObject10, heap_object_callback);
  return walk.ended(
      call.env->IterateOverInstancesOfClass(klass.c(), object_filter.c(), object_10, &walk));
}

}  // namespace overrides
}  // namespace jvmti
