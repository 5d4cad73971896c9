// Who refers to an object, now: its referrers, a shortest path to a root, what it alone keeps.

#include "agent/engines/heap/heap_tracing.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

// ---- what the passes do with each reference -----------------------------------------------------

constexpr jint kFollow = JVMTI_VISIT_OBJECTS;
constexpr jint kAbort = JVMTI_VISIT_ABORT;

jint JNICALL refer(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                   jlong referrer_class_tag, jlong, jlong* tag, jlong* referrer_tag, jint,
                   void* data) {
  Tracing& trace = *static_cast<Tracing*>(data);
  if (!trace.control.go_on()) return kAbort;
  bool root = referrer_tag == nullptr;
  if (root && trace.ours(kind, info, *tag)) return 0;
  bool weakly = !root && trace.weak(kind, info, referrer_class_tag);
  if (*tag != trace.target || (weakly && !trace.with_weak)) return weakly ? 0 : kFollow;
  ++trace.total;
  if (static_cast<jlong>(trace.edges.size()) >= trace.most) return weakly ? 0 : kFollow;
  jlong referrer = root ? 0 : *referrer_tag;
  if (!root && !trace.marked(referrer)) {
    referrer = *referrer_tag = trace.add();
    trace.failed = trace.failed || referrer == 0;
  }
  trace.note(referrer, kind, info, weakly);
  return weakly ? 0 : kFollow;
}

// One step backwards from everything that was found before this pass.
jint JNICALL step_back(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                       jlong referrer_class_tag, jlong, jlong* tag, jlong* referrer_tag, jint,
                       void* data) {
  Tracing& trace = *static_cast<Tracing*>(data);
  if (!trace.control.go_on()) return kAbort;
  bool root = referrer_tag == nullptr;
  if (root && trace.ours(kind, info, *tag)) return 0;
  if (!root && !trace.with_weak && trace.weak(kind, info, referrer_class_tag)) return 0;
  jlong held = *tag;
  if (!trace.marked(held)) return kFollow;
  int32_t level = trace[held].level;
  if (level < 0 || level >= trace.level) return kFollow;
  jlong referrer = root ? 0 : *referrer_tag;
  if (root) {
    trace.note(0, kind, info, false);
    trace.arrived = true;
  } else {
    if (!trace.marked(referrer)) {
      referrer = *referrer_tag = trace.add_within_limit();
      if (referrer == 0) return kAbort;
      ++trace.total;
    }
    Mark& mark = trace[referrer];
    if (mark.level >= 0) return kFollow;
    mark.level = trace.level;
    mark.held = static_cast<uint32_t>(held);
    mark.kind = kind;
    mark.index = place_of(kind, info, -1).index;
    // A class that is never unloaded is as good as a root.
    trace.arrived = (mark.flags & kPermanent) != 0;
    held = referrer;
  }
  if (!trace.arrived) return kFollow;
  trace.target = held;  // where the way back begins
  return kAbort;
}

// Everything that can be reached from the target, up to what lives as long as the VM.
jint JNICALL reach(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                   jlong referrer_class_tag, jlong size, jlong* tag, jlong* referrer_tag, jint,
                   void* data) {
  Tracing& trace = *static_cast<Tracing*>(data);
  if (!trace.control.go_on()) return kAbort;
  if (referrer_tag != nullptr && trace.weak(kind, info, referrer_class_tag)) return 0;
  if (trace.flagged(*tag, kPermanent | kOurThread)) return 0;
  if (!trace.marked(*tag)) {
    *tag = trace.add_within_limit();
    if (*tag == 0) return kAbort;
  }
  Mark& mark = trace[*tag];
  if ((mark.flags & (kReachable | kTarget)) == 0) {
    mark.flags |= kReachable;
    mark.size = size;
    ++trace.total;
  }
  return kFollow;
}

// Everything that can be reached without the target.
jint JNICALL reach_otherwise(jvmtiHeapReferenceKind kind, const jvmtiHeapReferenceInfo* info, jlong,
                             jlong referrer_class_tag, jlong, jlong* tag, jlong* referrer_tag, jint,
                             void* data) {
  Tracing& trace = *static_cast<Tracing*>(data);
  if (!trace.control.go_on()) return kAbort;
  bool root = referrer_tag == nullptr;
  if (root ? trace.ours(kind, info, *tag) : trace.weak(kind, info, referrer_class_tag)) return 0;
  if (!trace.marked(*tag)) return kFollow;
  Mark& mark = trace[*tag];
  if ((mark.flags & kTarget) != 0) return 0;
  mark.flags |= kReached;
  return kFollow;
}

// ---- results ------------------------------------------------------------------------------------

