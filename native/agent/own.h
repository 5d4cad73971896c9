// Functions that the agent implements itself, in place of the VM's entry or around it: those that
// hand out memory, storage, monitors and references, and the agent's own operations.
#pragma once

#include "call.h"

namespace jvmti {
namespace own {

// JVM TI.
jvmtiError Allocate(Call& call, const In<jlong>& size, unsigned char** memory);
jvmtiError Deallocate(Call& call, const In<Nullable<kinds::Memory>>& memory);
jvmtiError GetThreadLocalStorage(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                 void** data);
jvmtiError SetThreadLocalStorage(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                 const In<Stored>& data);
jvmtiError SuspendThread(Call& call, const In<Nullable<kinds::Thread>>& thread);
jvmtiError ResumeThread(Call& call, const In<kinds::Thread>& thread);
jvmtiError SuspendAllVirtualThreads(Call& call, const In<List<kinds::Thread>>& except);
jvmtiError SuspendThreadList(Call& call, In<List<Nullable<kinds::Thread>>>& threads,
                             jvmtiError* results);
jvmtiError ResumeThreadList(Call& call, const In<List<Nullable<kinds::Thread>>>& threads,
                            jvmtiError* results);
jvmtiError GetThreadListStackTraces(Call& call, const In<List<kinds::Thread>>& threads,
                                    const In<jint>& most_frames, jvmtiStackInfo** traces);
jvmtiError PopFrame(Call& call, const In<kinds::Thread>& thread);
jvmtiError ForceEarlyReturnObject(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                  const In<Nullable<kinds::Object>>& value);
jvmtiError ForceEarlyReturnInt(Call& call, const In<Nullable<kinds::Thread>>& thread,
                               const In<jint>& value);
jvmtiError ForceEarlyReturnLong(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                const In<jlong>& value);
jvmtiError ForceEarlyReturnFloat(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                 const In<jfloat>& value);
jvmtiError ForceEarlyReturnDouble(Call& call, const In<Nullable<kinds::Thread>>& thread,
                                  const In<jdouble>& value);
jvmtiError ForceEarlyReturnVoid(Call& call, const In<Nullable<kinds::Thread>>& thread);
jvmtiError GetEnvironmentLocalStorage(Call& call, void** data);
jvmtiError SetEnvironmentLocalStorage(Call& call, const In<Stored>& data);
jvmtiError DestroyRawMonitor(Call& call, const In<kinds::RawMonitor>& monitor);
jvmtiError RawMonitorEnter(Call& call, const In<kinds::RawMonitor>& monitor);
jvmtiError RawMonitorExit(Call& call, const In<kinds::RawMonitor>& monitor);
jvmtiError RawMonitorWait(Call& call, const In<kinds::RawMonitor>& monitor,
                          const In<jlong>& milliseconds);
jvmtiError RawMonitorNotify(Call& call, const In<kinds::RawMonitor>& monitor);
jvmtiError RawMonitorNotifyAll(Call& call, const In<kinds::RawMonitor>& monitor);
jvmtiError DisposeEnvironment(Call& call);
jvmtiError GetFieldModifiers(Call& call, const In<kinds::Class>& klass,
                             const In<kinds::Field>& field, jint* modifiers);
jvmtiError SetSystemProperty(Call& call, const In<Text>& property,
                             const In<Nullable<Text>>& value);
jvmtiError AddCapabilities(Call& call, const In<jvmtiCapabilities>& capabilities);
jvmtiError RelinquishCapabilities(Call& call, const In<jvmtiCapabilities>& capabilities);
jvmtiError RedefineClasses(Call& call, const In<List<jvmtiClassDefinition>>& definitions);
jvmtiError RetransformClasses(Call& call, const In<List<kinds::Class>>& classes);
jvmtiError GetJNIFunctionTable(Call& call, jint* count, void*** entries);

// JVM TI, with callbacks into Python.
jvmtiError FollowReferences(Call& call, const In<jint>& heap_filter,
                            const In<Nullable<kinds::Class>>& klass,
                            const In<Nullable<kinds::Object>>& initial_object,
                            const In<jvmtiHeapCallbacks>& callbacks, const In<Stored>& user_data);
jvmtiError IterateThroughHeap(Call& call, const In<jint>& heap_filter,
                              const In<Nullable<kinds::Class>>& klass,
                              const In<jvmtiHeapCallbacks>& callbacks,
                              const In<Stored>& user_data);
jvmtiError IterateOverObjectsReachableFromObject(Call& call, const In<kinds::Object>& object,
                                                 const In<Callback>& object_reference_callback,
                                                 const In<Stored>& user_data);
jvmtiError IterateOverReachableObjects(Call& call, const In<Callback>& heap_root_callback,
                                       const In<Callback>& stack_ref_callback,
                                       const In<Callback>& object_ref_callback,
                                       const In<Stored>& user_data);
jvmtiError IterateOverHeap(Call& call, const In<jvmtiHeapObjectFilter>& object_filter,
                           const In<Callback>& heap_object_callback, const In<Stored>& user_data);
jvmtiError IterateOverInstancesOfClass(Call& call, const In<kinds::Class>& klass,
                                       const In<jvmtiHeapObjectFilter>& object_filter,
                                       const In<Callback>& heap_object_callback,
                                       const In<Stored>& user_data);
jvmtiError SetJNIFunctionTable(Call& call, const In<List<jint>>& slots);
jvmtiError RunAgentThread(Call& call, const In<kinds::Thread>& thread, const In<Callback>& proc,
                          const In<Stored>& arg, const In<jint>& priority);

// JNI.
jmethodID GetMethodID(Call& call, const In<kinds::Class>& klass, const In<Text>& name,
                      const In<Text>& signature);
jmethodID GetStaticMethodID(Call& call, const In<kinds::Class>& klass, const In<Text>& name,
                            const In<Text>& signature);
ClassField GetFieldID(Call& call, const In<kinds::Class>& klass, const In<Text>& name,
                      const In<Text>& signature);
ClassField GetStaticFieldID(Call& call, const In<kinds::Class>& klass, const In<Text>& name,
                            const In<Text>& signature);
jmethodID FromReflectedMethod(Call& call, const In<kinds::Object>& method);
ClassField FromReflectedField(Call& call, const In<kinds::Object>& field);

jthrowable ExceptionOccurred(Call& call);
void ExceptionDescribe(Call& call);
void ExceptionClear(Call& call);
// The exception that the last call threw; one that was thrown to the program stays.
void forget_pending(Call& call);
jint Throw(Call& call, const In<kinds::Throwable>& exception);
jint ThrowNew(Call& call, const In<kinds::Class>& klass, const In<Text>& message);
jboolean ExceptionCheck(Call& call);

jint PushLocalFrame(Call& call, const In<jint>& capacity);
jobject PopLocalFrame(Call& call, const In<Nullable<kinds::Object>>& result);
jobject NewGlobalRef(Call& call, const In<Nullable<kinds::Object>>& object);
jobject NewLocalRef(Call& call, const In<Nullable<kinds::Object>>& object);
void DeleteGlobalRef(Call& call, const In<kinds::Object>& object);
void DeleteLocalRef(Call& call, const In<kinds::Object>& object);
jweak NewWeakGlobalRef(Call& call, const In<kinds::Object>& object);
void DeleteWeakGlobalRef(Call& call, const In<kinds::WeakReference>& object);
jobjectRefType GetObjectRefType(Call& call, const In<kinds::Object>& object);

Buffer GetStringChars(Call& call, const In<kinds::String>& string);
Buffer GetStringCritical(Call& call, const In<kinds::String>& string);
Buffer GetStringRegion(Call& call, const In<kinds::String>& string, const In<jint>& start,
                       const In<jint>& length);
char* GetStringUTFChars(Call& call, const In<kinds::String>& string);
char* GetStringUTFRegion(Call& call, const In<kinds::String>& string, const In<jint>& start,
                         const In<jint>& length);

#define JVMTI_ARRAY_FUNCTIONS(Name, Type)                                                         \
  Buffer Get##Name##ArrayElements(Call& call, const In<kinds::Name##Array>& array);               \
  void Release##Name##ArrayElements(Call& call, const In<kinds::Name##Array>& array,              \
                                    const In<Elements<Type>>& elements, const In<jint>& mode);    \
  Buffer Get##Name##ArrayRegion(Call& call, const In<kinds::Name##Array>& array,                  \
                                const In<jint>& start, const In<jint>& length);                   \
  void Set##Name##ArrayRegion(Call& call, const In<kinds::Name##Array>& array,                    \
                              const In<jint>& start, const In<Elements<Type>>& elements);
