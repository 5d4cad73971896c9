// Puts probes into the code of one method.
#pragma once

#include "classfile/frames.h"
#include "classfile/probes/plan.h"

namespace jvmti::classfile {

struct ClassInfo {
  Text name;
  uint16_t index;  // of its constant
  uint32_t major;
  Bytes fields;
};

struct MethodInfo {
  uint32_t number;  // its position in the class file
  uint16_t access;
  Text name;
  Text descriptor;
  uint64_t code = 0;  // what it is with its probes, as `hash_of_code` has it

  bool is_static() const { return (access & 0x0008) != 0; }
  // Made by a compiler, without names of parameters, to call the method that it stands for.
  bool is_bridge() const { return (access & 0x0040) != 0; }
};

// `int` for I and so on; null for what is no primitive type.
const char* primitive_name(char type);
// Of I J F D and objects, from 0.
uint8_t kind_of(char category);

enum class Woven { kUnchanged, kChanged, kOutOfMemory, kMalformed };

class Method {
 public:
  Method(ConstantPool& pool, Vector<layouts::InsertedProbe>& inserted_probes, Output& shapes,
         Vector<layouts::OmittedProbe>& omitted)
      : pool_(pool),
        inserted_probes_(inserted_probes),
        shapes_(shapes),
        omitted_(omitted),
        tracker_(pool),
        frames_(pool, moves_, table_) {}

  // Before the methods of a class, with a new pool.
  bool begin_class(size_t probes) {
    helpers_.clear();
    if (!helpers_.reserve(probes)) return false;
    helpers_.grow(probes);
    std::memset(helpers_.begin(), 0, probes * sizeof helpers_[0]);
    std::memset(puts_, 0, sizeof puts_);
    end_ = 0;
    frame_table_name_ = throwable_ = 0;
    known_probes_.clear();
    std::memset(comparisons_, 0, sizeof comparisons_);
    return true;
  }
  // Writes the contents of a Code attribute with probes in it.  Where it is not kChanged, what was
  // written is to be thrown away.
  Woven weave(const ClassInfo& of, const MethodInfo& method, Bytes code,
              const Vector<const Probe*>& probes, uint32_t first_site, Output& out);
  // What was done to the next method before.
  void moved_before(const Vector<Moves::Move>& moves, uint32_t locals) {
    earlier_ = &moves;
    earlier_locals_ = locals;
  }
  // How many slots the method woven last has by itself, without those of earlier probes.
  uint32_t own_locals() const { return own_locals_; }
  // Where the instructions of the method woven last have gone.
  const Moves& moves() const { return moves_; }

 private:
  static constexpr uint32_t kNowhere = 0xFFFFFFFF;
  static constexpr uint32_t kNoSlot = 0xFFFFFFFF;
  // Of an entry in a table of lines, and of variables.
  static constexpr uint32_t kLineSize = 4;
  static constexpr uint32_t kVariableSize = 10;
  // Of a byte of code.
  enum Mark : uint8_t {
    kStart = 1,  // of an instruction
    kBusy = 2,   // which is more than a copy
    kBranch = 4,
    kLineStart = 8,
    kHandlerStart = 16
  };

  struct Parameter {
    uint32_t slot;
    char category;
    bool written;    // so that the slot does not hold what was passed any more
    uint32_t saved;  // where it is kept then
    Text type;
    bool stored = false;  // whether any instruction stores to it; found in code without frames
    uint32_t shared = kNoSlot;  // where an earlier set keeps it
  };
  struct Spilled {
    uint32_t slot;
    char category;
    Text type;
  };
  // What a probe at a place may hand over.
  struct Place {
    uint32_t at = 0;
    Text value_type;            // a descriptor; empty: there is none
    uint32_t value = kNoSlot;   // where it was put
    uint32_t target = kNoSlot;  // kNoSlot: null
    Text owner;                 // of a field or method, or the class of an object
    Text member;
    Text member_type;
    bool has_receiver = false;  // first among what was passed
    bool is_passed = false;     // what was passed was put away
    bool is_entry = false;
    bool is_unwind = false;
  };
  struct Fixup {
    uint32_t where;  // of the distance, in the code
    uint32_t from;   // of the instruction
    uint32_t to;     // before
  };
  struct Line {
    uint16_t at;
    uint16_t number;
  };
  struct Inserted {
    uint32_t place;
    size_t first;
    size_t locals;
    size_t stack;
  };
  struct Range {
    uint32_t start;
    uint32_t end;
  };
  struct Kept {
    uint32_t probe;
    uint32_t slot;
  };
  // Of code without frames, for what an instruction needs.
  struct NumberSlot {
    uint32_t slot;
    uint32_t size;
    bool is_used;
  };
  // Of a thread that stops.
  struct Variable {
    uint32_t slot;
    char category;
    Text type;  // a descriptor; empty where it is not known
    Text name;  // empty where there is none
    Text cast;  // the class of what may be put there; empty where nothing may
  };

