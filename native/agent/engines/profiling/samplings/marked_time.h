// Samples of lengths of time, in proportion to these: the lengths follow each other on a line that
// is cut into periods, each of which has a mark at a place by chance.  A length that has the mark
// stands for the whole period.  So each has its length as its expectation, and the sum of all is
// right but for the last period.
#pragma once

namespace jvmti {

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

}  // namespace jvmti