#define JVMTI_EACH_ARRAY(Do)                                                                      \
  Do(Boolean, jboolean) Do(Byte, jbyte) Do(Char, jchar) Do(Short, jshort) Do(Int, jint)           \
      Do(Long, jlong) Do(Float, jfloat) Do(Double, jdouble)
JVMTI_EACH_ARRAY(JVMTI_ARRAY_FUNCTIONS)
#undef JVMTI_ARRAY_FUNCTIONS

Buffer GetPrimitiveArrayCritical(Call& call, const In<kinds::Array>& array);
void ReleasePrimitiveArrayCritical(Call& call, const In<kinds::Array>& array,
                                   const In<Bytes>& bytes, const In<jint>& mode);
jint RegisterNatives(Call& call, const In<kinds::Class>& klass, const In<List<Text>>& names,
                     const In<List<Text>>& signatures, const In<List<Text>>& symbols);
jint MonitorEnter(Call& call, const In<kinds::Object>& object);
jint MonitorExit(Call& call, const In<kinds::Object>& object);
jvmtiError EnterMonitor(Call& call, const In<kinds::Object>& object, const In<jlong>& key);
jvmtiError LeaveMonitor(Call& call, const In<jlong>& key);
jobject NewDirectByteBuffer(Call& call, const In<kinds::Memory>& memory,
                            const In<jlong>& capacity);
