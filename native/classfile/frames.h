// StackMapTable: the types of locals and operands at the places that code jumps to.
#pragma once

#include "classfile/class_file.h"
#include "classfile/instructions.h"
#include "classfile/moves.h"

namespace jvmti::classfile {

// As in the table, and `kSecond` for the other half of a long or double among locals.
enum class Tag : uint8_t {
  kTop,
  kInt,
  kFloat,
  kDouble,
  kLong,
  kNull,
  kUninitializedThis,
  kObject,
  kUninitialized,
  kSecond
};

struct Type {
  Tag tag = Tag::kTop;
  uint8_t dimensions = 0;  // in front of the name
  uint16_t index = 0;      // the constant of the class, where there is one
  uint32_t origin = 0;     // of an uninitialized object: where its `new` is
  Text name;               // of a class, or of an array the descriptor

  static Type of(Tag tag) {
    Type type;
    type.tag = tag;
    return type;
  }
  static Type object(Text name, uint16_t index = 0) {
    Type type = of(Tag::kObject);
    type.name = name;
    type.index = index;
    return type;
  }
  // Of a descriptor: of a field, a parameter, a result.
  static Type described(Text descriptor);
  bool is_wide() const { return tag == Tag::kLong || tag == Tag::kDouble; }
  // I, J, F, D, or L for an object that is initialized; otherwise zero.
  char category() const;
};

// The types at a place: longs and doubles are one item.
struct Frame {
  Vector<Type> locals;
  Vector<Type> stack;
};

// Reads a table, one frame after the other.
class FrameReader {
 public:
  FrameReader(const ConstantPool& pool, Bytes table) : pool_(pool), rest_(table) {
    left_ = rest_.u2();
  }
  // The next frame; false behind the last one, and where `is_bad`.
  bool next();
  bool is_bad() const { return rest_.bad || bad_; }
  bool no_memory() const { return no_memory_; }
  // Keeps `frame` in step; it holds the method's first frame at the beginning.
  void decode(Frame* frame) { frame_ = frame; }

  uint32_t at = 0;  // where it is in the code
  uint8_t kind = 0;
  Bytes types;              // as they stand in the table
  bool has_places = false;  // among them: where objects are made that are not initialized

 private:
  bool read_types(uint32_t count, Vector<Type>* into);
  const ConstantPool& pool_;
  Bytes rest_;
  uint32_t left_ = 0;
  bool first_ = true;
  bool bad_ = false;
  bool no_memory_ = false;
  Frame* frame_ = nullptr;
};

// Writes a table.
class FrameWriter {
 public:
  FrameWriter(ConstantPool& pool, const Moves& moves, Output& out)
      : pool_(pool), moves_(moves), out_(out) {}
  // For code that had this size.
  void begin(uint32_t code_size);
  // As it was read, at another place.
  void copy(const FrameReader& frame, uint32_t at);
  void full(uint32_t at, const Type* locals, size_t local_count, const Type* stack,
            size_t stack_count);
  // The method's first frame, at its beginning; the first of all.
  void first() {
    out_.u1(0);
    delta(0);
  }
  // Returns false when nothing was written.
  bool end();

 private:
  uint32_t delta(uint32_t at);
  void types(Bytes& from, uint32_t count);
  void type(const Type& one);
  ConstantPool& pool_;
  const Moves& moves_;
  Output& out_;
  uint32_t code_size_ = 0;
  uint32_t start_ = 0;
  uint32_t count_ = 0;
  uint32_t last_ = 0;
};

// Follows the types through a method's code, from one frame to the next.
class Tracker {
 public:
  explicit Tracker(const ConstantPool& pool) : pool_(pool) {}
  // At the beginning of the method of a class.
  bool begin(const Type& of, const Frame& first, uint32_t max_locals, uint32_t max_stack);
  bool enter(const Frame& frame);
  // Past an instruction.
  void step(const uint8_t* code, uint32_t at);
  // False behind a jump, until there is a frame, and where the code makes no sense.
  bool is_known() const { return known_; }
  bool no_memory() const { return no_memory_; }
  bool this_is_uninitialized() const { return uninitialized_this_; }
  Type local(uint32_t slot) const { return slot < locals_.size() ? locals_[slot] : Type(); }
  // The topmost operand is 0.
  Type operand(uint32_t depth) const {
    return depth < stack_.size() ? stack_[stack_.size() - 1 - depth] : Type();
  }
  // The frame as a table has it, behind what is there already.
  bool append_locals(Vector<Type>* types) const;
  bool append_stack(Vector<Type>* types) const;

 private:
  void push(Type type);
  void push(Tag tag) { push(Type::of(tag)); }
  Type pop();
  void pop(uint32_t count) {
    while (count-- > 0) pop();
  }
  void store(uint32_t slot, Type type);
  void load(uint32_t slot, Tag tag);
  void constant(uint32_t index);
  void element();
  void duplicate(uint8_t op);
  void invoke(uint8_t op, uint32_t index);
  void initialize(const Type& type, Text owner);
  const ConstantPool& pool_;
  Vector<Type> locals_;  // by slot
  Vector<Type> stack_;
  Type class_;
  bool known_ = false;
  bool no_memory_ = false;
  bool uninitialized_this_ = false;
  uint32_t max_locals_ = 0;
  uint32_t max_stack_ = 0;
};

}  // namespace jvmti::classfile
