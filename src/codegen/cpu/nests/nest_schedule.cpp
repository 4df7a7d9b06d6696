#include "codegen/cpu/nests/nest_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr int64_t work_per_task = 16384;  // elements: some microseconds, against one or two of handing out a task
constexpr int64_t tile_lanes = 64;        // accumulators of a tile of a parallel loop: 4 registers of AVX-512
constexpr int64_t reduce_lanes = 64;      // as many as hide the time that a fold takes
constexpr int64_t fewest_lanes = 4;       // a shorter loop is not worth vectorising
constexpr int64_t joined_rows = 4;        // that share their loads

// The largest value an extent takes, in terms of dims only: min(16, C - 16*b) is at most 16.
Expr upper_extent(const FlatLoop& loop) {
  if (loop.symbol.info().extent) return *loop.symbol.info().extent;
  return loop.extent;
}

Expr iterations(const std::vector<FlatLoop>& loops, size_t first, size_t last) {
  Expr result = 1;
  for (size_t i = first; i < last; ++i) result *= upper_extent(loops[i]);
  return result;
}

bool converts_float16(const FlatNest& nest) {
  bool found = std::ranges::any_of(nest.stores, [](const FlatStore& store) { return store.dtype == DType::float16; });
  for_each_scalar(nest, [&](const Scalar& scalar) {
    visit(scalar, [&](const ScalarNode& node) { found |= node.dtype == DType::float16; });
  });
  return found;
}

class Scheduler {
 public:
  Scheduler(FlatNest nest, const machine::VectorUnit& vectors) : vectors_(vectors) { result_.nest = std::move(nest); }

  NestSchedule run() {
    calls_strings_ = calls([](StringFunction) { return true; });
    sort_loops_by_kind();
    order_by_store();
    order_reduce();
    merge_loops(parallel_, result_.nest);
    if (!keeps_reduce_order()) merge_loops(result_.reduce, result_.nest);
    choose_reduction();
    if (ordered_.empty() && !calls_strings_) result_.tiles = tile_transposed_loads(parallel_, nest());
    place_ordered();
    make_tasks();
    if (result_.vectorises && result_.reduction == ReductionForm::none && result_.tiles.empty())
      result_.clamped = name_clamped_indices(result_.outer.back().symbol, nest());
    return std::move(result_);
  }

 private:
  FlatNest& nest() { return result_.nest; }

  void sort_loops_by_kind() {
    split_periodic_loops(nest());
    drop_single_iterations(nest());
    for (const FlatLoop& loop : nest().loops) {
      if (loop.kind == AxisKind::parallel)
        parallel_.push_back(loop);
      else if (loop.kind == AxisKind::ordered)
        ordered_.push_back(loop);
      else
        result_.reduce.push_back(loop);
    }
    nest().loops.clear();
  }

  void order_by_store() {
    if (!nest().stores.empty()) order_by_offset(parallel_, nest().stores[0].offset);
  }

  // The first of equal extremes is the first in the order of the loops.
  bool keeps_reduce_order() {
    return std::ranges::any_of(nest().accumulators, is_argument_reduction, &Accumulator::kind);
  }

  void order_reduce() {
    if (keeps_reduce_order() || result_.reduce.size() < 2) return;
    // Chosen by the load that varies with most of the reduce loops.
    Expr offset;
    size_t most = 0;
    for_each_load([&](const Expr& load) {
      const size_t count = static_cast<size_t>(std::ranges::count_if(
          result_.reduce, [&](const FlatLoop& loop) { return load.symbols().contains(loop.symbol); }));
      if (count > most) {
        most = count;
        offset = load;
      }
    });
    order_by_offset(result_.reduce, offset);
  }

  // The offsets of the loads of the accumulators' elements.
  void for_each_load(const std::function<void(const Expr&)>& action) {
    for (const Accumulator& accumulator : nest().accumulators)
      visit(accumulator.element, [&](const ScalarNode& node) {
        if (node.op == ScalarOp::load) action(node.indices.at(0));
      });
  }

  // Counts the loads that each fold makes; a value that does not vary with the reduce loops, such as a mean, is read
  // before them.
  int contiguous_loads(const Symbol& symbol) {
    int count = 0;
    for_each_load([&](const Expr& offset) {
      const bool varies = std::ranges::any_of(
          result_.reduce, [&](const FlatLoop& loop) { return offset.symbols().contains(loop.symbol); });
      count += varies && moves_by_one(offset, symbol) ? 1 : 0;
    });
    return count;
  }

  bool calls(bool (*is_one)(StringFunction)) {
    bool found = false;
    for_each_scalar(nest(), [&](const Scalar& scalar) { found |= calls_string_function(scalar, is_one); });
    return found;
  }