void* GetDirectBufferAddress(Call& call, const In<kinds::Object>& buffer);

jvmtiError SetExtensionEventCallback(Call& call, const In<jint>& index,
                                     const In<Callback>& callback);
jvmtiError CallExtensionFunction(Call& call, const In<kinds::ExtensionFunction>& function,
                                 const In<Arguments>& arguments, jint* count,
                                 unsigned char** bytes);
jvmtiError CountJniCalls(Call& call, const In<List<jint>>& slots);
jvmtiError JniCounts(Call& call, jint* count, jlong** calls, jint* times, jlong** nanoseconds);
jvmtiError ProceedJniCall(Call& call, jint* count, unsigned char** bytes);

// Operations.
jvmtiError Proceed(Call& call);
jvmtiError Refuse(Call& call, const In<jint>& result);
jvmtiError NewEnv(Call& call, const In<jint>& version, jint* number);
jvmtiError Identify(Call& call, const In<kinds::Object>& object, jobject* same);
jvmtiError Suspend(Call& call, const In<List<kinds::Thread>>& threads, const In<jlong>& key,
                   jint* count, jint** errors);
jvmtiError Resume(Call& call, const In<jlong>& key);
jvmtiError ServiceThreads(Call& call, jint* count, jthread** threads);
jvmtiError OwnReferences(Call& call, jint* count, jlong** references, jint* thread_count,
                         jlong** threads);
jvmtiError Stats(Call& call, jlong* sessions, jlong* service_threads, jlong* channels,
                 jlong* environments, jlong* objects, jlong* methods, jlong* fields,
                 jlong* monitors, jlong* memory, jlong* calls, jlong* events_answered,
                 jlong* events_overran, jlong* events_too_deep, jlong* events_waiting,
                 jlong* streams, jlong* events_streamed, jlong* events_dropped);
