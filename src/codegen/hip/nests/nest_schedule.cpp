#include "codegen/hip/nests/nest_schedule.h"

#include <algorithm>

#include "codegen/nests/loop_transforms.h"
#include "ir/loops/operations.h"
#include "kernels/hip/wave/launch.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using machine::GpuMachine;

constexpr int64_t shortest_shared_reduction = 64;
constexpr int64_t fewest_point_threads = 8;  // that share a reduction
constexpr int64_t shortest_scan = 32;        // a thread walks a shorter one by itself

// So many blocks for each compute unit, a thread a point.
int64_t enough_points(const GpuMachine& gpu) { return gpu.compute_units * int64_t{kernels::nest_threads} * 2; }
// Threads that share reductions: more, that one waits while others work.
int64_t enough_sharing_threads(const GpuMachine& gpu) { return gpu.compute_units * int64_t{kernels::nest_threads} * 4; }

bool depends_on_order(const FlatNest& nest) {
  return std::ranges::any_of(nest.accumulators, is_argument_reduction, &Accumulator::kind);
}

Expr iterations(const std::vector<FlatLoop>& loops) {
  Expr count = 1;
  for (const FlatLoop& loop : loops) count *= loop.extent;
  return count;
}

bool depends_on_another(const FlatLoop& loop, const std::vector<FlatLoop>& loops) {
  return std::ranges::any_of(loops,
                             [&](const FlatLoop& other) { return loop.extent.symbols().contains(other.symbol); });
}

DeviceSchedule::Form choose_form(const DeviceSchedule& schedule, const GpuMachine& gpu) {
  using enum DeviceSchedule::Form;
  // The lanes of the last block of channels are as many as the block leaves: elements cannot be numbered.
  const bool is_ragged = std::ranges::any_of(
      schedule.reduce, [&](const FlatLoop& loop) { return depends_on_another(loop, schedule.reduce); });
  if (schedule.nest.accumulators.empty() || !schedule.ordered.empty() || is_ragged) return thread_a_point;
  const auto points = estimate(schedule.points), elements = estimate(schedule.reduce);
  const bool is_shared = points < enough_points(gpu) && elements >= shortest_shared_reduction;
  return is_shared ? threads_a_point : thread_a_point;
}

// For a reduction that is shared: those of a block, or fewer if there are enough points.
int64_t choose_point_threads(const DeviceSchedule& schedule, const GpuMachine& gpu) {
  int64_t threads = kernels::nest_threads;
  if (!schedule.ragged.empty()) return threads;  // points that do not exist are left out together
  const double points = estimate(schedule.points);
  while (threads > fewest_point_threads &&
         points * static_cast<double>(threads / 2) >= static_cast<double>(enough_sharing_threads(gpu)))
    threads /= 2;
  return threads;
}

// Inner loops of a few known iterations are a thread's own, if the others share out evenly.
size_t choose_own_loops(const DeviceSchedule& schedule) {
  constexpr int64_t most_own = 64;
  if (depends_on_order(schedule.nest)) return 0;  // whose elements are numbered
  size_t own = 0, best = 0;
  int64_t own_count = 1;
  while (own + 1 < schedule.reduce.size()) {
    const std::optional<int64_t> extent = schedule.reduce[schedule.reduce.size() - 1 - own].extent.constant();
    if (!extent || *extent <= 0 || own_count * *extent > most_own) break;
    own_count *= *extent;
    ++own;
    const Expr shared = iterations({schedule.reduce.begin(), schedule.reduce.end() - static_cast<long>(own)});
    const std::optional<int64_t> count = shared.constant();
    if (estimate(shared) >= static_cast<double>(4 * schedule.point_threads) ||
        (count && *count % schedule.point_threads == 0))
      best = own;
  }
  return best;
}

// Whether neighbours along the loop are neighbours in what an accumulator loads.
bool loads_along(const FlatLoop& loop, const FlatNest& nest) {
  bool found = false;
  for (const Accumulator& accumulator : nest.accumulators)
    visit(accumulator.element, [&](const ScalarNode& node) {
      found = found || (node.op == ScalarOp::load && moves_by_one(node.indices.front(), loop.symbol));
    });
  return found;
}

