// The functions of jvmti_classfile.h: they check what they are given, and the rest is elsewhere.

#include "classfile/instrumenter.h"
#include "classfile/jvmti_classfile.h"

using namespace jvmti::classfile;

struct jvmti_classfile_plan {
  Plan plan;
};

struct jvmti_classfile_instrumenter {
  Instrumenter instrumenter;
};

int32_t jvmti_classfile_plan_open(const void* data, uint64_t size, jvmti_classfile_plan** made) {
  if (data == nullptr || made == nullptr) return JVMTI_CLASSFILE_BAD_ARGUMENT;
  *made = jvmti::make<jvmti_classfile_plan>();
  if (*made == nullptr) return JVMTI_CLASSFILE_OUT_OF_MEMORY;
  Status status = (*made)->plan.read(static_cast<const uint8_t*>(data), size);
  if (status != Status::kOk) {
    jvmti::unmake(*made);
    *made = nullptr;
  }
  return static_cast<int32_t>(status);
}

void jvmti_classfile_plan_close(jvmti_classfile_plan* plan) { jvmti::unmake(plan); }

int32_t jvmti_classfile_open(jvmti_classfile_instrumenter** made) {
  if (made == nullptr) return JVMTI_CLASSFILE_BAD_ARGUMENT;
  *made = jvmti::make<jvmti_classfile_instrumenter>();
  return *made == nullptr ? JVMTI_CLASSFILE_OUT_OF_MEMORY : JVMTI_CLASSFILE_OK;
}

void jvmti_classfile_close(jvmti_classfile_instrumenter* instrumenter) {
  jvmti::unmake(instrumenter);
}

int32_t jvmti_classfile_instrument(jvmti_classfile_instrumenter* instrumenter,
                                   const jvmti_classfile_plan* plan, const void* file,
                                   uint64_t size, uint32_t first_site,
                                   jvmti_classfile_result* result) {
  if (instrumenter == nullptr || plan == nullptr || file == nullptr || result == nullptr) {
    return JVMTI_CLASSFILE_BAD_ARGUMENT;
  }
  *result = {};
  Instrumenter& made = instrumenter->instrumenter;
  Status status = made.instrument(plan->plan, static_cast<const uint8_t*>(file), size, first_site);
  result->omitted = made.omitted().begin();
  result->omitted_count = made.omitted().size();
  if (status != Status::kOk || !made.is_changed) return static_cast<int32_t>(status);
  result->file = made.result().data();
  result->size = made.result().size();
  result->inserted = made.inserted_probes().begin();
  result->inserted_count = made.inserted_probes().size();
  return JVMTI_CLASSFILE_OK;
}
