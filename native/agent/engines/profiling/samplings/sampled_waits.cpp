#include "agent/engines/profiling/samplings/sampled_waits.h"

namespace jvmti {

namespace {

constexpr double kSome = 20;              // after these samples the period changes
constexpr int64_t kSomeTime = 100000000;  // nanoseconds, or after these
constexpr int64_t kCount = 500000000;     // nanoseconds between two looks at processor time
constexpr int64_t kLongest = 100000000;   // the longest period
constexpr double kPrice = 50000;          // nanoseconds that a sample takes at most
constexpr double kPart = 0.002;           // of the program's processor time, for samples
constexpr double kFewest = 20;            // in 1 s, however little the program uses

}  // namespace

int64_t processor_time(clockid_t whose) {
  timespec used;
  clock_gettime(whose, &used);
  return used.tv_sec * 1000000000LL + used.tv_nsec;
}

double SampledWaits::chance() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_ / 4294967296.0;
}

int64_t SampledWaits::weight(int64_t now, int64_t waited, uint64_t line) {
  if (waited < profile_.request.interval) return 0;
  find_period(now);
  if (waited >= period_) {
    expected_ += 1;
    return waited;
  }
  return static_cast<int64_t>(pass(marks_[line % kLines], waited));
}

double SampledWaits::pass(MarkedTime& marks, int64_t waited) {
  double length = static_cast<double>(waited);
  double period = static_cast<double>(period_);
  expected_ += length / period;
  return marks.pass(length, period, [this] { return chance(); });
}

int64_t SampledWaits::weight(const ParkedTime& time) {
  int64_t waited = time.ended - time.began;
  Parked& line =
      parked_[reinterpret_cast<uintptr_t>(time.left) / layouts::ProbeWaits::kLine % kLines];
  line.left = time.left;
  find_period(time.ended);
  if (waited >= period_) {
    line.left->fetch_add(waited);
    expected_ += 1;
    return waited;
  }
  int64_t left = line.left->load();
  if (left > 0) return 0;  // another thread came here first, and has counted this wait
  int64_t others = line.granted - left - waited;
  double found = others > 0 ? pass(line.marks, others) : 0;
  found += pass(line.marks, waited);
  grant(line, left);
  return static_cast<int64_t>(found);
}

// Threads that wait meanwhile have taken some of it.
void SampledWaits::grant(Parked& line, int64_t left) const {
  int64_t next = static_cast<int64_t>(line.marks.next());
  if (next > period_) next = period_;
  if (next < 1) next = 1;
  line.left->fetch_add(next - left);
  line.granted = next;
}

void SampledWaits::find_passed(int64_t now) {
  for (Parked& line : parked_) {
    int64_t left = line.left == nullptr ? 0 : line.left->load();
    if (left <= 0) continue;  // a thread is on its way here
    if (left < line.granted) (void)pass(line.marks, line.granted - left);
    grant(line, left);
  }
  // While nobody waits the period stays.
  if (expected_ > 0) find_period(now);
}

// Samples in a second that the program affords.  The kernel adds the time of all its threads up.
double SampledWaits::afforded(int64_t now) {
  if (now - used_at_ < kCount) return afforded_;
  int64_t used = processor_time(CLOCK_PROCESS_CPUTIME_ID);
  if (used_at_ != 0) {
    afforded_ = static_cast<double>(used - used_) * kPart / kPrice;
    afforded_ *= 1e9 / static_cast<double>(now - used_at_);
    if (afforded_ < kFewest) afforded_ = kFewest;
    if (afforded_ > kMost) afforded_ = kMost;
  }
  used_at_ = now;
  used_ = used;
  return afforded_;
}

void SampledWaits::find_period(int64_t now) {
  int64_t passed = now - counted_at_;
  if (expected_ < kSome && passed < kSomeTime) return;
  double second = afforded(now);
  if (counted_at_ != 0) {
    double seconds = static_cast<double>(passed + 1) / 1e9;
    double wanted = second * seconds;
    spare_ += wanted - expected_;
    if (spare_ > kSpare) spare_ = kSpare;
    if (spare_ < -kSpare) spare_ = -kSpare;
    double aimed = spare_ > 0 ? kMost * seconds : spare_ < -kSome ? wanted / 2 : wanted;
    double change = expected_ / aimed;
    change = change < 0.1 ? 0.1 : change > 10 ? 10 : change;
    period_ = static_cast<int64_t>(static_cast<double>(period_) * change);
  }
  if (period_ > kLongest) period_ = kLongest;
  if (period_ < profile_.request.interval) period_ = profile_.request.interval;
  uint64_t period = static_cast<uint64_t>(period_);
  if (period > profile_.span) profile_.span = period;
  expected_ = 0;
  counted_at_ = now;
}

}  // namespace jvmti