// The running fold of the one ordered loop, if it is long enough for a block.
std::optional<RunningFold> find_scan(const DeviceSchedule& schedule) {
  const FlatNest& nest = schedule.nest;
  if (schedule.ordered.size() != 1 || !schedule.reduce.empty() || !schedule.ragged.empty() || !nest.lets.empty() ||
      !nest.accumulators.empty() || nest.stores.size() != 1)
    return std::nullopt;
  const FlatStore& store = nest.stores.front();
  if (store.kind != StoreKind::assign || store.inside) return std::nullopt;
  if (estimate(schedule.ordered.front().extent) < shortest_scan) return std::nullopt;
  return as_running_fold(schedule.ordered.front().symbol, store.storage, {store.offset}, store.value);
}

// Whether the ordered loops may run in any order when their stores are atomic.
bool stores_in_any_order(const FlatNest& nest) {
  return nest.accumulators.empty() && std::ranges::all_of(nest.stores, [&](const FlatStore& store) {
           bool is_read = false;
           for_each_scalar(nest, [&](const Scalar& scalar) { is_read |= loads_from(store.storage, scalar); });
           return is_order_free(store.kind, store.dtype) && !store.inside && !is_read;
         });
}

// Loops that neither are bounded by another one nor bound one.
bool is_free(const FlatLoop& loop, const std::vector<FlatLoop>& loops) {
  return !depends_on_another(loop, loops) && !bounds_another(loop, loops);
}

// Makes one loop of adjacent ones, but of none that a ragged one is bounded by.
void merge_free_loops(std::vector<FlatLoop>& loops, FlatNest& nest) {
  std::vector<FlatLoop> merged;
  for (size_t i = 0; i < loops.size();) {
    std::vector<FlatLoop> run;
    while (i < loops.size() && is_free(loops[i], loops)) run.push_back(loops[i++]);
    merge_loops(run, nest);
    merged.insert(merged.end(), run.begin(), run.end());
    if (i < loops.size()) merged.push_back(loops[i++]);
  }
  loops = std::move(merged);
}

// Gives loops that another one bounds the extent that they have at most, and notes them with their own.
void fill_ragged_loops(std::vector<FlatLoop>& loops, std::vector<FlatLoop>& ragged) {
  const std::vector<FlatLoop> bounded = loops;
  for (FlatLoop& loop : loops) {
    if (!depends_on_another(loop, bounded)) continue;
    internal_check(loop.kind == AxisKind::parallel && loop.symbol.info().extent != nullptr,
                   "a loop of a device nest that has an upper bound");
    ragged.push_back(loop);
    loop.extent = *loop.symbol.info().extent;
  }
}

// ------------------------------------------------------------------------------------------------------------ tiles

constexpr int64_t shortest_tiled_loop = 8;  // a shorter one leaves whole cache lines to few threads anyway
constexpr int64_t lds_banks = 32, bank_bytes = 4;

// The loop that neighbours in memory differ by.
const FlatLoop* fastest_loop(const Expr& offset, const std::vector<FlatLoop>& loops) {
  const auto found =
      std::ranges::find_if(loops, [&](const FlatLoop& loop) { return moves_by_one(offset, loop.symbol); });
  return found == loops.end() ? nullptr : &*found;
}

int64_t tile_size(const Expr& extent, int64_t largest) {
  int64_t size = 16;
  while (size < largest && size < estimate(extent)) size *= 2;
  return size;
}

bool loads_anything(const Scalar& scalar) {
  bool result = false;
  if (scalar) visit(scalar, [&](const ScalarNode& node) { result |= node.op == ScalarOp::load; });
  return result;
}

// The two loops to exchange, if that makes more loads run along memory than it makes run across it.
std::optional<TransposeTile> find_tile(const DeviceSchedule& schedule, const FlatNest& nest) {
  if (nest.stores.size() != 1 || !nest.accumulators.empty() || !nest.lets.empty() || !schedule.ordered.empty() ||
      !schedule.reduce.empty())
    return std::nullopt;
  const FlatStore& store = nest.stores.front();
  if (store.kind != StoreKind::assign || loads_anything(store.condition) || loads_anything(store.inside))
    return std::nullopt;
  const FlatLoop* along_store = fastest_loop(store.offset, schedule.points);
  if (along_store == nullptr) return std::nullopt;
  std::map<const FlatLoop*, int64_t> gains;
  int64_t losses = 0;
  visit(store.value, [&](const ScalarNode& node) {
    if (node.op != ScalarOp::load) return;
    const Expr& offset = node.indices.front();
    if (!offset.symbols().contains(along_store->symbol)) return;
    const FlatLoop* along_load = fastest_loop(offset, schedule.points);
    if (along_load == along_store) ++losses;
    if (along_load != nullptr && along_load != along_store) ++gains[along_load];
  });
  const auto best = std::ranges::max_element(gains, {}, [](const auto& gain) { return gain.second; });
  if (best == gains.end() || best->second <= losses) return std::nullopt;
  const FlatLoop& store_loop = *along_store;
  const FlatLoop& load_loop = *best->first;
  if (std::min(estimate(store_loop.extent), estimate(load_loop.extent)) < shortest_tiled_loop) return std::nullopt;
  for (const FlatLoop& loop : schedule.ragged)
    for (const FlatLoop& exchanged : {store_loop, load_loop})
      if (loop.extent.symbols().contains(exchanged.symbol)) return std::nullopt;
  // A tile that is narrow one way is long the other.
  int64_t store_size = tile_size(store_loop.extent, 64), load_size = tile_size(load_loop.extent, 64);
  if (store_size == 16) load_size = tile_size(load_loop.extent, 128);
  if (load_size == 16) store_size = tile_size(store_loop.extent, 128);
  auto tiles = [](const FlatLoop& loop, int64_t size) {
    return Symbol::axis(loop.symbol.name() + "_tile", ceil_div(loop.extent, size));
  };
  return TransposeTile{store_loop,
                       load_loop,
                       store_size,
                       load_size,
                       tiles(store_loop, store_size),
                       tiles(load_loop, load_size),
                       element_size(store.dtype)};
}

