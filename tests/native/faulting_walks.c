// Preloaded into a JVM: every third walk of a stack by AsyncGetCallTrace meets a fault.
//
// An agent asks for that function by dlsym, which this library answers in the C library's stead.
// WALK_FAULTS says how a walk goes wrong:
//   segv    the VM writes its frames to memory that is not mapped
//   bus     it writes them to a mapped file beyond its end, which is SIGBUS
//   stack   the VM finds nothing, and the stack pointer that the signal came with is to memory that
//           is not mapped, so that who looks for the caller's frame itself meets the fault
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define IN_HANDLER __thread __attribute__((tls_model("initial-exec")))

struct trace {
  void* env;
  int count;
  void* frames;
};
typedef void (*walk_t)(struct trace*, int, void*);

static walk_t real_walk;
static void* (*real_dlsym)(void*, const char*);
static const char* how;
static char* unmapped;
static char* beyond;
static atomic_uint walks;

static struct {
  greg_t begin, end;
} code[64];
static int code_count;

static IN_HANDLER int breaking;
static IN_HANDLER greg_t* changed;
static IN_HANDLER greg_t stack_pointer;

static int is_compiled(greg_t pc) {
  for (int i = 0; i < code_count; ++i) {
    if (pc >= code[i].begin && pc < code[i].end) return 1;
  }
  return 0;
}

// Whether these are the registers that the signal came with, and not somebody's copy of them: what
// the kernel saved of the floating point comes right behind them.
static int is_own(ucontext_t* context) {
  return (char*)context->uc_mcontext.fpregs - (char*)context < 1024;
}

// The VM finds nothing for any copy either, until it is asked with the thread's own registers, which
// get another stack pointer until the fault.  Nobody looks for callers of code of the VM otherwise.
static int stack_is_broken(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  if (!is_compiled(registers[REG_RIP])) {
    breaking = 0;
  } else if (breaking && is_own(context)) {
    breaking = 0;
    changed = registers;
    stack_pointer = registers[REG_RSP];
    registers[REG_RSP] = (greg_t)unmapped;
    return 1;
  } else if (!breaking && atomic_fetch_add(&walks, 1) % 3 == 0) {
    breaking = 1;
  }
  return breaking;
}

static void broken_walk(struct trace* trace, int depth, void* context) {
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  // An agent that has met a fault asks once more, for nothing, to end that walk.
  if (registers[REG_RIP] == 0) {
    if (changed != NULL) changed[REG_RSP] = stack_pointer;
    changed = NULL;
  } else if (strcmp(how, "stack") == 0) {
    if (stack_is_broken(context)) {
      trace->count = -6;  // not_walkable_Java
      return;
    }
  } else if (atomic_fetch_add(&walks, 1) % 3 == 0) {
    struct trace broken = *trace;
    broken.frames = strcmp(how, "bus") == 0 ? beyond : unmapped;
    real_walk(&broken, depth, context);
    trace->count = broken.count;
    return;
  }
  real_walk(trace, depth, context);
}

// What the VM has compiled so far: memory that is executable, and of no file.
static void find_compiled(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  while (maps != NULL && code_count < 64 && fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end, file;
    char access[5];
    int read = sscanf(line, "%lx-%lx %4s %*s %*s %lu", &begin, &end, access, &file);
    if (read != 4 || access[2] != 'x' || file != 0 || strchr(line, '[') != NULL) continue;
    code[code_count].begin = (greg_t)begin;
    code[code_count].end = (greg_t)end;
    ++code_count;
  }
  if (maps != NULL) fclose(maps);
}

static void prepare(void) {
  long page = sysconf(_SC_PAGESIZE);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  unmapped = (char*)mmap(NULL, 16 * page, PROT_NONE, flags, -1, 0) + 8 * page;
  int file = memfd_create("short", 0);
  beyond = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  find_compiled();
}

void* dlsym(void* library, const char* name) {
  if (real_dlsym == NULL) {
    real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (real_dlsym == NULL) real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  }
  void* found = real_dlsym(library, name);
  how = getenv("WALK_FAULTS");
  if (found == NULL || how == NULL || strcmp(name, "AsyncGetCallTrace") != 0) return found;
  if (real_walk == NULL) prepare();
  real_walk = (walk_t)found;
  return (void*)broken_walk;
}
