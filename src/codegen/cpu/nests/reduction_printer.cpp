#include "codegen/cpu/nests/reduction_printer.h"

#include <algorithm>

#include "codegen/text/accumulator_text.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// The rest of a reduce loop that fills no step of all lanes is folded in steps of so many, then one by one.
constexpr int64_t lanes_of_rest = 16;

class ReductionPrinter {
 public:
  ReductionPrinter(TextWriter& writer, NestScope& scope, const NestSchedule& schedule)
      : writer_(writer), scope_(scope), schedule_(schedule) {
    for (size_t i = 0; i < schedule.nest.accumulators.size(); ++i)
      accumulators_.emplace_back(schedule.nest.accumulators[i], i, scope.dialect());
    reduces_ =
        std::ranges::all_of(schedule.reduce, [](const FlatLoop& loop) { return proven_at_least(loop.extent, 1); });
  }

  void print(const std::function<void()>& print_stores) {
    scope_.hoist_elements(hoist());
    switch (schedule_.reduction) {
      case ReductionForm::scalar:
        print_scalar();
        print_stores();
        break;
      case ReductionForm::parallel_lanes:
        print_tile(print_stores);
        break;
      case ReductionForm::reduce_lanes:
        print_reduce_lanes();
        print_stores();
        break;
      case ReductionForm::extreme_lanes:
        for (const AccumulatorText& accumulator : accumulators_) print_extreme(accumulator);
        set_results("");
        print_stores();
        break;
      case ReductionForm::none:
        internal_error("a reduction that has a form");
    }
  }

 private:
  NestScope::Hoist hoist() const { return reduces_ ? NestScope::Hoist::values : NestScope::Hoist::values_no_loads; }

  // Opens the loops of the reduce axes from `first` up to `count`, then prints the body inside.
  void print_reduce_loops(size_t first, size_t count, const std::function<void()>& body) {
    if (first == count) {
      body();
      return;
    }
    const FlatLoop& loop = schedule_.reduce[first];
    auto scope = writer_.scope(loop_head(loop, "0", scope_.text(loop.extent)));
    const NestScope::Block block(scope_);
    enter(loop);
    scope_.hoist_elements(hoist());
    print_reduce_loops(first + 1, count, body);
  }

  std::string loop_head(const FlatLoop& loop, const std::string& first, const std::string& last) const {
    return fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", scope_.name(loop), first, last);
  }

  void enter(const FlatLoop& loop) {
    scope_.make_available(loop.symbol);
    scope_.print_lets();
  }

  // acc0 = acc0 + element, with `index` after the names of accumulators in arrays.
  void print_folds(const std::string& index) {
    for (const AccumulatorText& accumulator : accumulators_) {
      const std::string element = scope_.value(accumulator.accumulator().element);
      const std::string name = accumulator.name() + index;
      if (!accumulator.has_extreme()) {
        writer_.line(fmt::format("{} = {};", name, accumulator.folded(name, element)));
        continue;
      }
      const std::string extreme = accumulator.extreme() + index;
      const std::string takes = "takes" + accumulator.name().substr(3);
      writer_.line(fmt::format("const bool {} = ({} < 0) | {};", takes, name, accumulator.replaced(extreme, element)));
      writer_.line(fmt::format("{0} = {1} ? {2} : {0};", name, takes, scope_.text(accumulator.accumulator().position)));
      writer_.line(fmt::format("{0} = {1} ? {2} : {0};", extreme, takes, element));
    }
  }

  // Before a loop over all lanes. If they fill vectors, no loop is left of it, and the accumulators are in registers.
  std::string lane_loop(int64_t lanes) const {
    const int64_t width = std::min(lanes, schedule_.vector_lanes);
    return lanes % width == 0 ? loop_of_vectors(width, std::to_string(lanes / width)) : vectorised_loop(schedule_);
  }

