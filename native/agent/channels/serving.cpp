// What the current thread does for which session, in a thread-local of its own.

#include <pthread.h>

#include "agent/channels/channel.h"
#include "agent/engines/streams/writer_threads.h"

namespace jvmti {

namespace {

pthread_key_t serving_key;
pthread_once_t serving_once = PTHREAD_ONCE_INIT;
bool serving_ready = false;

}  // namespace

bool prepare_serving() {
  pthread_once(&serving_once,
               [] { serving_ready = pthread_key_create(&serving_key, nullptr) == 0; });
  return serving_ready;
}

Serving::Serving(Channel& channel, int event, jvmtiEnv* env)
    : channel(channel),
      event(event),
      env(env),
      handler(event != 0),
      outer_(innermost()),
      before_(pthread_getspecific(serving_key)) {
  pthread_setspecific(serving_key, this);
  WriterThread::note_serving(1);
}

Serving::~Serving() {
  WriterThread::note_serving(-1);
  pthread_setspecific(serving_key, before_);
}

Unserved::Unserved() : kept_(pthread_getspecific(serving_key)) {
  pthread_setspecific(serving_key, nullptr);
}

Unserved::~Unserved() { pthread_setspecific(serving_key, kept_); }

namespace {
char retirement;
}

void Serving::retire() { pthread_setspecific(serving_key, &retirement); }

bool Serving::retired() { return pthread_getspecific(serving_key) == &retirement; }

Serving* Serving::innermost() {
  return retired() ? nullptr : static_cast<Serving*>(pthread_getspecific(serving_key));
}

Serving* Serving::of(const Session* session) {
  Serving* one = innermost();
  while (one != nullptr && &one->channel.session != session) one = one->outer_;
  return one;
}

int Serving::depth(const Session* session) {
  int handlers = 0;
  const Serving* one = innermost();
  for (; one != nullptr; one = one->outer_) {
    handlers += one->handler && &one->channel.session == session;
  }
  return handlers;
}

}  // namespace jvmti