// The loops of the tile give way to those over its tiles.
void take_tiles(DeviceSchedule& schedule) {
  const TransposeTile& tile = *schedule.tile;
  std::erase_if(schedule.points, [&](const FlatLoop& loop) { return tile.exchanges(loop.symbol); });
  for (const Symbol& symbol : {tile.load_tile, tile.store_tile})
    schedule.points.push_back({symbol, *symbol.info().extent, AxisKind::parallel});
  schedule.form = DeviceSchedule::Form::block_a_tile;
}

}  // namespace

// Neighbours along a row are on neighbouring banks. Across the rows, the threads that LDS serves at a time are as many
// rows as there are, and next to each other in as many columns as the banks have room for.
int64_t TransposeTile::row_stride() const {
  const int64_t rows = std::min(store_size, load_size), columns = std::max(store_size, load_size);
  const int64_t padding =
      std::max<int64_t>({1, lds_banks * bank_bytes / (rows * element_size), bank_bytes / element_size});
  return columns + padding;
}

int64_t TransposeTile::rounds() const { return store_size * load_size / kernels::nest_threads; }
int64_t TransposeTile::lds_elements() const { return std::min(store_size, load_size) * row_stride(); }

int64_t DeviceSchedule::points_a_block() const { return kernels::nest_threads / point_threads; }
Expr DeviceSchedule::point_count() const { return iterations(points); }
Expr DeviceSchedule::shared_count() const { return iterations(shared_loops()); }

DeviceSchedule schedule_for_device(FlatNest nest, const GpuMachine& gpu) {
  DeviceSchedule schedule;
  drop_single_iterations(nest);
  schedule.has_atomic_stores =
      std::ranges::count(nest.loops, AxisKind::ordered, &FlatLoop::kind) > 0 && stores_in_any_order(nest);
  for (FlatLoop& loop : nest.loops) {
    if (schedule.has_atomic_stores) loop.kind = AxisKind::parallel;
    std::vector<FlatLoop>& kind = loop.kind == AxisKind::parallel  ? schedule.points
                                  : loop.kind == AxisKind::ordered ? schedule.ordered
                                                                   : schedule.reduce;
    kind.push_back(loop);
  }
  nest.loops.clear();
  if (!nest.stores.empty()) order_by_offset(schedule.points, nest.stores[0].offset);
  merge_free_loops(schedule.points, nest);
  if (!depends_on_order(nest)) merge_loops(schedule.reduce, nest);
  for (std::vector<FlatLoop>* loops : {&schedule.points, &schedule.ordered}) fill_ragged_loops(*loops, schedule.ragged);
  schedule.nest = std::move(nest);
  schedule.tile = find_tile(schedule, schedule.nest);
  if (schedule.tile)
    take_tiles(schedule);
  else if ((schedule.scan = find_scan(schedule)))
    schedule.form = DeviceSchedule::Form::block_a_scan;
  else
    schedule.form = choose_form(schedule, gpu);
  if (schedule.form == DeviceSchedule::Form::threads_a_point) {
    schedule.point_threads = choose_point_threads(schedule, gpu);
    schedule.own_loops = choose_own_loops(schedule);
    schedule.are_points_adjacent = !schedule.points.empty() && loads_along(schedule.points.back(), schedule.nest);
  }
  return schedule;
}

}  // namespace onnxc