  // The same if `lane_count` is the number of lanes, or less of them.
  std::string tile_loop() const {
    return schedule_.lanes % schedule_.vector_lanes == 0
               ? loop_of_vectors(schedule_.vector_lanes, "whole_vectors<decltype(lane_count)>")
               : vectorised_loop(schedule_);
  }

  static std::string loop_of_vectors(int64_t width, const std::string& vectors) {
    return fmt::format(
        "#pragma clang loop vectorize(assume_safety) unroll(disable) vectorize_width({}) interleave_count({})", width,
        vectors);
  }

  void declare(const AccumulatorText& accumulator) {
    writer_.line(fmt::format("{} {} = {};", accumulator.type(), accumulator.name(), accumulator.identity()));
    if (accumulator.has_extreme())
      writer_.line(fmt::format("{} {} = 0;", accumulator.extreme_type(), accumulator.extreme()));
  }

  void set_results(const std::string& index) {
    for (size_t i = 0; i < accumulators_.size(); ++i)
      scope_.set_accumulator(static_cast<int>(i), accumulators_[i].name() + index);
  }

  void print_scalar() {
    for (const AccumulatorText& accumulator : accumulators_) declare(accumulator);
    print_reduce_loops(0, schedule_.reduce.size(), [&] { print_folds(""); });
    set_results("");
  }

  // ------------------------------------------------------------------------------------------ lanes of a parallel loop

  void print_tile(const std::function<void()>& print_stores) {
    const FlatLoop& lane = schedule_.outer.back();
    if (lane.extent.constant()) {
      print_lanes(scope_.text(lane.extent), print_stores);
      return;
    }
    // A full tile is compiled with its number of lanes known; the rest of the axis runs the same text.
    {
      auto tile = writer_.scope("const auto tile = [&](auto lane_count) __attribute__((always_inline))", ";");
      const NestScope::Block block(scope_);
      print_lanes("lane_count", print_stores);
    }
    writer_.line(fmt::format("const int64_t lane_count = {};", scope_.text(lane.extent)));
    writer_.line(fmt::format("if (lane_count == {0}) tile(Constant<{0}>()); else tile(lane_count);", schedule_.lanes));
  }

  void print_lanes(const std::string& count, const std::function<void()>& print_stores) {
    const std::string index = fmt::format("[{}]", scope_.name(schedule_.outer.back()));
    for (const AccumulatorText& accumulator : accumulators_) {
      writer_.line(fmt::format("{} {}[{}];", accumulator.type(), accumulator.name(), schedule_.lanes));
      if (accumulator.has_extreme())
        writer_.line(fmt::format("{} {}[{}];", accumulator.extreme_type(), accumulator.extreme(), schedule_.lanes));
    }
    print_lane_loop(count, [&] {
      for (const AccumulatorText& accumulator : accumulators_) {
        writer_.line(fmt::format("{}{} = {};", accumulator.name(), index, accumulator.identity()));
        if (accumulator.has_extreme()) writer_.line(fmt::format("{}{} = 0;", accumulator.extreme(), index));
      }
    });
    print_reduce_loops(0, schedule_.reduce.size(), [&] {
      print_lane_loop(count, [&] {
        enter(schedule_.outer.back());
        print_folds(index);
      });
    });
    set_results(index);
    scope_.hoist_stores();
    print_lane_loop(count, [&] {
      enter(schedule_.outer.back());
      print_stores();
    });
  }

  void print_lane_loop(const std::string& count, const std::function<void()>& body) {
    writer_.line(count == "lane_count" ? tile_loop() : lane_loop(schedule_.lanes));
    auto scope = writer_.scope(loop_head(schedule_.outer.back(), "0", count));
    const NestScope::Block block(scope_);
    body();
  }

  // ------------------------------------------------------------------------------------------ lanes of a reduce loop

