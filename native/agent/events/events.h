// Events of JVM TI: which of them an environment is called for, and what trampolines share.
#pragma once

#include "agent/calls/call.h"
#include "agent/channels/channel.h"
#include "agent/events/delivery.h"
#include "agent/events/event_scope.h"

namespace jvmti {

// The class if that is its name, else null: while a thread redefines a class, HotSpot names that
// one with whatever other class the thread loads besides.
jclass if_named(jvmtiEnv* env, jclass klass, const char* name);

// A thread of ours, whose beginning and end are not reported.
bool of_service_thread(JNIEnv* jni, jthread thread);

// Tells the VM which events an environment has a handler for; it sends no others.
jvmtiError set_callbacks(Environment& environment);

// Generated: whether it is the number of an event.
bool is_event(int number);

// Throws an exception without a wrapper of JNI functions seeing it, and gives the reference up.
void throw_unseen(JNIEnv* jni, jthrowable thrown);

// Generated: whether the VM brings an exception from a handler to the program.
bool carries_exceptions(int event);

// Generated: the trampolines of the events that are wanted; of all without taps.
void fill_callbacks(jvmtiEventCallbacks* callbacks, const EventTaps* taps);

}  // namespace jvmti
