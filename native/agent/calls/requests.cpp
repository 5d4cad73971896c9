// Requests of the controller: a call, several calls in one frame, and one function over columns.

#include "agent/calls/call.h"
#include "base/shared_memory.h"

namespace jvmti {

namespace {

void prepare(Call& call, const Header& header, const Function& function) {
  call.environment_number = header.environment;
  call.environment = call.session.environments.enter(header.environment);
  if (call.environment != nullptr) {
    call.env = call.environment->env;
  } else if (function.table != Table::kJvmti &&
             call.session.environments.disposed(header.environment)) {
    // JNI and the agent's own operations outlive the environment that they are named with.
    call.env = agent.env;
  } else {
    call.refuse(JVMTI_ERROR_INVALID_ENVIRONMENT, "environment %u is not one of this session",
                header.environment);
    return;
  }
  call.session.calls.fetch_add(1, std::memory_order_relaxed);
}

// While the VM makes a walk's callbacks, everything but what is declared safe would wait for ever.
void check_in_walk(Call& call, const Header& header, const Function& function) {
  if (!function.callback_safe) {
    call.refuse(layouts::Status::kInHeapCallback);
  } else if (header.environment != call.channel.walk_environment()->number) {
    call.refuse(layouts::Status::kInHeapCallback, "only in the environment that walks");
  }
}

void finish(Call& call) {
  if (call.environment != nullptr) call.session.environments.leave(call.jni, call.environment);
}

// What a reply that could not be written says.
constexpr int trouble(bool exhausted) {
  return exhausted ? int{JVMTI_ERROR_OUT_OF_MEMORY} : int{layouts::Status::kReplyTooLarge};
}

// One call with its arguments in one stream and its results appended to `out`.
void single(Call& call, const Header& header, Reader& arguments, Writer& out) {
  call.readers = &arguments;
  call.reader_step = 0;
  call.writers = &out;
  call.writer_step = 0;
  call.identify = true;
  const Function* function = find_function(header.function);
  if (function == nullptr) {
    call.refuse(layouts::Status::kUnknownFunction, "function %u is unknown to this agent",
                header.function);
  }
  if (!call.refused() && call.channel.walking()) check_in_walk(call, header, *function);
  if (!call.refused()) prepare(call, header, *function);
  size_t start = out.size();
  if (!call.refused()) invoke(call, *function);
  // What had no memory for its arguments has not read them.
  if (arguments.failed() && call.status != JVMTI_ERROR_OUT_OF_MEMORY) {
    call.status = 0;
    call.refuse(layouts::Status::kMalformedRequest, "the arguments end too early");
  }
  if (out.failed() && !call.refused()) call.refuse(trouble(out.exhausted()));
  finish(call);
  if (!call.refused()) return;
  out.truncate(start);
  if (call.exception != 0) {
    out.number(call.exception);
  } else if (call.detail[0] != '\0') {
    out.bytes(call.detail, std::strlen(call.detail));
  }
}

uint8_t flags_of(const Call& call) {
  if (call.exception != 0) return layouts::Flag::kException;
  if (call.status != 0 && call.detail[0] != '\0') return layouts::Flag::kDetail;
  return 0;
}

}  // namespace

// Its time counts for threads that wait for this channel only, which are those before the VM is
// live.
bool Channel::work(const Header& header) {
  bool counts = !agent.live;
  if (counts) calling_since_ = now_in_milliseconds();
  bool ends = false;
  if (header.kind == layouts::Kind::kCall) {
    ends = call(header) && (header.flags & layouts::Flag::kEnds) != 0 && conversation_ != 0;
  } else if (header.kind == layouts::Kind::kBatch) {
    batch(header);
  } else {
    map(header);
  }
  if (counts) calling_since_ = 0;
  return ends;
}

bool Channel::call(const Header& header) {
  outbox_.clear();
  request_ = header.sequence;
  Reader arguments(payload_, header.size);
  limit_ = -1;
  if ((header.flags & layouts::Flag::kLimited) != 0) {
    int64_t limit = arguments.number<int64_t>();
    limit_ = milliseconds_from_now(limit < 0 ? 0 : limit);
  }
  Call made(*this, jni);
  single(made, header, arguments, outbox_);
  reply(header, made.status, &outbox_, flags_of(made));
  return made.status == JVMTI_ERROR_NONE;
}

// Several calls in one frame.
void Channel::batch(const Header& header) {
  outbox_.clear();
  if (!make_calls(jni, payload_, header.size, outbox_)) {
    return malformed(header, "a batch is shorter than it says");
  }
  if (session.ending()) return;  // no thread waits for it
  if (outbox_.failed()) return reply(header, trouble(outbox_.exhausted()));
  reply(header, 0, &outbox_);
}

// Each is a function, an environment and its arguments; what it returns a status, flags and a
// payload.
bool Channel::make_calls(JNIEnv* environment, const uint8_t* data, size_t size, Writer& out) {
  Reader reader(data, size);
  uint32_t count = reader.number<uint32_t>();
  if (count > size) return false;
  for (uint32_t i = 0; i < count && !out.failed() && !session.ending(); ++i) {
    Header one{};
    auto called = reader.number<layouts::Batched>();
    one.function = called.function;
    one.environment = called.environment;
    const uint8_t* from = reader.take(called.size);
    if (reader.failed()) return false;
    Reader arguments(from, called.size);
    size_t head = out.leave(sizeof(layouts::BatchResult));
    size_t start = out.size();
    Call made(*this, environment);
    single(made, one, arguments, out);
    if (out.failed()) break;
    out.fill(head, layouts::BatchResult{static_cast<uint16_t>(made.status), flags_of(made),
                                        static_cast<uint32_t>(out.size() - start)});
  }
  return true;
}

// One function over columns of arguments.  The request: rows, then for each parameter whether it
// is a column and its encoded values.  The reply: a status for each row, then the leaves of the
// result as columns, each behind its length.  With shared memory the request lies there (its first
// eight bytes say how long it is) and the reply is written over it where it fits.
void Channel::map(const Header& header) {
  outbox_.clear();
  SharedMemory shared;
  Array<uint8_t> copy;
  const uint8_t* request = payload_;
  size_t request_size = header.size;
  if ((header.flags & layouts::Flag::kShared) != 0) {
    int descriptor = take_descriptor();
    if (descriptor < 0) return malformed(header, "shared memory was announced but not passed");
    const char* why = shared.open(descriptor);
    if (why != nullptr) return malformed(header, why);
    uint64_t announced = 0;
    if (shared.size() >= sizeof announced) std::memcpy(&announced, shared.data(), sizeof announced);
    if (shared.size() < sizeof announced || announced > shared.size() - sizeof announced) {
      return malformed(header, "shared memory is too short");
    }
    if (announced > layouts::FrameLimits::kReply)
      return malformed(header, "the request is too large");
    // Copied once, so that nothing changes between its check and its use.
    request_size = static_cast<size_t>(announced);
    if (!copy.allocate(request_size)) return reply(header, JVMTI_ERROR_OUT_OF_MEMORY);
    std::memcpy(copy.get(), shared.data() + sizeof announced, request_size);
    request = copy.get();
  }

  Reader reader(request, request_size);
  auto head = reader.number<layouts::MapHead>();
  uint32_t rows = head.rows;
  uint8_t parameters = head.columns;
  const Function* function = find_function(header.function);
  const char* why = nullptr;
  Reader readers[kMaximumParameters];
  bool column[kMaximumParameters] = {};
  if (function == nullptr) {
    why = "unknown function";
  } else if (parameters != function->parameters || parameters > kMaximumParameters) {
    why = "a map request has the wrong number of parameters";
  } else if (rows > request_size && rows > 1) {
    why = "a map request has more rows than bytes";
  }
  for (int i = 0; why == nullptr && i < parameters; ++i) {
    auto parameter = reader.number<layouts::MapParameter>();
    column[i] = parameter.each != 0;
    const uint8_t* from = reader.take(parameter.size);
    readers[i] = Reader(from, from == nullptr ? 0 : parameter.size);
  }
  if (why == nullptr && reader.failed()) why = "a map request ends too early";
  if (why != nullptr) return malformed(header, why);

  Writer writers[kMaximumLeaves];
  Writer errors;
  Call made(*this, jni);
  made.identify = false;
  if (walking()) check_in_walk(made, header, *function);
  if (!made.refused()) prepare(made, header, *function);
  made.readers = readers;
  made.reader_step = 1;
  made.writers = writers;
  made.writer_step = 1;
  bool whole = !made.refused();
  int status = made.status;
  size_t sizes[kMaximumLeaves];
  for (uint32_t row = 0; whole && row < rows; ++row) {
    for (int i = 0; i < parameters; ++i) {
      if (!column[i]) readers[i].rewind();
    }
    for (int leaf = 0; leaf < function->leaves; ++leaf) sizes[leaf] = writers[leaf].size();
    made.status = 0;
    made.detail[0] = '\0';
    invoke(made, *function);
    if (made.refused()) {
      for (int leaf = 0; leaf < function->leaves; ++leaf) writers[leaf].truncate(sizes[leaf]);
      function->blank(Sink{writers, 1});
    }
    errors.number(static_cast<uint16_t>(made.status));
    for (int i = 0; i < parameters; ++i) {
      if (readers[i].failed()) whole = false;
    }
    if (session.ending()) break;
  }
  finish(made);
  if (!whole && status == 0) return malformed(header, "a column ends too early");
  bool matches = !errors.failed();
  for (int leaf = 0; leaf < function->leaves; ++leaf) {
    if (writers[leaf].failed()) matches = false;
  }
  if (matches && status == 0) {
    outbox_.number(layouts::MapHead{rows, function->leaves});
    outbox_.number(static_cast<uint32_t>(errors.size()));
    outbox_.bytes(errors.data(), errors.size());
    for (int leaf = 0; leaf < function->leaves; ++leaf) {
      outbox_.number(static_cast<uint32_t>(writers[leaf].size()));
      outbox_.bytes(writers[leaf].data(), writers[leaf].size());
    }
    matches = !outbox_.failed();
  }
  if (!matches) {
    bool exhausted = errors.exhausted() || outbox_.exhausted();
    for (int leaf = 0; leaf < function->leaves; ++leaf) exhausted |= writers[leaf].exhausted();
    status = trouble(exhausted);
  }
  if (status != 0) outbox_.truncate(0);
  uint64_t size = outbox_.size();
  if (shared.data() != nullptr && status == 0 && size + sizeof size <= shared.size()) {
    std::memcpy(shared.data(), &size, sizeof size);
    std::memcpy(shared.data() + sizeof size, outbox_.data(), outbox_.size());
    return reply(header, status, nullptr, layouts::Flag::kShared);
  }
  reply(header, status, &outbox_);
}

}  // namespace jvmti