  void choose_reduction() {
    result_.vectorises = !parallel_.empty() && !calls_strings_;
    if (nest().accumulators.empty()) return;
    result_.vectorises = false;
    if (calls_strings_) {
      result_.reduction = ReductionForm::scalar;
      return;
    }
    const bool has_reduce = !result_.reduce.empty();
    const int along_reduce = has_reduce ? contiguous_loads(result_.reduce.back().symbol) : 0;
    const bool long_parallel = !parallel_.empty() && estimate(parallel_.back().extent) >= fewest_lanes;
    if (long_parallel && contiguous_loads(parallel_.back().symbol) >= std::max(along_reduce, 1)) {
      result_.reduction = ReductionForm::parallel_lanes;
      const std::optional<size_t> row = find_row_loop();
      make_tile(row ? lanes_of_rows() : tile_lanes);
      if (row) parallel_[*row] = join_iterations(parallel_[*row], joined_rows, nest());
    } else if (has_reduce && !keeps_reduce_order() && estimate(result_.reduce.back().extent) >= 2 * fewest_lanes) {
      result_.reduction = ReductionForm::reduce_lanes;
      result_.lanes = lanes_along(result_.reduce.back());
    } else if (takes_position_in_loop() && estimate(result_.reduce.back().extent) >= 2 * fewest_lanes) {
      result_.reduction = ReductionForm::extreme_lanes;
      result_.lanes = lanes_along(result_.reduce.back());
    } else {
      result_.reduction = ReductionForm::scalar;
    }
  }

  // A power of two; a loop of known length has at least one step of it.
  static int64_t lanes_along(const FlatLoop& loop) {
    const int64_t extent = std::max(loop.extent.constant().value_or(reduce_lanes), int64_t{1});
    return std::min(reduce_lanes, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(extent))));
  }

  // Whether all accumulators are the positions of extremes in the one reduce loop.
  bool takes_position_in_loop() {
    return result_.reduce.size() == 1 && std::ranges::all_of(nest().accumulators, [&](const Accumulator& accumulator) {
             return is_argument_reduction(accumulator.kind) && accumulator.position == Expr(result_.reduce[0].symbol);
           });
  }

  // A parallel loop whose iterations, of a known number, read the same elements along the innermost one.
  std::optional<size_t> find_row_loop() {
    if (nest().accumulators.size() != 1 || keeps_reduce_order() || !nest().lets.empty()) return std::nullopt;
    if (!ordered_.empty() || nest().stores.size() != 1) return std::nullopt;
    const FlatStore& store = nest().stores.front();
    if (store.kind != StoreKind::assign || store.condition || store.inside || loads_what_it_stores())
      return std::nullopt;
    for (size_t i = parallel_.size() - 1; i-- > 0;) {
      const int64_t rows = parallel_[i].extent.constant().value_or(0);
      if (rows < joined_rows || (rows % joined_rows != 0 && rows < 2 * joined_rows)) continue;
      if (!bounds_another(parallel_[i], parallel_) && shares_lanes(parallel_[i].symbol)) return i;
    }
    return std::nullopt;
  }

  bool loads_what_it_stores() {
    bool result = false;
    for_each_scalar(nest(), [&](const Scalar& scalar) {
      visit(scalar, [&](const ScalarNode& node) {
        result |= node.op == ScalarOp::load && node.buffer == nest().stores.front().storage;
      });
    });
    return result;
  }

  // Whether the loads that are contiguous along the lanes are the same in all iterations of a loop, and others are not.
  bool shares_lanes(const Symbol& row) {
    bool are_shared = true, has_own = false;
    for_each_load([&](const Expr& offset) {
      const bool varies = offset.symbols().contains(row);
      if (offset.symbols().contains(parallel_.back().symbol))
        are_shared &= !varies && moves_by_one(offset, parallel_.back().symbol);
      else
        has_own |= varies;
    });
    return are_shared && has_own;
  }

  // As many as fill the registers together with their rows, and leave some for what is loaded.
  int64_t lanes_of_rows() {
    const int64_t registers = vectors_.has_many_registers() ? 4 : 2;
    const int64_t bytes = int64_t{vectors_.lanes} * 4;
    return registers * bytes / element_size(nest().accumulators.front().dtype);
  }

  // The innermost parallel loop as one of a fixed number of lanes, at most `most`.
  void make_tile(int64_t most) {
    const FlatLoop& innermost = parallel_.back();
    const auto extent = innermost.extent.constant();
    if (extent && *extent <= most) {
      result_.lanes = *extent;
    } else if (!extent && upper_extent(innermost).constant().value_or(most + 1) <= most) {
      result_.lanes = *upper_extent(innermost).constant();  // the lanes of a block, some of them missing in the last
    } else {
      auto [tile, within] = tile_loop(innermost, most, nest());
      parallel_.back() = tile;
      parallel_.push_back(within);
      result_.lanes = most;
    }
    result_.vectorises = true;
  }

  void place_ordered() {
    result_.outer = parallel_;
    if (ordered_.empty()) return;
    const bool innermost_is_long = !parallel_.empty() && estimate(parallel_.back().extent) >= fewest_lanes;
    const bool innermost_stores_next_to_each_other =
        innermost_is_long && std::ranges::all_of(nest().stores, [&](const FlatStore& store) {
          return moves_by_one(store.offset, parallel_.back().symbol);
        });
    result_.vectorises &= innermost_stores_next_to_each_other;
    auto place = innermost_stores_next_to_each_other || result_.reduction == ReductionForm::parallel_lanes
                     ? result_.outer.end() - 1
                     : result_.outer.end();
    result_.outer.insert(place, ordered_.begin(), ordered_.end());
  }

  void make_tasks() {
    if (calls(makes_strings)) return;
    const int64_t reduce_work = estimate(result_.reduce);
    // Loops that may be shared: parallel ones outside of all others, but not the lanes of a tile, nor its rows.
    size_t shared = 0;
    const size_t inside_tile = !result_.tiles.empty() ? 2 : result_.reduction == ReductionForm::parallel_lanes ? 1 : 0;
    const size_t limit = result_.outer.size() - inside_tile;
    while (shared < limit && result_.outer[shared].kind == AxisKind::parallel) ++shared;
    // An extent that depends on another loop cannot be cut into tasks of its own.
    for (size_t i = 0; i < shared; ++i)
      if (upper_extent(result_.outer[i]) != result_.outer[i].extent) shared = i;
    if (shared == 0) return;
    size_t last = 0;
    while (last + 1 < shared && estimate(result_.outer, last + 1) * reduce_work >= work_per_task) ++last;
    result_.task_loops = last + 1;
    const Expr inner_work = iterations(result_.outer, last + 1, result_.outer.size()) *
                            iterations(result_.reduce, 0, result_.reduce.size());
    result_.grain = max(1, floor_div(work_per_task, max(1, inner_work)));
    result_.tasks = iterations(result_.outer, 0, last) * ceil_div(result_.outer[last].extent, result_.grain);
  }

  const machine::VectorUnit& vectors_;
  NestSchedule result_;
  bool calls_strings_ = false;
  std::vector<FlatLoop> parallel_, ordered_;
};

