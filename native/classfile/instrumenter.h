// Puts probes into a class file.
#pragma once

#include "classfile/probes/method.h"

namespace jvmti::classfile {

// Keeps its memory for the next class; for one thread at a time.
class Instrumenter {
 public:
  Instrumenter() : method_(pool_, inserted_probes_, shapes_, omitted_) {}

  // Where the class has no place for any probe, `is_changed` stays false.
  Status instrument(const Plan& plan, const uint8_t* file, uint64_t size, uint32_t first_site);

  // Whether it notes where instructions go.
  bool keeps_moves = false;
  struct Moved {
    uint32_t method;  // its position in the class file
    uint32_t locals;  // how many slots it had
    Moves::Move move;
  };
  // Those of each method together, and the methods in rising order.
  const Vector<Moved>& moved() const { return moved_; }
  // What was done to the class file before, in the same order; indices are those before that.
  const Vector<Moved>* earlier = nullptr;

  // For each question of the plan whether the class is such a one; null where nobody knows: then it
  // is below what its class file names, and of no loader.
  const uint8_t* answers = nullptr;

  bool is_changed = false;
  Output& result() { return result_; }
  const Vector<layouts::InsertedProbe>& inserted_probes() const { return inserted_probes_; }
  // What shapes of inserted probes are the places in.
  Output& shapes() { return shapes_; }
  const Output& shapes() const { return shapes_; }
  const Vector<layouts::OmittedProbe>& omitted() const { return omitted_; }
  // A method that has probes, as long as the class file is there; null for any other.
  const MethodInfo* method(uint32_t number) const {
    size_t low = 0;  // they are in rising order
    for (size_t high = changed_.size(); low < high;) {
      size_t middle = (low + high) / 2;
      const MethodInfo& one = changed_[middle];
      if (one.number == number) return &one;
      if (one.number < number) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return nullptr;
  }

 private:
  bool is_below(const Probe& probe, Bytes interfaces, Text super) const;
  bool choose(const Plan& plan, Bytes interfaces, Text super, Bytes after_methods);
  bool is_annotated(const char* patterns, Bytes attributes) const;
  Status methods(Bytes& bytes, uint32_t first_site);
  bool note_moves(uint32_t method);
  bool find_earlier(uint32_t method);

  ConstantPool pool_;
  Vector<layouts::InsertedProbe> inserted_probes_;
  Output shapes_;
  Vector<layouts::OmittedProbe> omitted_;
  Vector<MethodInfo> changed_;
  Vector<Moved> moved_;
  Vector<Moves::Move> earlier_here_;
  uint32_t earlier_locals_ = 0;
  size_t next_earlier_ = 0;
  struct Chosen {
    const Probe* probe;
    bool if_annotated;  // those methods only that have the annotation: the class has it not
  };
  Vector<Chosen> of_class_;
  Vector<const Probe*> of_method_;
  Output body_;
  Output result_;
  Method method_;
  ClassInfo class_{};
};

}  // namespace jvmti::classfile