  // The rest of the reduce loop that makes no full step is folded into an accumulator of its own.
  void print_reduce_lanes() {
    const FlatLoop& innermost = schedule_.reduce.back();
    std::string lane_type;
    for (const AccumulatorText& accumulator : accumulators_) {
      declare(accumulator);
      writer_.line(fmt::format("{} {}_lanes[{}];", accumulator.type(), accumulator.name(), schedule_.lanes));
    }
    writer_.line(lane_loop(schedule_.lanes));
    {
      auto scope = writer_.scope(fmt::format("for (int64_t lane = 0; lane < {}; ++lane)", schedule_.lanes));
      for (const AccumulatorText& accumulator : accumulators_)
        writer_.line(fmt::format("{0}_lanes[lane] = {1};", accumulator.name(), accumulator.identity()));
    }
    print_reduce_loops(0, schedule_.reduce.size() - 1, [&] { print_steps(innermost); });
    for (const AccumulatorText& accumulator : accumulators_)
      writer_.line(fmt::format(
          "{0} = {1};", accumulator.name(),
          accumulator.folded(fmt::format("fold_lanes({0}_lanes, []({1} a, {1} b) -> {1} {{ return {2}; }})",
                                         accumulator.name(), accumulator.type(), accumulator.folded("a", "b")),
                             accumulator.name())));
    set_results("");
  }

  void print_steps(const FlatLoop& loop) {
    const std::string& name = scope_.name(loop);
    std::string parameters, lane_arguments, arguments;
    for (const AccumulatorText& accumulator : accumulators_) {
      parameters += fmt::format(", {}& {}", accumulator.type(), accumulator.name());
      lane_arguments += fmt::format(", {}_lanes[lane]", accumulator.name());
      arguments += ", " + accumulator.name();
    }
    {
      auto fold = writer_.scope(
          fmt::format("const auto fold = [&](const int64_t {}{}) __attribute__((always_inline))", name, parameters),
          ";");
      const NestScope::Block block(scope_);
      enter(loop);
      print_folds("");
    }
    writer_.line("int64_t step = 0;");
    const auto print_steps_of = [&](int64_t lanes) {
      auto steps =
          writer_.scope(fmt::format("for (; step + {0} <= {1}; step += {0})", lanes, scope_.text(loop.extent)));
      writer_.line(lane_loop(lanes));
      writer_.line(
          fmt::format("for (int64_t lane = 0; lane < {}; ++lane) fold(step + lane{});", lanes, lane_arguments));
    };
    print_steps_of(schedule_.lanes);
    if (schedule_.lanes > lanes_of_rest) print_steps_of(lanes_of_rest);
    writer_.line(fmt::format("for (; step < {}; ++step) fold(step{});", scope_.text(loop.extent), arguments));
  }

  void print_extreme(const AccumulatorText& accumulator) {
    const FlatLoop& loop = schedule_.reduce.front();
    const std::string element = "element" + accumulator.name().substr(3);
    {
      auto function = writer_.scope(fmt::format("const auto {} = [&](const int64_t {}) __attribute__((always_inline))",
                                                element, scope_.name(loop)),
                                    ";");
      const NestScope::Block block(scope_);
      enter(loop);
      writer_.line(fmt::format("return {};", scope_.value(accumulator.accumulator().element)));
    }
    writer_.line(fmt::format("const int64_t {} = extreme_position<{}, {}>({}, {});", accumulator.name(),
                             accumulator.extreme_rule(), schedule_.lanes, scope_.text(loop.extent), element));
  }

  TextWriter& writer_;
  NestScope& scope_;
  const NestSchedule& schedule_;
  std::vector<AccumulatorText> accumulators_;
  bool reduces_;
};

}  // namespace

std::string vectorised_loop(const NestSchedule& schedule) {
  const std::string width = schedule.sets_width ? fmt::format(" vectorize_width({})", schedule.vector_lanes) : "";
  return "#pragma clang loop vectorize(assume_safety) unroll(disable)" + width;
}

void print_reduction(TextWriter& writer, NestScope& scope, const NestSchedule& schedule,
                     const std::function<void()>& print_stores) {
  ReductionPrinter(writer, scope, schedule).print(print_stores);
}

}  // namespace onnxc