jvmtiError SetEventHandling(Call& call, const In<jvmtiEvent>& event, const In<jboolean>& answered,
                            const In<jboolean>& own, const In<jlong>& limit);
jvmtiError OpenStream(Call& call, const In<List<jint>>& events, const In<jint>& wishes,
                      const In<jint>& words, const In<jlong>& size, const In<jint>& stack_depth,
                      const In<jlong>& shortest, const In<List<kinds::Thread>>& threads,
                      const In<Nullable<Text>>& classes, const In<Nullable<Text>>& methods,
                      const In<Nullable<Text>>& exceptions, jlong* number);
jvmtiError CloseStream(Call& call, const In<jlong>& number);
jvmtiError ListClasses(Call& call, const In<jboolean>& loaders_too, const In<jboolean>& details,
                       jint* bytes, unsigned char** signatures, jint* loader_count, jobject** loaders,
                       jint* loader_of_count, jint** loader_of, jint* module_count,
                       jobject** modules, jint* module_of_count, jint** module_of,
                       jint* modifiers_count, jint** modifiers, jint* status_count,
                       jint** statuses);
jvmtiError FindClasses(Call& call, const In<Bytes>& signatures, jint* count, jclass** found);
jvmtiError Ancestry(Call& call, const In<kinds::Class>& klass, jint* bytes,
                    unsigned char** signatures, jint* class_count, jclass** classes,
                    jint* superclass_count, jint** superclasses, jint* count_count, jint** counts,
                    jint* interface_count, jint** interfaces);
jvmtiError ClassOfField(Call& call, const In<kinds::Field>& field, jclass* klass);
jvmtiError LendFile(Call& call, const In<jlong>& room, char** name);
jvmtiError GiveBackFile(Call& call, const In<Text>& name);
jvmtiError ReadMemory(Call& call, const In<kinds::Memory>& memory, const In<jlong>& offset,
                      const In<jlong>& length, jint* count, unsigned char** bytes);
jvmtiError WriteMemory(Call& call, const In<kinds::Memory>& memory, const In<jlong>& offset,
                       const In<Bytes>& bytes);
jvmtiError ReadJniBuffer(Call& call, const In<jint>& number, const In<jlong>& offset,
                         const In<jlong>& length, jint* count, unsigned char** bytes);
jvmtiError WriteJniBuffer(Call& call, const In<jint>& number, const In<jlong>& offset,
                          const In<Bytes>& bytes);
jvmtiError ReadDirectBuffer(Call& call, const In<kinds::Object>& buffer, const In<jlong>& offset,
                            const In<jlong>& length, jint* count, unsigned char** bytes);
jvmtiError WriteDirectBuffer(Call& call, const In<kinds::Object>& buffer, const In<jlong>& offset,
                             const In<Bytes>& bytes);
jvmtiError CountHeap(Call& call, const In<List<kinds::Class>>& classes, const In<jlong>& limit,
                     jint* count, jlong** counts, jint* byte_count, jlong** bytes, jlong* stopped,
                     jboolean* whole);
jvmtiError ScanHeap(Call& call, const In<List<kinds::Class>>& classes, const In<jboolean>& all,
                    const In<jint>& string_class, const In<jboolean>& fields,
                    const In<List<jint>>& arrays, const In<List<jlong>>& room,
                    const In<jlong>& limit, jint* count, jlong** outcome, jint* layout_count,
                    jint** layouts);
jvmtiError FindInHeap(Call& call, const In<List<kinds::Class>>& classes, const In<List<jint>>& of,
                      const In<List<jlong>>& ordinals, const In<List<jlong>>& sizes,
                      const In<List<jint>>& lengths, const In<jlong>& limit, jint* count,
                      jobject** objects, jlong** places, jlong* stopped, jlong* different,
                      jboolean* whole);
jvmtiError TakeInstances(Call& call, const In<List<kinds::Class>>& classes, const In<jlong>& most,
                         const In<jlong>& limit, jint* count, jobject** objects, jlong* stopped,
                         jboolean* whole);
