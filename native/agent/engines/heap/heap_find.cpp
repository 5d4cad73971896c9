// Objects found again in a pass: those that an earlier scan found, and the first of some classes.
//
// Classes are tagged with their numbers in the request from 1, and what is found with numbers from
// `kFoundTag` on, until it has been taken.

#include "agent/engines/heap/heap_pass.h"
#include "generated/overrides.h"

namespace jvmti {

namespace {

// What is looked for: in the order of their classes, and in each of their ordinals.
struct HeapFind {
  PassControl& control;
  jint classes;
  const jint* of;
  const jlong* ordinals;
  const jlong* sizes;
  const jint* lengths;
  jint count;
  jlong* seen;   // objects of each class so far
  jint* next;    // the next that is looked for in each class, from 0
  jint* places;  // for those that are classes themselves, which have a tag already: their numbers
  jlong found;
  jlong different;
};

// Beyond all numbers of classes.
constexpr jlong kFoundTag = jlong{1} << 40;

jint JNICALL find_object(jlong class_tag, jlong size, jlong* tag, jint length, void* data) {
  HeapFind& find = *static_cast<HeapFind*>(data);
  if (!find.control.go_on()) return JVMTI_VISIT_ABORT;
  if (class_tag <= 0 || class_tag > find.classes) return 0;
  jlong ordinal = find.seen[class_tag]++;
  jint next = find.next[class_tag];
  if (next >= find.count || find.of[next] != class_tag || find.ordinals[next] != ordinal) return 0;
  ++find.next[class_tag];
  bool same_size = find.sizes[next] < 0 || find.sizes[next] == size;
  if (!same_size || find.lengths[next] != length) {
    ++find.different;
  } else {
    ++find.found;
    if (*tag > 0 && *tag <= find.classes) {
      find.places[next] = static_cast<jint>(*tag);
    } else {
      *tag = kFoundTag + next;
    }
  }
  // Behind the last one the VM need not call any more.
  return find.found + find.different == find.count ? static_cast<jint>(JVMTI_VISIT_ABORT) : 0;
}

struct HeapTake {
  PassControl& control;
  jint known;  // classes
  jlong limit;
  jlong taken;
  Vector<jint> classes;  // that are instances themselves: their numbers
  bool good;             // for them
};

jint JNICALL take_object(jlong class_tag, jlong, jlong* tag, jint, void* data) {
  HeapTake& take = *static_cast<HeapTake*>(data);
  if (class_tag <= 0 || !take.control.go_on()) {
    return class_tag <= 0 ? 0 : static_cast<jint>(JVMTI_VISIT_ABORT);
  }
  ++take.taken;
  if (*tag > 0 && *tag <= take.known) {
    take.good = take.classes.push(static_cast<jint>(*tag));
    if (!take.good) return static_cast<jint>(JVMTI_VISIT_ABORT);
  } else {
    *tag = kFoundTag;
  }
  return take.taken >= take.limit ? static_cast<jint>(JVMTI_VISIT_ABORT) : 0;
}

}  // namespace

namespace operations {

namespace {

// Takes their tags off the objects that the pass has tagged and leaves room for
// references to classes that carried a tag of their own.
jvmtiError find_all(Call& call, PassTags& tags, jint tag_count, const jlong* asked, jlong tagged,
                    jint extra, jint* count, jobject** objects, jlong** found) {
  jvmtiEnv* env = tags.env();
  Deallocated<jobject> listed(agent.env);
  Deallocated<jlong> carried(agent.env);
  if (jvmtiError error = tag_count == 0 ? JVMTI_ERROR_NONE
                                        : env->GetObjectsWithTags(tag_count, asked, count,
                                                                  listed.out(), carried.out()))
    return error;
  if (*count >= tagged) tags.untagged();
  for (jint i = 0; i < *count; ++i) {
    if (env->SetTag(listed[i], 0) != JVMTI_ERROR_NONE) tags.tagging();
  }
  size_t places = static_cast<size_t>(*count) + static_cast<size_t>(extra);
  jvmtiError error = allocate_list(places, objects);
  if (error == JVMTI_ERROR_NONE) error = allocate_list(places, found);
  if (error != JVMTI_ERROR_NONE) {
    for (jint i = 0; i < *count; ++i) delete_local(call.jni, listed[i]);
    *count = 0;
  } else if (*count > 0) {
    std::memcpy(*objects, listed.get(), static_cast<size_t>(*count) * sizeof(jobject));
    std::memcpy(*found, carried.get(), static_cast<size_t>(*count) * sizeof(jlong));
  }
  return error;
}

}  // namespace

jvmtiError FindInHeap(Call& call, const In<List<kinds::Class>>& classes, const In<List<jint>>& of,
                      const In<List<jlong>>& ordinals, const In<List<jlong>>& sizes,
                      const In<List<jint>>& lengths, const In<jlong>& limit, jint* count,
                      jobject** objects, jlong** places, jlong* stopped, jlong* different,
                      jboolean* whole) {
  jint wanted = of.count();
  if (ordinals.count() != wanted || sizes.count() != wanted || lengths.count() != wanted) {
    return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  }
  for (jint i = 0; i < wanted; ++i) {
    bool fine = of.items()[i] > 0 && of.items()[i] <= classes.count() && ordinals.items()[i] >= 0;
    if (fine && i > 0) {
      jint before = of.items()[i - 1];
      fine = before < of.items()[i] ||
             (before == of.items()[i] && ordinals.items()[i - 1] < ordinals.items()[i]);
    }
    if (!fine) {
      return call.refuse(JVMTI_ERROR_ILLEGAL_ARGUMENT, "what is looked for must be in order");
    }
  }
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  PassTags tags;
  if (jvmtiError error = tags.number(classes.items(), classes.count())) return error;

  size_t class_slots = static_cast<size_t>(classes.count()) + 1;
  size_t wanted_slots = static_cast<size_t>(wanted) + 1;
  Array<jlong> seen(class_slots);
  Array<jint> next(class_slots);
  Array<jint> tags_found(wanted_slots);
  Array<jlong> asked(wanted_slots);
  if (!seen || !next || !tags_found || !asked) return JVMTI_ERROR_OUT_OF_MEMORY;
  for (jint i = wanted - 1; i >= 0; --i) next.get()[of.items()[i]] = i;
  // A class of which nothing is looked for has nothing next either.
  for (jint i = 1; i <= classes.count(); ++i) {
    if (next.get()[i] == 0 && (wanted == 0 || of.items()[0] != i)) next.get()[i] = wanted;
  }
  HeapFind find{control,       classes.count(),  of.items(), ordinals.items(),
                sizes.items(), lengths.items(),  wanted,     seen.get(),
                next.get(),    tags_found.get(), 0,          0};
  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_iteration_callback = find_object;
  tags.tagging();
  jvmtiError error =
      control.iterate(tags.env(), kOnlyTaggedClasses, single(classes), callbacks, &find);
  jint ask = 0;
  jint extra = 0;
  for (jint i = 0; i < wanted; ++i) {
    extra += tags_found.get()[i] != 0;
    if (tags_found.get()[i] == 0) asked.get()[ask++] = kFoundTag + i;
  }
  if (error == JVMTI_ERROR_NONE) {
    error = find_all(call, tags, find.found == 0 ? 0 : ask, asked.get(), find.found - extra, extra,
                     count, objects, places);
  }
  if (error == JVMTI_ERROR_NONE) {
    for (jint i = 0; i < *count; ++i) (*places)[i] -= kFoundTag;
    for (jint i = 0; i < wanted; ++i) {
      jint tag = tags_found.get()[i];
      if (tag <= 0 || tag > classes.count()) continue;
      (*objects)[*count] = call.jni->NewLocalRef(classes.items()[tag - 1]);
      (*places)[(*count)++] = i;
    }
  }
  control.report(stopped, whole);
  *different = find.different;
  return error;
}

jvmtiError TakeInstances(Call& call, const In<List<kinds::Class>>& classes, const In<jlong>& most,
                         const In<jlong>& limit, jint* count, jobject** objects, jlong* stopped,
                         jboolean* whole) {
  PassControl control(call, limit.c());
  if (!control.open(0)) return JVMTI_ERROR_ILLEGAL_ARGUMENT;
  PassTags tags;
  jvmtiError error = tags.number(classes.items(), classes.count());
  if (error != JVMTI_ERROR_NONE) return error;
  HeapTake take{control, classes.count(), most.c(), 0, {}, true};
  jvmtiHeapCallbacks callbacks{};
  callbacks.heap_iteration_callback = take_object;
  tags.tagging();
  if (most.c() > 0) {
    error = control.iterate(tags.env(), kOnlyTaggedClasses, single(classes), callbacks, &take);
  }
  if (error == JVMTI_ERROR_NONE && !take.good) error = JVMTI_ERROR_OUT_OF_MEMORY;
  if (error != JVMTI_ERROR_NONE) return error;
  const jlong asked = kFoundTag;
  Deallocated<jlong> carried(agent.env);
  jint extra = static_cast<jint>(take.classes.size());
  error = find_all(call, tags, 1, &asked, take.taken - extra, extra, count, objects, carried.out());
  if (error != JVMTI_ERROR_NONE) return error;
  for (jint number : take.classes) {
    // A tag that an earlier pass could not take away is none of our numbers.
    if (number <= 0 || number > classes.count()) continue;
    (*objects)[(*count)++] = call.jni->NewLocalRef(classes.items()[number - 1]);
  }
  control.report(stopped, whole);
  return JVMTI_ERROR_NONE;
}

}  // namespace operations
}  // namespace jvmti