  // False without memory, which is no fault of the class file.
  template <class T>
  bool keep(Vector<T>& in, const typename Vector<T>::Item& item) {
    if (!in.push(item)) out_->failed = true;
    return !out_->failed;
  }

  // method.cpp: what is there
  bool sort_probes(const Vector<const Probe*>& probes);
  bool read(Bytes code);
  bool read_attributes(Bytes attributes);
  bool jumps() const;
  bool scan();
  uint32_t mark_one(uint32_t at);
  bool mark_from(uint32_t at, uint32_t end);
  bool mark_in_parts();
  bool find_instructions();
  bool find_lines();
  bool find_handlers();
  bool is_worth_it();
  bool initializes_once() const;
  uint32_t initialized_at() const;
  bool is_caught_behind(uint32_t at) const;
  void choose_busy();
  bool is_start(uint32_t at) const { return (marks_[at] & kStart) != 0; }

  // parameters.cpp: where what was passed is
  bool read_parameters();
  template <class Wrote>
  void each_store(Wrote wrote) const;
  bool find_stored();
  bool is_stored(uint32_t slot, uint32_t size) const {
    return stored_[slot] != 0 || (size == 2 && stored_[slot + 1] != 0);
  }
  bool find_dropped();
  bool first_frame(Frame* frame);
  bool takes_slot(uint32_t at, uint8_t first, uint8_t first_short, uint32_t* slot,
                  char* category) const;
  void find_shared();
  void share_only(const Vector<Type>& locals);
  bool keep_slot(uint32_t slot, const Type& type);
  Type kept_type(const Parameter& one) const;

  // copying.cpp: the new code
  bool generate();
  const Vector<uint16_t>* find_handled();
  void pass_lines(uint32_t at);
  void moves(uint32_t at, uint32_t target, uint32_t place);
  bool entry();
  bool before(uint32_t at, uint8_t op);
  bool after(uint32_t at, uint8_t op);
  void copy_instruction(uint32_t at, uint32_t length);
  void far_branch(uint32_t at, uint8_t op);
  void far_jump(int64_t to, uint32_t from);
  void switch_table(uint32_t at, uint8_t op);
  bool is_wide(uint32_t at) const { return !wide_.empty() && wide_[at] != 0; }
  bool append_kept(Vector<Type>& locals, uint32_t slot);
  bool insert_frame(uint32_t place);
  bool unwind();
  Woven patch();
  bool write_distances();
  // The index that an instruction had before anything was done to the method.
  uint32_t index_before(uint32_t at) const {
    return Moves::before(earlier_->begin(), earlier_->size(), at);
  }
  uint32_t pc() const { return out_->size() - start_; }

  // sites.cpp: which probes are where
  using Probes = Vector<const Probe*>;
  bool write(uint32_t at, uint8_t op);
  bool read_field(uint32_t at, uint8_t op);
  bool call(uint32_t at, uint8_t op);
  bool made_array(uint32_t at, uint8_t op);
  bool monitor_exit(uint32_t at);
  bool caught(uint32_t at);
  bool is_wanted(Site site) const { return (wanted_ >> static_cast<uint32_t>(site) & 1) != 0; }
  template <class Fits>
  bool select(Site site, Probes* found, const Fits& fits);
  bool select_all(Site site);
  void java_name(Text name, uint32_t dimensions);
  bool is_ready();
  bool run(const Probes& probes, const Place& place);
  // The value is on the stack, and afterwards, too.
  bool run_with_value(const Probes& probes, Place place);
  bool spill(Text descriptor, bool has_receiver);
  void reload();

  // conditions.cpp: whether a probe does anything
  bool is_possible(const Step& step, const Place& place) const;
  Text own_name(Text path) const;
  Text own_field(const Operand& operand, Text path) const;
  void get_own_field(Text path, Text type, const Place& place);
  void condition(const Probe& probe, const Place& place);
  bool compare(const Probe& probe, uint32_t step, const Place& place);

  // records.cpp: what a probe records
  void record(const Probe& probe, const Place& place);
  void end_shape(const Place& place);
  Text type_at(const Operand& operand, const Place& place) const;
  bool fits(const Probe& probe, Text type, uint32_t at);
  void put(const Probe& probe, Text type, uint32_t* at);
  void put_path(const Probe& probe, uint32_t index, const Place& place, uint32_t* at);
  void invoke_put(const Probe& probe, uint8_t kind);