// The objects behind marks, each mark once.
jvmtiError objects_behind(Tracing& trace, Vector<jlong>& marks, jint* count, jobject** objects,
                          jlong** tags) {
  if (marks.empty()) return JVMTI_ERROR_NONE;
  Vector<jlong> distinct;
  for (jlong one : marks) {
    if (one == 0) continue;
    // What has been asked for already says so by a level that no path has.
    constexpr int32_t kAsked = INT32_MAX;
    if (trace[one].level == kAsked) continue;
    trace[one].level = kAsked;
    if (!distinct.push(one)) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  if (distinct.empty()) return JVMTI_ERROR_NONE;
  return trace.env()->GetObjectsWithTags(static_cast<jint>(distinct.size()), distinct.begin(),
                                         count, objects, tags);
}

}  // namespace

namespace operations {

jvmtiError FindReferrers(Call& call, const In<kinds::Object>& object, const In<jint>& most,
                         const In<jboolean>& weak, const In<jlong>& limit, jint* count,
                         jobject** objects, jlong** marks, jint* edge_count, jlong** edges,
                         jlong* total, jlong* stopped, jboolean* whole) {
  if (most.c() < 0) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  Tracing trace(call, control);
  if (jvmtiError error = trace.prepare(object.c())) return error;
  trace.most = most.c();
  trace.with_weak = weak.c() != 0;
  if (jvmtiError error = trace.follow(refer, nullptr)) return error;
  *total = trace.total;
  control.report(stopped, whole);
  Vector<jlong> referrers;
  for (const layouts::Edge& edge : trace.edges) {
    if (!referrers.push(edge.referrer)) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  jvmtiError error = give(trace.edges, edge_count, edges);
  return error != JVMTI_ERROR_NONE ? error
                                   : objects_behind(trace, referrers, count, objects, marks);
}

jvmtiError FindPath(Call& call, const In<kinds::Object>& object, const In<jlong>& most,
                    const In<jboolean>& weak, const In<jlong>& limit, jint* count,
                    jobject** objects, jlong** marks, jint* edge_count, jlong** edges, jint* passes,
                    jboolean* found, jboolean* too_many, jlong* stopped, jlong* longest,
                    jboolean* whole) {
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  Tracing trace(call, control);
  jvmtiError error = trace.prepare(object.c());
  if (error != JVMTI_ERROR_NONE) return error;
  trace.most = most.c();
  trace.with_weak = weak.c() != 0;
  jlong wanted = trace.target;
  trace.arrived = (trace[wanted].flags & kPermanent) != 0;
  while (!trace.arrived && !trace.too_many && !control.over()) {
    ++trace.level;
    size_t before = trace.count();
    ++*passes;
    // A mark that was made for something else gets a level too, so only levels count.
    error = trace.follow(step_back, nullptr);
    if (error != JVMTI_ERROR_NONE) return error;
    bool further = trace.count() > before;
    for (size_t i = 1; !further && i < before; ++i) {
      further = trace[static_cast<jlong>(i)].level == trace.level;
    }
    if (!further) break;
  }
  *found = trace.arrived;
  *too_many = trace.too_many;
  control.report(stopped, whole);
  *longest = control.longest();
  Vector<layouts::Edge> steps;
  Vector<jlong> way;
  if (trace.arrived) {
    // The root first, if there is one; then each object with how it holds the next.
    bool fine = true;
    for (const layouts::Edge& edge : trace.edges) fine = fine && steps.push(edge);
    for (jlong one = trace.target; fine && one != wanted; one = trace[one].held) {
      const Mark& mark = trace[one];
      fine = fine && steps.push(layouts::Edge{one, mark.kind, mark.index, 0, 0, 0, 0});
      fine = fine && way.push(one);
    }
    if (!fine) return JVMTI_ERROR_OUT_OF_MEMORY;
  }
  error = give(steps, edge_count, edges);
  return error != JVMTI_ERROR_NONE ? error : objects_behind(trace, way, count, objects, marks);
}

jvmtiError MeasureRetained(Call& call, const In<kinds::Object>& object, const In<jlong>& most,
                           const In<jlong>& limit, jlong* bytes, jlong* retained, jlong* reachable,
                           jboolean* too_many, jlong* stopped, jlong* longest, jboolean* whole) {
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  Tracing trace(call, control);
  if (jvmtiError error = trace.prepare(object.c())) return error;
  trace.most = most.c();
  jlong own_size = 0;
  jvmtiError error = trace.env()->GetObjectSize(object.c(), &own_size);
  if (error == JVMTI_ERROR_NONE) error = trace.follow(reach, object.c());
  *reachable = trace.total;
  *too_many = trace.too_many;
  if (error == JVMTI_ERROR_NONE && !trace.too_many && !control.over()) {
    error = trace.follow(reach_otherwise, nullptr);
  }
  *bytes = own_size;
  *retained = 1;
  for (size_t i = 1; i < trace.count(); ++i) {
    const Mark& mark = trace[static_cast<jlong>(i)];
    if ((mark.flags & (kReachable | kReached)) != kReachable) continue;
    *bytes += mark.size;
    ++*retained;
  }
  control.report(stopped, whole);
  *longest = control.longest();
  return error;
}

}  // namespace operations
}  // namespace jvmti