jvmtiError FindReferrers(Call& call, const In<kinds::Object>& object, const In<jint>& most,
                         const In<jboolean>& weak, const In<jlong>& limit, jint* count,
                         jobject** objects, jlong** marks, jint* edge_count, jlong** edges,
                         jlong* total, jlong* stopped, jboolean* whole);
jvmtiError FindPath(Call& call, const In<kinds::Object>& object, const In<jlong>& most,
                    const In<jboolean>& weak, const In<jlong>& limit, jint* count,
                    jobject** objects, jlong** marks, jint* edge_count, jlong** edges,
                    jint* passes, jboolean* found, jboolean* too_many, jlong* stopped,
                    jlong* longest, jboolean* whole);
jvmtiError MeasureRetained(Call& call, const In<kinds::Object>& object, const In<jlong>& most,
                           const In<jlong>& limit, jlong* bytes, jlong* retained,
                           jlong* reachable, jboolean* too_many, jlong* stopped, jlong* longest,
                           jboolean* whole);
jvmtiError LocalObjects(Call& call, const In<kinds::Thread>& thread, const In<jint>& depth,
                        jint* count, jobject** objects, jlong** marks, jint* place_count,
                        jlong** places, jlong* stopped);
jvmtiError MakeStop(Call& call, const In<jvmtiEvent>& event, const In<jint>& locals,
                    const In<jint>& every, const In<jlong>& after, const In<jint>& kinds,
                    const In<List<kinds::Thread>>& threads, const In<Nullable<Text>>& callers,
                    const In<Nullable<Text>>& classes, jint* number);
jvmtiError PlaceBreakpoint(Call& call, const In<jint>& number, const In<kinds::Method>& method,
                           const In<jlocation>& location, const In<List<jlong>>& condition,
                           const In<Bytes>& texts);
jvmtiError PlaceWatch(Call& call, const In<jint>& number, const In<kinds::Class>& klass,
                      const In<kinds::Field>& field);
jvmtiError RemovePlace(Call& call, const In<jint>& number, const In<kinds::Method>& method,
                       const In<jlocation>& location);
jvmtiError RemoveStop(Call& call, const In<jint>& number);
jvmtiError StepThread(Call& call, const In<jint>& number, const In<kinds::Thread>& thread,
                      const In<jint>& how, const In<jboolean>& by_line);
jvmtiError StopPasses(Call& call, const In<jint>& number, jlong* passes);
jvmtiError ReadFields(Call& call, const In<kinds::Object>& object,
                      const In<List<kinds::Field>>& fields, const In<jboolean>& unbox,
                      const In<jint>& text, const In<jboolean>& same, jint* size, unsigned char** data, jint* count, jobject** objects);
jvmtiError ReadElements(Call& call, const In<kinds::ObjectArray>& array, const In<jint>& start,
                        const In<jint>& length, const In<jboolean>& unbox, const In<jint>& text,
                        const In<jboolean>& same, jint* size, unsigned char** data, jint* count, jobject** objects);
jvmtiError ReadLinked(Call& call, const In<kinds::Object>& start, const In<kinds::Field>& next,
                      const In<List<kinds::Field>>& aside, const In<List<kinds::Field>>& fields,
                      const In<jint>& most, const In<jboolean>& unbox, const In<jint>& text,
                      const In<jboolean>& same, jint* size, unsigned char** data, jint* count,
                      jobject** objects);
jvmtiError ReadTree(Call& call, const In<kinds::Object>& root, const In<kinds::Field>& left,
                    const In<kinds::Field>& right, const In<List<kinds::Field>>& fields,
                    const In<jint>& most, const In<jboolean>& unbox, const In<jint>& text,
                    const In<jboolean>& same, jint* size, unsigned char** data, jint* count,
                    jobject** objects);
jvmtiError DescribeThrowable(Call& call, const In<kinds::Throwable>& throwable, char** signature,
                             char** message);

}  // namespace own
}  // namespace jvmti