  // stops.cpp: places where a thread may stop
  bool may_restart() const;
  bool find_assigned();
  bool is_parameter(uint32_t slot) const;
  bool is_entered(uint32_t start, uint32_t end, uint32_t slot) const;
  void find_stops();
  bool has_stopped(const Probe& probe) const;
  // Whether a probe reports an event, other than the one place of a breakpoint.
  static bool reports(const Probe& probe) { return probe.event != 0 && probe.site != Site::kIndex; }
  bool can_be_bare() const;
  bool find_named(uint32_t at);
  bool variable_in(uint32_t slot, Text* name, Text* type) const;
  bool is_reachable(const Type& held, Text declared) const;
  bool find_variables(const Place& place);
  bool stop(const Probe& probe, const Place& place);
  void set_number(const Probe& probe);
  void helper_method(const Probe& probe, Text name, Text descriptor);
  bool leave();
  bool restart();

  // sequences.cpp: what a probe is made of
  bool is_possible(const Probe& probe, const Place& place) const;
  bool is_possible(const Operand& operand, const Place& place) const;
  size_t first_place_of(const Probe& probe) const;
  bool emit(const Probe& probe, const Place& place);
  bool emit_plain(const Probe& probe, uint32_t at);
  bool emit_all_plain(Site site, uint32_t at);
  void hand_over(const Operand& operand, const Place& place);
  bool find_entry(Text name, uint32_t at, Text* type, uint32_t* slot) const;
  bool find_local(Text name, uint32_t at, Text* type, uint32_t* slot) const;
  uint32_t kept_by(int64_t probe) const;
  void number(int32_t value);
  void computed_number(int32_t value);
  void text(Text value);
  void dotted(Text first, Text second);
  void load(char category, uint32_t slot) { move(kIload, kIload0, category, slot); }
  void store(char category, uint32_t slot) { move(kIstore, kIstore0, category, slot); }
  void move(uint8_t op, uint8_t short_op, char category, uint32_t slot);
  void convert(Text from, char to);
  void box(Text type);
  template <class Load>
  void array(size_t count, const Load& load_one);
  void this_object(const Place& place);
  void held(const Place& place);
  void parameter(const Parameter& one, const Place& place);
  const Parameter* argument(int64_t position) const;
  const Parameter* parameter_named(Text name) const;
  const Spilled* passed(int64_t position) const;
  void invoke(uint16_t method, Text descriptor);
  void op(uint8_t code, int32_t depth) {
    out_->u1(code);
    grow(depth);
  }
  void grow(int32_t depth) {
    depth_ += depth;
    if (depth_ > deepest_) deepest_ = depth_;
  }
  // Where ways meet in code without frames, the verifier finds out what the objects that a slot
  // may hold have in common, and loads their classes for it. Some may not be there, so a slot of
  // ours holds one object only, as long as there are not too many: each makes the frame larger.
  // Numbers take turns.
  void reuse_temporaries() {
    constexpr uint32_t kMostTemporaries = 1024;
    if (has_frames_ || next_temporary_ - first_temporary_ > kMostTemporaries) {
      next_temporary_ = first_temporary_;
      numbers_.clear();
    }
    for (NumberSlot& one : numbers_) one.is_used = false;
  }
  uint32_t temporary(char category) {
    uint32_t size = slots(category);
    bool is_number = category != 'L' && !has_frames_;
    if (is_number) {
      for (NumberSlot& one : numbers_) {
        if (one.is_used || one.size != size) continue;
        one.is_used = true;
        return one.slot;
      }
    }
    uint32_t slot = next_temporary_;
    next_temporary_ += size;
    if (next_temporary_ > most_locals_) most_locals_ = next_temporary_;
    if (is_number && !numbers_.push({slot, size, true})) out_->failed = true;
    return slot;
  }
  void omit(const Probe& probe, uint32_t at, LeftOut why) {
    if (!omitted_.push(
            {probe.number, method_->number, index_before(at), static_cast<uint32_t>(why)}))
      out_->failed = true;
  }

  // tables.cpp: what refers to places in the code
  Woven tables();
  bool exception_table();
  bool write_frames();
  bool local_variables(Bytes table);
  bool line_numbers(Bytes table);
  bool type_annotations(Bytes table);
  uint32_t mapped(uint32_t at) const {
    bool is_known = at != 0 && at < size_ && is_start(at);
    return is_known ? moves_.target(at) : nearest(at);
  }
  uint32_t nearest(uint32_t at) const;

  ConstantPool& pool_;
  Vector<layouts::InsertedProbe>& inserted_probes_;
  Output& shapes_;
  Vector<layouts::OmittedProbe>& omitted_;
  const ClassInfo* class_ = nullptr;
  const MethodInfo* method_ = nullptr;
  const Vector<const Probe*>* probes_ = nullptr;
  Vector<const Probe*> known_probes_;  // that are sorted
  Vector<const Probe*> of_site_[layouts::kSiteCount + 1];
  uint32_t wanted_ = 0;     // a bit for each kind of site
  uint32_t not_plain_ = 0;  // a bit for each that has probes which hand over more than numbers
  bool is_quick_ = false;   // plain probes where methods begin, return and throw
  bool needs_parameters_ = false;
  bool uses_this_ = false;
  bool uses_locals_ = false;
  bool stops_threads_ = false;
  uint32_t first_site_ = 0;
  Output* out_ = nullptr;
  uint32_t start_ = 0;  // of the code in it
  size_t first_inserted_ = 0;

