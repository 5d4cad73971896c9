#include "classfile/instrumenter.h"

#include "classfile/annotations.h"

namespace jvmti::classfile {

namespace {

void skip_attributes(Bytes& bytes) {
  for (uint32_t left = bytes.u2(); left > 0 && !bytes.bad; --left) {
    bytes.u2();
    bytes.take(bytes.u4());
  }
}

void skip_members(Bytes& bytes) {
  for (uint32_t left = bytes.u2(); left > 0 && !bytes.bad; --left) {
    bytes.take(6);
    skip_attributes(bytes);
  }
}

}  // namespace

// Whether an annotation among the attributes of a class or a method matches; its name is in a
// descriptor.
bool Instrumenter::is_annotated(const char* patterns, Bytes attributes) const {
  for (uint32_t left = attributes.u2(); left > 0 && !attributes.bad; --left) {
    Text name = pool_.utf8(attributes.u2());
    Bytes contents = attributes.part(attributes.u4());
    if (!(name == Text("RuntimeVisibleAnnotations")) &&
        !(name == Text("RuntimeInvisibleAnnotations")))
      continue;
    for (uint32_t more = contents.u2(); more > 0 && !contents.bad; --more) {
      Bytes ahead = contents;
      Text type = pool_.utf8(ahead.u2());
      if (type.size > 2 && matches_any<true>(patterns, Text(type.data + 1, type.size - 2).slice()))
        return true;
      if (!skip_annotation(contents, 0)) break;
    }
  }
  return false;
}

bool Instrumenter::is_below(const Probe& probe, Bytes interfaces, Text super) const {
  if (answers != nullptr) return answers[probe.supertypes_question] != 0;
  bool found = matches_any<true>(probe.supertypes, super.slice());
  while (!found && interfaces.left() >= 2) {
    found = matches_any<true>(probe.supertypes, pool_.class_name(interfaces.u2()).slice());
  }
  return found;
}

// Finds the probes whose patterns take this class.
bool Instrumenter::choose(const Plan& plan, Bytes interfaces, Text super, Bytes after_methods) {
  of_class_.clear();
  for (const Probe& probe : plan.probes()) {
    if (!matches_any<true>(probe.classes, class_.name.slice())) continue;
    if (probe.supertypes != nullptr && !is_below(probe, interfaces, super)) continue;
    if (probe.loaders != nullptr && (answers == nullptr || answers[probe.loaders_question] == 0)) {
      continue;
    }
    bool if_annotated =
        probe.annotations != nullptr && !is_annotated(probe.annotations, after_methods);
    if (!of_class_.push({&probe, if_annotated})) return false;
  }
  return true;
}

bool Instrumenter::note_moves(uint32_t method) {
  if (!keeps_moves) return true;
  for (const Moves::Move& one : method_.moves().all()) {
    if (!moved_.push({method, method_.own_locals(), one})) return false;
  }
  return true;
}

// The earlier moves of a method; for methods in rising order.
bool Instrumenter::find_earlier(uint32_t method) {
  earlier_here_.clear();
  earlier_locals_ = 0;
  size_t count = earlier == nullptr ? 0 : earlier->size();
  while (next_earlier_ < count && (*earlier)[next_earlier_].method < method) ++next_earlier_;
  for (; next_earlier_ < count && (*earlier)[next_earlier_].method == method; ++next_earlier_) {
    if (!earlier_here_.push((*earlier)[next_earlier_].move)) return false;
    earlier_locals_ = (*earlier)[next_earlier_].locals;
  }
  return true;
}

Status Instrumenter::methods(Bytes& bytes, uint32_t first_site) {
  uint32_t count = bytes.u2();
  body_.u2(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t* begin = bytes.at;
    MethodInfo method{i, bytes.u2(), pool_.utf8(bytes.u2()), pool_.utf8(bytes.u2())};
    const uint8_t* attributes = bytes.at;
    skip_attributes(bytes);
    if (bytes.bad) return Status::kMalformed;
    of_method_.clear();
    for (const Chosen& one : of_class_) {
      if (!matches_any(one.probe->methods, method.name.slice())) continue;
      if (!matches_any(one.probe->descriptors, method.descriptor.slice())) continue;
      Bytes own(attributes, static_cast<uint64_t>(bytes.at - attributes));
      if (one.if_annotated && !is_annotated(one.probe->annotations, own)) continue;
      if (!of_method_.push(one.probe)) return Status::kOutOfMemory;
    }
    if (of_method_.empty()) {
      body_.copy(begin, static_cast<uint64_t>(bytes.at - begin));
      continue;
    }
    Bytes rest(attributes, static_cast<uint64_t>(bytes.at - attributes));
    size_t before = inserted_probes_.size();
    body_.copy(begin, static_cast<uint64_t>(attributes - begin) + 2);
    bool is_changed_here = false;
    for (uint32_t left = rest.u2(); left > 0; --left) {
      const uint8_t* attribute = rest.at;
      uint32_t index = rest.u2();
      Bytes contents = rest.part(rest.u4());
      if (is_changed_here || pool_.attribute(index) != Attribute::kCode) {
        body_.copy(attribute, static_cast<uint64_t>(rest.at - attribute));
        continue;
      }
      uint32_t start = body_.size();
      body_.copy(attribute, 6);
      if (!find_earlier(i)) return Status::kOutOfMemory;
      method_.moved_before(earlier_here_, earlier_locals_);
      Woven woven = method_.weave(class_, method, contents, of_method_, first_site, body_);
      if (woven == Woven::kOutOfMemory || body_.failed) return Status::kOutOfMemory;
      if (pool_.is_full()) return Status::kTooLarge;
      if (woven == Woven::kMalformed) return Status::kMalformed;
      if (woven == Woven::kChanged) {
        body_.set4(start + 2, body_.size() - start - 6);
        is_changed_here = true;
        if (!note_moves(i)) return Status::kOutOfMemory;
        // Behind the attribute's head there are the sizes of stack, variables and code.
        const uint8_t* woven_code = body_.data() + start + 14;
        if (keeps_moves) method.code = hash_of_code(woven_code, read4(woven_code - 4));
      } else {
        body_.cut(start + 6);
        body_.copy(attribute + 6, static_cast<uint64_t>(rest.at - attribute) - 6);
        inserted_probes_.shrink(before);
      }
    }
    if (is_changed_here && !changed_.push(method)) return Status::kOutOfMemory;
    is_changed = is_changed || is_changed_here;
  }
  return Status::kOk;
}

Status Instrumenter::instrument(const Plan& plan, const uint8_t* file, uint64_t size,
                                uint32_t first_site) {
  is_changed = false;
  inserted_probes_.clear();
  omitted_.clear();
  changed_.clear();
  moved_.clear();
  next_earlier_ = 0;
  shapes_.clear();
  body_.clear();
  result_.clear();
  Bytes bytes(file, size);
  if (bytes.u4() != 0xCAFEBABE) return Status::kMalformed;
  uint32_t version = bytes.u4();
  Status status = pool_.read(bytes);
  if (status != Status::kOk) return status;
  const uint8_t* behind_pool = bytes.at;
  bytes.u2();
  uint16_t index = bytes.u2();
  class_ = {pool_.class_name(index), index, version & 0xFFFF, Bytes()};
  Text super = pool_.class_name(bytes.u2());
  Bytes interfaces = bytes.part(uint64_t{bytes.u2()} * 2);
  class_.fields = bytes;
  skip_members(bytes);
  if (bytes.bad || class_.name.size == 0) return Status::kMalformed;
  Bytes ahead = bytes;
  if (plan.asks_for_annotations()) skip_members(ahead);
  if (ahead.bad) return Status::kMalformed;
  if (!choose(plan, interfaces, super, ahead)) return Status::kOutOfMemory;
  if (of_class_.empty()) return Status::kOk;
  body_.copy(behind_pool, static_cast<uint64_t>(bytes.at - behind_pool));
  if (!method_.begin_class(plan.probes().size())) return Status::kOutOfMemory;
  status = methods(bytes, first_site);
  if (status != Status::kOk || !is_changed) return status;
  body_.copy(bytes.at, bytes.left());
  const Output& added = pool_.added();
  uint64_t old_pool = static_cast<uint64_t>(behind_pool - file) - 10;
  result_.copy(file, 8);
  result_.u2(pool_.count());
  result_.copy(file + 10, old_pool);
  result_.copy(const_cast<Output&>(added).data(), added.size());
  result_.copy(body_.data(), body_.size());
  bool failed = result_.failed || body_.failed || added.failed || shapes_.failed;
  return failed ? Status::kOutOfMemory : Status::kOk;
}

}  // namespace jvmti::classfile
