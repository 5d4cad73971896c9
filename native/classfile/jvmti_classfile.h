/* The class file library: puts probes into class files.
 *
 * A plan says which probes go where, in the layout of jvmti.layouts.probes.  Nothing in a plan or
 * in a class file is trusted.  Every function returns one of the codes below.
 */
#ifndef JVMTI_CLASSFILE_H
#define JVMTI_CLASSFILE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum {
  JVMTI_CLASSFILE_OK = 0,
  JVMTI_CLASSFILE_OUT_OF_MEMORY = 1,
  JVMTI_CLASSFILE_MALFORMED = 2, /* the class file */
  JVMTI_CLASSFILE_BAD_PLAN = 3,
  JVMTI_CLASSFILE_TOO_LARGE = 4, /* there is no room for more constants */
  JVMTI_CLASSFILE_BAD_ARGUMENT = 5
};

typedef struct jvmti_classfile_plan jvmti_classfile_plan;

/* Where an instrumented class is until the next one, or the end of the instrumenter. */
typedef struct {
  const void* file; /* null: no probe has a place in the class */
  uint64_t size;
  const void* inserted; /* as INSERTED of jvmti.layouts.probes, in the order of their sites */
  uint64_t inserted_count;
  const void* omitted; /* as OMITTED */
  uint64_t omitted_count;
} jvmti_classfile_result;

/* For one thread at a time; it keeps its memory from one class to the next. */
typedef struct jvmti_classfile_instrumenter jvmti_classfile_instrumenter;

int32_t jvmti_classfile_plan_open(const void* data, uint64_t size, jvmti_classfile_plan** made);
void jvmti_classfile_plan_close(jvmti_classfile_plan* plan);

int32_t jvmti_classfile_open(jvmti_classfile_instrumenter** made);
void jvmti_classfile_close(jvmti_classfile_instrumenter* instrumenter);

/* Numbers of sites begin with first_site. */
int32_t jvmti_classfile_instrument(jvmti_classfile_instrumenter* instrumenter,
                                   const jvmti_classfile_plan* plan, const void* file,
                                   uint64_t size, uint32_t first_site,
                                   jvmti_classfile_result* result);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
