// An accumulator of a reduction as C text: its variables, its first value and how two partial results fold.
#pragma once

#include <fmt/format.h>

#include <string>

#include "codegen/text/scalar_dialect.h"

namespace onnxc {

class AccumulatorText {
 public:
  // `slot`: its index among the nest's accumulators. The references must outlive the text.
  AccumulatorText(const Accumulator& accumulator, size_t slot, const ScalarDialect& dialect)
      : accumulator_(accumulator), dialect_(dialect), name_(fmt::format("acc{}", slot)) {}

  const std::string& name() const { return name_; }
  std::string type() const { return dialect_.value_type(accumulator_.dtype); }
  const Accumulator& accumulator() const { return accumulator_; }

  // Argument kinds also keep the extreme found so far, and take over an element's position when it replaces it.
  bool has_extreme() const;
  std::string extreme() const { return "extreme" + name_.substr(3); }
  // The element's number in the order of the elements, which threads that share a reduction keep as well.
  std::string extreme_number() const { return "number" + name_.substr(3); }
  std::string extreme_type() const { return dialect_.value_type(accumulator_.element.dtype()); }
  std::string replaced(const std::string& extreme, const std::string& element) const;
  std::string extreme_rule() const;  // the first two template arguments of `replaces`

  // The neutral element; for an argument kind, that no position was seen.
  std::string identity() const;
  // The combination of two partial results; not for argument kinds.
  std::string folded(const std::string& a, const std::string& b) const;

 private:
  std::string number(double value) const;

  const Accumulator& accumulator_;
  const ScalarDialect& dialect_;
  std::string name_;
};

}  // namespace onnxc