  const uint8_t* code_ = nullptr;
  uint32_t size_ = 0;
  uint32_t max_stack_ = 0;
  uint32_t max_locals_ = 0;
  uint32_t own_locals_ = 0;  // before there were any probes
  Text result_;              // the descriptor of what is returned, once it has been looked for
  Bytes handlers_;
  uint32_t handler_count_ = 0;
  Bytes attributes_;
  Bytes line_table_;
  Bytes variable_table_;
  Bytes frame_table_;
  bool has_frames_ = false;    // a table is needed
  bool lacks_frames_ = false;  // and missing, where a thread may stop
  bool is_constructor_ = false;
  bool uses_parameters_ = false;   // elsewhere than at the entry
  bool keeps_parameters_ = false;  // for that, or to begin the method again
  bool tracks_ = false;
  bool ready_ = true;  // without frames: `this` is initialized
  // Of a constructor, where that is so from there on, and not before; otherwise nobody knows.
  uint32_t ready_at_ = kNowhere;
  uint32_t here_ = 0;  // the instruction in hand
  bool initializes_once_ = true;
  uint32_t pending_ = 0;  // objects made and not initialized, without frames

  Moves moves_;
  const Vector<Moves::Move>* earlier_ = nullptr;
  uint32_t earlier_locals_ = 0;
  bool is_inserted_ = false;  // the instruction is of probes that came earlier
  Vector<uint8_t> marks_;
  Vector<uint16_t> busy_;       // the first instruction, and those that are more than a copy
  Vector<uint16_t> handled_;    // those that are not copied together with their neighbours
  Vector<uint16_t> branches_;   // of two bytes
  uint8_t marks_of_[256] = {};  // by operation code
  uint32_t busy_for_ = 0;       // what is wanted that they were made for
  Vector<Line> lines_;          // in the order of the code
  size_t next_line_ = 0;
  Vector<uint8_t> wide_;  // branches that need four bytes; empty where none does
  bool grew_ = false;
  bool bad_branch_ = false;
  uint32_t line_ = 0;

  Vector<Parameter> parameters_;
  Vector<Spilled> spilled_;
  Vector<Kept> kept_;
  Vector<Kept> kept_here_;  // from before a call until behind it
  Text bound_to_;           // the class that the probe in hand calls
  Vector<const Probe*> selected_;
  // For what comes behind the instruction.
  Vector<const Probe*> called_;
  Vector<const Probe*> made_;
  Vector<const Probe*> read_;
  Vector<const Probe*> entered_;
  Place after_;
  Output scratch_;
  Vector<uint16_t> helpers_;  // of each probe the constant of the method that it calls
  uint16_t puts_[6] = {};     // by category: of what puts a value into a record
  uint16_t end_ = 0;
  uint16_t frame_table_name_ = 0;
  uint16_t throwable_ = 0;
  uint16_t comparisons_[9] = {};
  Vector<Fixup> fixups_;
  Vector<Inserted> inserted_;
  Vector<Type> inserted_types_;
  Vector<Range> ranges_;
  uint32_t unwind_at_ = kNowhere;
  Vector<Variable> variables_;
  Vector<uint16_t> named_;    // by slot, which entry in the table of variables has it, from 1
  Vector<Range> stops_;       // calls that may leave the method early
  Vector<uint8_t> stored_;    // by slot, whether any instruction stores to it
  Vector<uint8_t> assigned_;  // without frames, of entries in the table of variables
  Vector<Range> restarts_;    // and those that may begin it again
  bool can_leave_ = false;
  bool can_restart_ = false;
  bool is_bare_ = false;  // too large with the variables of all events
  Text leave_helper_;
  uint32_t leave_at_ = kNowhere;
  uint32_t restart_at_ = kNowhere;
  Frame first_;
  Frame declared_;
  Tracker tracker_;
  Output table_;
  FrameWriter frames_;

  struct KeptSlot {
    uint32_t slot;
    Type type;
  };
  Vector<KeptSlot> kept_slots_;  // throughout the method, in rising order
  uint32_t next_temporary_ = 0;
  uint32_t first_temporary_ = 0;
  Vector<NumberSlot> numbers_;
  uint32_t most_locals_ = 0;
  int32_t depth_ = 0;
  int32_t deepest_ = 0;
};

}  // namespace jvmti::classfile