std::string print_loops(const std::vector<FlatLoop>& loops, size_t first, size_t last) {
  std::string text;
  for (size_t i = first; i < last; ++i)
    text += fmt::format("{}{}<{}{}", i > first ? ", " : "", loops[i].symbol.name(), loops[i].extent.to_string(),
                        loops[i].kind == AxisKind::ordered ? " ordered" : "");
  return text;
}

}  // namespace

NestSchedule schedule(FlatNest nest, const machine::VectorUnit& vectors) {
  const bool converts = converts_float16(nest);
  NestSchedule result = Scheduler(std::move(nest), vectors).run();
  result.vector_lanes = vectors.lanes;
  result.sets_width = converts;
  return result;
}

std::string to_string(const NestSchedule& schedule) {
  constexpr std::array forms = {"", "scalar", "parallel lanes", "reduce lanes", "extreme lanes"};
  std::string text =
      fmt::format("tasks {}: {}", schedule.tasks.to_string(), print_loops(schedule.outer, 0, schedule.task_loops));
  if (!schedule.grain.is_constant(1)) text += fmt::format(" by {}", schedule.grain.to_string());
  text += fmt::format("\nloops: {}{}\n", print_loops(schedule.outer, schedule.task_loops, schedule.outer.size()),
                      schedule.vectorises ? " vectorised" : "");
  if (schedule.reduction != ReductionForm::none)
    text += fmt::format("reduce {} in {} x {}\n", print_loops(schedule.reduce, 0, schedule.reduce.size()),
                        forms[static_cast<size_t>(schedule.reduction)], schedule.lanes);
  for (const TransposedTile& tile : schedule.tiles)
    text += fmt::format("tile b{} of b{} from {} by {}\n", tile.memory, tile.storage, tile.first.to_string(),
                        tile.stride.to_string());
  for (const ClampedIndex& index : schedule.clamped)
    text += fmt::format("{} = min({}, {})\n", index.symbol.name(), index.bound.to_string(),
                        schedule.outer.back().symbol.name());
  return text + to_string(schedule.nest);
}

}  // namespace onnxc
