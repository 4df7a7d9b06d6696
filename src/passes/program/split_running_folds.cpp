#include "passes/program/split_running_folds.h"

#include <algorithm>

#include "ir/loops/running_fold.h"

namespace onnxc {
namespace {

constexpr int64_t chunk = 1024;     // four elements for each thread of a block
constexpr int64_t shortest = 4096;  // a shorter one is a few rounds of one block

struct SplitFold {
  Axis axis;  // the ordered one
  RunningFold fold;
};

std::optional<SplitFold> as_long_fold(const LoopNest& nest) {
  if (!nest.lets.empty() || !nest.accumulators.empty() || nest.stores.size() != 1) return std::nullopt;
  const auto ordered = std::ranges::find(nest.axes, AxisKind::ordered, &Axis::kind);
  if (ordered == nest.axes.end() || std::ranges::count(nest.axes, AxisKind::parallel, &Axis::kind) + 1 !=
                                        static_cast<std::ptrdiff_t>(nest.axes.size()))
    return std::nullopt;
  const Store& store = nest.stores.front();
  if (store.kind != StoreKind::assign || store.condition) return std::nullopt;
  const std::optional<int64_t> extent = ordered->extent.constant();
  if (extent && *extent < shortest) return std::nullopt;
  std::optional<RunningFold> fold = as_running_fold(ordered->symbol, store.buffer, store.indices, store.value);
  if (!fold) return std::nullopt;
  const DType dtype = fold->element.dtype();
  if (is_computed_wider(dtype) || to_string(fold->start) != to_string(neutral_element(fold->op, dtype)))
    return std::nullopt;
  return SplitFold{*ordered, *std::move(fold)};
}

class Splitter {
 public:
  Splitter(Program& program, const LoopNest& nest, SplitFold split)
      : program_(program),
        nest_(nest),
        axis_(std::move(split.axis)),
        fold_(std::move(split.fold)),
        dtype_(fold_.element.dtype()),
        chunks_(ceil_div(axis_.extent, chunk)),
        chunk_number_{Symbol::axis(axis_.symbol.name() + "_chunk", chunks_), chunks_},
        place_{Symbol::axis(axis_.symbol.name() + "_place", chunk), chunk} {
    for (const Axis& axis : nest.axes)
      if (axis.kind == AxisKind::parallel) outer_.push_back(axis);
    position_ = Expr(chunk_number_.symbol) * chunk + Expr(place_.symbol);
    is_inside_ = scalar::binary(ScalarOp::less, scalar::index(position_), scalar::index(axis_.extent));
    parts_ = add_temporary("_parts");
    starts_ = add_temporary("_starts");
  }

  LoopNest parts() const {
    LoopNest result = named("_parts");
    result.axes.push_back(with_kind(chunk_number_, AxisKind::parallel));
    result.axes.push_back(with_kind(place_, AxisKind::reduce));
    const ReduceKind kind = fold_.op == ScalarOp::add ? ReduceKind::sum : ReduceKind::product;
    result.accumulators = {{kind, dtype_, scalar::select(is_inside_, element(), neutral()), 0}};
    result.stores = {{parts_, at_chunk(0), scalar::accumulator(dtype_, 0), StoreKind::assign, {}}};
    return result;
  }

  LoopNest starts() const {
    LoopNest result = named("_starts");
    result.axes.push_back(with_kind(chunk_number_, AxisKind::ordered));
    const Scalar value = scalar::binary(fold_.op, before_chunk(), scalar::load(dtype_, parts_, at_chunk(0)));
    result.stores = {{starts_, at_chunk(0), value, StoreKind::assign, {}}};
    return result;
  }

  LoopNest chunks() const {
    const Store& store = nest_.stores.front();
    LoopNest result = named("");
    result.axes.push_back(with_kind(chunk_number_, AxisKind::parallel));
    result.axes.push_back(with_kind(place_, AxisKind::ordered));
    const Scalar last = scalar::load(dtype_, store.buffer, at(store.indices, position_ - 1));
    const Scalar before = scalar::select(is_zero(place_.symbol), before_chunk(), last);
    result.stores = {{store.buffer, at(store.indices, position_), scalar::binary(fold_.op, before, element()),
                      StoreKind::assign, is_inside_}};
    return result;
  }

 private:
  LoopNest named(const char* suffix) const { return {nest_.name + suffix, outer_, {}, {}, {}}; }
  static Axis with_kind(Axis axis, AxisKind kind) {
    axis.kind = kind;
    return axis;
  }

  BufferId add_temporary(const char* suffix) {
    Buffer buffer;
    buffer.name = nest_.name + suffix;
    buffer.dtype = dtype_;
    for (const Axis& axis : outer_) buffer.shape.push_back(axis.extent);
    buffer.shape.push_back(chunks_);
    buffer.layout = Layout::row_major(buffer.shape.size());
    return program_.add(std::move(buffer));
  }

  std::vector<Expr> at_chunk(int64_t shift) const {
    std::vector<Expr> place;
    for (const Axis& axis : outer_) place.emplace_back(axis.symbol);
    place.push_back(Expr(chunk_number_.symbol) + shift);
    return place;
  }
  std::vector<Expr> at(std::vector<Expr> indices, const Expr& position) const {
    for (Expr& index : indices) index = index.substitute({{axis_.symbol, position}});
    return indices;
  }
  static Scalar is_zero(const Symbol& symbol) {
    return scalar::binary(ScalarOp::equal, scalar::index(Expr(symbol)), scalar::integer_constant(DType::int64, 0));
  }

  Scalar neutral() const { return neutral_element(fold_.op, dtype_); }
  Scalar element() const { return substitute(fold_.element, {{axis_.symbol, position_}}); }
  // The fold of all chunks before this one.
  Scalar before_chunk() const {
    return scalar::select(is_zero(chunk_number_.symbol), neutral(), scalar::load(dtype_, starts_, at_chunk(-1)));
  }

  Program& program_;
  const LoopNest& nest_;
  Axis axis_;
  RunningFold fold_;
  DType dtype_;
  Expr chunks_;
  Axis chunk_number_, place_;
  std::vector<Axis> outer_;
  Expr position_;
  Scalar is_inside_;
  BufferId parts_ = -1, starts_ = -1;
};

void add_split(Program& program, Step step, std::vector<Step>& steps) {
  const auto* nest = std::get_if<LoopNest>(&step.work);
  std::optional<SplitFold> split = nest != nullptr ? as_long_fold(*nest) : std::nullopt;
  if (!split) {
    steps.push_back(std::move(step));
    return;
  }
  const bool is_known = split->axis.extent.constant().has_value();
  Splitter splitter(program, *nest, *std::move(split));
  steps.push_back({splitter.parts(), step.origins, step.condition});
  Step starts{splitter.starts(), step.origins, step.condition};
  // A dynamic loop is assumed to have few chunks.
  if (is_known)
    add_split(program, std::move(starts), steps);
  else
    steps.push_back(std::move(starts));
  step.work = splitter.chunks();
  steps.push_back(std::move(step));
}

}  // namespace

void split_running_folds(Program& program) {
  std::vector<Step> steps, before = std::move(program.steps);
  program.steps.clear();
  for (Step& step : before) add_split(program, std::move(step), steps);
  program.steps = std::move(steps);
}

}  // namespace onnxc
