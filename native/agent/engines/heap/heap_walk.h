// Heap walks whose callbacks are Python functions.
//
// The VM is stopped and calls us for one object, reference or value after the other.  Each call is
// a record; records are collected in a block and sent together, and the controller makes the calls
// of a block in their order.  A callback that the VM must wait for, because its answer says where
// to go or which tag an object gets, ends the block: it is the last record, and its answer is the
// block's.  Any other can only end the walk, and what the VM visits up to the end of the block
// after that is dropped.
#pragma once

#include "agent/calls/call.h"

namespace jvmti {

using layouts::Visit;

class HeapWalk : NoCopy {
 public:
  // What a callback returns by itself to go on, and to end the walk.
  HeapWalk(Call& call, jint go_on, jint abort);
  ~HeapWalk();

  void call_for(Visit visit, const In<Callback>& how) {
    modes_[static_cast<int>(visit)] = how.mode();
  }

  // No further call is made.
  bool over() const { return over_; }
  jint abort() const { return abort_; }
  Writer& data() { return data_; }
  uint64_t method(jmethodID id) { return call_.session.methods.issue(id, nullptr); }
  // Takes the record of a call; what the callback returns to the VM.
  template <class Record>
  jint visited(Visit visit, const Record& record, jlong* tag, jlong* referrer_tag = nullptr) {
    rows_[static_cast<int>(visit)].number(record);
    return visited(visit, tag, referrer_tag);
  }
  // The VM has returned: sends the rest.
  jvmtiError ended(jvmtiError error);

 private:
  jint visited(Visit visit, jlong* tag, jlong* referrer_tag);
  jint send(jlong* tag, jlong* referrer_tag);
  void write_block();

  Call& call_;
  const jint go_on_;
  const jint abort_;
  bool over_ = false;
  Channel::Outcome outcome_ = Channel::Outcome::kAnswered;
  CallbackMode modes_[layouts::kVisitCount] = {};
  Writer rows_[layouts::kVisitCount];
  Writer order_;  // of the records: a byte each
  Writer data_;   // of arrays and strings, in the order of the records
  Writer block_;
};

}  // namespace jvmti
