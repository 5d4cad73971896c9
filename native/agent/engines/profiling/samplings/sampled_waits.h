// Which waits are samples, and what these count for.
//
// Those that are longer than the period always, and of the others each that has a mark
// (`MarkedTime`), for the whole period.  So each counts in proportion to its length, and the sum is
// right for any period, which grows until few enough are sampled.
//
// Of threads that were parked only those are reported that come to a mark or the end of a period:
// the class that probes call counts down what is left until then, for threads of one line together.
#pragma once

#include "agent/engines/instrumentation/hits/probe_helper.h"
#include "agent/engines/profiling/profile.h"
#include "agent/engines/profiling/samplings/parked_threads.h"

namespace jvmti {

// Samples of lengths of time, in proportion to these: the lengths follow each other on a line that
// is cut into periods, each of which has a mark at a place by chance.  A length that has the mark
// stands for the whole period.  So each has its length as its expectation, and the sum of all is
// right but for the last period.
class MarkedTime {
 public:
  // What the next length stands for: 0 without a mark.  Periods that begin now are as long as
  // `next`; `chance` gives a number from 0 to 1.
  template <class Chance>
  double pass(double length, double next, Chance chance) {
    // Of one that would last far too long, what has passed stands for itself on average.
    if (period_ > kTooLong * next) begin(next, chance());
    double found = 0;
    while (length >= end_) {
      length -= end_;
      if (mark_ >= 0) found += period_;
      begin(next, chance());
    }
    if (mark_ >= 0 && length >= mark_) {
      found += period_;
      mark_ = kPassed;
    } else if (mark_ >= 0) {
      mark_ -= length;
    }
    end_ -= length;
    return found;
  }

  // How far it is to the next mark or period.
  double next() const { return mark_ >= 0 && mark_ < end_ ? mark_ : end_; }

 private:
  static constexpr double kTooLong = 4;
  static constexpr double kPassed = -1;
  void begin(double period, double chance) {
    period_ = end_ = period;
    mark_ = period * chance;
  }
  double period_ = 0;
  double end_ = 0;         // what is left of the period
  double mark_ = kPassed;  // the same up to the mark
};

// Nanoseconds.
int64_t processor_time(clockid_t whose);

// Each function under a lock of the caller's.
class SampledWaits : NoCopy {
 public:
  explicit SampledWaits(Profile& profile) : profile_(profile) {}

  // What a wait that is over counts for; 0 if it is not sampled.  Waits of a line follow each
  // other.
  int64_t weight(int64_t now, int64_t waited, uint64_t line);
  int64_t weight(const ParkedTime& time);
  // Now and then, so that the period follows the waits that were not reported.
  void find_passed(int64_t now);
  // From 0 to 1.
  double chance();

 private:
  static constexpr uint64_t kLines = layouts::ProbeWaits::kLines;
  static constexpr double kSpare = 100;  // samples beyond what it affords, where there were few
  static constexpr double kMost = 50;    // in 1 s, however much the program uses, or for a while
  struct Parked {
    std::atomic<int64_t>* left = nullptr;  // null before the first one
    int64_t granted = 0;                   // what was left there after the last one
    MarkedTime marks;
  };
  double pass(MarkedTime& marks, int64_t waited);
  void grant(Parked& line, int64_t left) const;
  double afforded(int64_t now);
  void find_period(int64_t now);

  Profile& profile_;
  uint32_t random_ = 1;
  int64_t period_ = profile_.request.interval;
  MarkedTime marks_[kLines];  // enough for the sum of a thread to be nearly right
  Parked parked_[kLines];
  double expected_ = 0;     // samples
  double spare_ = kSpare;   // samples, less than 0 where there were more than it affords
  int64_t counted_at_ = 0;  // since when
  double afforded_ = kMost;
  int64_t used_at_ = 0;  // when that was found
  int64_t used_ = 0;     // the program's processor time at that moment
};

}  // namespace jvmti
