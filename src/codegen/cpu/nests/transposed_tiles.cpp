#include "codegen/cpu/nests/transposed_tiles.h"

#include <algorithm>
#include <unordered_set>

#include "codegen/nests/loop_transforms.h"
#include "kernels/cpu/vector/transposed_tile_sizes.h"

namespace onnxc {
namespace {

constexpr int64_t fewest_rows = 4, fewest_columns = 4;  // below, a tile costs more than it saves

// The loads that a value makes whatever its selects choose, each node once.
void add_certain_loads(const Scalar& value, std::unordered_set<const ScalarNode*>& seen,
                       std::vector<const ScalarNode*>& loads) {
  if (!seen.insert(&*value).second) return;
  if (value->op == ScalarOp::load) loads.push_back(&*value);
  const size_t certain = value->op == ScalarOp::select ? 1 : value->operands.size();
  for (size_t i = 0; i < certain; ++i) add_certain_loads(value->operands[i], seen, loads);
}

class TransposedLoads {
 public:
  TransposedLoads(std::vector<FlatLoop>& loops, FlatNest& nest) : loops_(loops), nest_(nest) {
    for (const Let& let : nest.lets) lets_.insert(let.symbol);
  }

  std::vector<TransposedTile> tile() {
    if (loops_.size() < 2 || !has_plain_stores() || estimate(loops_.back().extent) < fewest_columns) return {};
    const std::optional<size_t> row = row_loop();
    if (!row) return {};
    make_loops(*row);
    return read_by_tiles();
  }

 private:
  bool has_plain_stores() const {
    return nest_.accumulators.empty() && !nest_.stores.empty() &&
           std::ranges::all_of(nest_.stores, [&](const FlatStore& store) {
             return store.kind == StoreKind::assign && !store.condition && !store.inside &&
                    moves_by_one(store.offset, loops_.back().symbol);
           });
  }

  void for_each_load(const std::function<void(const ScalarNode&)>& action) const {
    std::unordered_set<const ScalarNode*> seen;
    std::vector<const ScalarNode*> loads;
    for (const FlatStore& store : nest_.stores) add_certain_loads(store.value, seen, loads);
    for (const ScalarNode* load : loads) action(*load);
  }

  bool is_stored(BufferId storage) const {
    return std::ranges::any_of(nest_.stores, [&](const FlatStore& store) { return store.storage == storage; });
  }

  // How far apart the elements of two neighbours along `column` are, where those of neighbours along `row` follow one
  // another; nothing for a load of another kind.
  std::optional<Expr> transposed_stride(const ScalarNode& load, const Symbol& row, const Symbol& column) const {
    const Expr& offset = load.indices.at(0);
    const std::set<Symbol> symbols = offset.symbols();
    if (is_stored(load.buffer) || !symbols.contains(column) || !moves_by_one(offset, row)) return std::nullopt;
    if (std::ranges::any_of(symbols, [&](const Symbol& symbol) { return lets_.contains(symbol); })) return std::nullopt;
    std::optional<Expr> stride = coefficient(offset, column);
    if (!stride || stride->is_constant(1) || stride->symbols().contains(row) || stride->symbols().contains(column))
      return std::nullopt;
    return stride;
  }

  // The loop along which most of the transposed loads run through memory.
  std::optional<size_t> row_loop() const {
    if (bounds_another(loops_.back(), loops_)) return std::nullopt;
    std::optional<size_t> best;
    int64_t most = 0;
    for (size_t i = 0; i + 1 < loops_.size(); ++i) {
      if (estimate(loops_[i].extent) < fewest_rows || bounds_another(loops_[i], loops_)) continue;
      int64_t count = 0;
      for_each_load([&](const ScalarNode& load) {
        count += transposed_stride(load, loops_[i].symbol, loops_.back().symbol) ? 1 : 0;
      });
      if (count > most) {
        most = count;
        best = i;
      }
    }
    return best;
  }

  void make_loops(size_t row) {
    const FlatLoop rows = loops_[row], columns = loops_.back();
    int64_t widest = 1;  // of the types that are read by tiles
    for_each_load([&](const ScalarNode& load) {
      if (transposed_stride(load, rows.symbol, columns.symbol)) widest = std::max(widest, element_size(load.dtype));
    });
    loops_.pop_back();
    loops_.erase(loops_.begin() + static_cast<std::ptrdiff_t>(row));
    rows_ = tiled(rows, kernels::tile_rows(widest));
    columns_ = tiled(columns, kernels::tile_columns);
    loops_.push_back(*rows_);
    loops_.push_back(*columns_);
  }

  // The loop inside a tile; that over tiles, if there is more than one, is added to the loops.
  FlatLoop tiled(const FlatLoop& loop, int64_t size) {
    if (loop.symbol.info().bounds.maximum < size) return loop;
    const auto [tiles, within] = tile_loop(loop, size, nest_);
    loops_.push_back(tiles);
    return within;
  }

  std::vector<TransposedTile> read_by_tiles() {
    std::vector<TransposedTile> tiles;
    std::map<std::pair<BufferId, std::string>, Scalar> loads;  // by storage and offset: what is read in their place
    BufferId next = 0;
    for_each_scalar(nest_, [&](const Scalar& scalar) {
      visit(scalar, [&](const ScalarNode& node) { next = std::max(next, node.buffer + 1); });
    });
    for (const FlatStore& store : nest_.stores) next = std::max(next, store.storage + 1);
    const Symbol &row = rows_->symbol, &column = columns_->symbol;
    for_each_load([&](const ScalarNode& load) {
      const std::optional<Expr> stride = transposed_stride(load, row, column);
      if (!stride) return;
      const Expr& offset = load.indices.at(0);
      const auto [place, is_new] = loads.try_emplace({load.buffer, offset.to_string()});
      if (!is_new) return;
      tiles.push_back({next, load.buffer, load.dtype, offset.substitute({{row, 0}, {column, 0}}), *stride});
      place->second = scalar::load(load.dtype, next++, {Expr(row) * kernels::tile_columns + column});
    });
    for (FlatStore& store : nest_.stores)
      store.value = replace_loads(store.value, [&](const ScalarNode& load) {
        const auto found = loads.find({load.buffer, load.indices.at(0).to_string()});
        return found != loads.end() ? found->second
                                    : scalar::load(load.dtype, load.buffer, load.indices, load.in_bounds);
      });
    return tiles;
  }

  std::vector<FlatLoop>& loops_;
  FlatNest& nest_;
  std::set<Symbol> lets_;
  std::optional<FlatLoop> rows_, columns_;
};

}  // namespace

std::vector<TransposedTile> tile_transposed_loads(std::vector<FlatLoop>& loops, FlatNest& nest) {
  return TransposedLoads(loops, nest).tile();
}

}  // namespace onnxc
