// The engines there are.

#include "agent/core/engine.h"

namespace jvmti {

extern const Engine kStopEngine;
extern const Engine kSelfSuspensionEngine;
extern const Engine kSessionEngine;
extern const Engine kJniInterceptionEngine;
extern const Engine kExtensionEngine;
extern const Engine kEnvironmentEngine;
extern const Engine kProbeEngine;
extern const Engine kProfileEngine;
extern const Engine kStreamEngine;
extern const Engine kSuspensionEngine;
extern const Engine kHeapPassEngine;
extern const Engine kUndoEngine;

// Where a session ends they let each other go in this order: waiters first, then the classes, then
// the service threads, then callbacks in flight, then what these used.
const Engine* const kEngines[] = {
    &kStopEngine,    &kSelfSuspensionEngine,  &kProbeEngine,     &kProfileEngine,
    &kSessionEngine, &kJniInterceptionEngine, &kExtensionEngine, &kEnvironmentEngine,
    &kStreamEngine,  &kSuspensionEngine,      &kHeapPassEngine,  &kUndoEngine};
const int kEngineCount = sizeof kEngines / sizeof *kEngines;

}  // namespace jvmti
