#include "codegen/hip/nests/nest_printer.h"

#include <cctype>

#include "codegen/text/accumulator_text.h"
#include "kernels/hip/wave/launch.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

std::string arguments_type(const std::string& name) {
  std::string type = name + "_arguments";
  type[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(type[0])));
  return type;
}

// The dims that the nest needs at run time, in the order of the model's symbols.
std::vector<Symbol> dims_of(const DeviceSchedule& schedule, const ModelNames& names) {
  std::set<Symbol> used;
  for_each_expr(schedule.nest, [&](const Expr& expr) { used.merge(expr.symbols()); });
  for (const std::vector<FlatLoop>* loops : {&schedule.points, &schedule.ordered, &schedule.reduce, &schedule.ragged})
    for (const FlatLoop& loop : *loops) used.merge(loop.extent.symbols());
  if (schedule.tile)
    for (const FlatLoop& loop : {schedule.tile->store, schedule.tile->load}) used.merge(loop.extent.symbols());
  std::vector<Symbol> dims;
  for (const auto& [symbol, name] : names.symbols)
    if (used.contains(symbol)) dims.push_back(symbol);
  return dims;
}

class KernelPrinter {
 public:
  KernelPrinter(TextWriter& writer, const DeviceSchedule& schedule, const ModelNames& names)
      : writer_(writer),
        schedule_(schedule),
        nest_(schedule.nest),
        names_(names),
        scope_(writer, schedule.nest, names) {
    scope_.name_loops(schedule.points);
    scope_.name_loops(schedule.ordered);
    scope_.name_loops(schedule.reduce);
    if (schedule.tile) scope_.name_loops({schedule.tile->store, schedule.tile->load});
    for (size_t i = 0; i < nest_.accumulators.size(); ++i)
      accumulators_.emplace_back(nest_.accumulators[i], i, scope_.dialect());
  }

  void print(const std::string& name) {
    const std::vector<Symbol> dims = dims_of(schedule_, names_);
    auto kernel = writer_.scope(fmt::format(
        "extern \"C\" __global__ __launch_bounds__(nest_threads) void {}({} arguments)", name, arguments_type(name)));
    for (const auto& [storage, type] : scope_.storages()) {
      writer_.line(fmt::format("{0}* const b{1} = arguments.b{1};", type, storage));
      scope_.name_pointer(storage, fmt::format("b{}", storage));
    }
    for (const Symbol& dim : dims)
      writer_.line(fmt::format("const int64_t {0} = arguments.{0};", names_.symbols.at(dim)));
    scope_.print_lets();
    if (schedule_.tile)
      print_tiles();
    else if (schedule_.scan)
      print_scans();
    else
      print_points();
  }

 private:
  bool shares_reduction() const { return schedule_.form == DeviceSchedule::Form::threads_a_point; }
  bool is_of_whole_block() const { return schedule_.point_threads == kernels::nest_threads; }
  // The number of a thread among those of its point.
  std::string member() const {
    if (is_of_whole_block()) return "thread_index()";
    return schedule_.are_points_adjacent ? fmt::format("thread_index() / {}", schedule_.points_a_block())
                                         : fmt::format("thread_index() % {}", schedule_.point_threads);
  }
  std::string sharing_threads() const {
    return fmt::format("{}, {}", schedule_.point_threads, schedule_.thread_stride());
  }

  void print_points() {
    if (shares_reduction() && !is_of_whole_block()) return print_groups_of_points();
    auto loop = point_loop(shares_reduction() ? "block_index()" : "block_index() * nest_threads + thread_index()");
    const NestScope::Block block(scope_);
    print_indices(schedule_.points, "point");
    print_ragged_ends();
    scope_.print_lets();
    print_ordered(0);
  }

  // Some points of a block at a time: all its threads go on together.
  void print_groups_of_points() {
    auto loop = writer_.scope(fmt::format(
        "for (int64_t first = block_index() * {}; first < arguments.points; first += arguments.point_stride)",
        schedule_.points_a_block()));
    const NestScope::Block block(scope_);
    writer_.line(schedule_.are_points_adjacent
                     ? fmt::format("const int64_t own = first + thread_index() % {};", schedule_.points_a_block())
                     : fmt::format("const int64_t own = first + thread_index() / {};", schedule_.point_threads));
    writer_.line("const int64_t point = own < arguments.points ? own : arguments.points - 1;");
    print_indices(schedule_.points, "point");
    scope_.print_lets();
    print_ordered(0);
  }

  TextWriter::Scope point_loop(const char* first) {
    return writer_.scope(
        fmt::format("for (int64_t point = {}; point < arguments.points; point += arguments.point_stride)", first));
  }

  void print_ragged_ends() {
    for (const FlatLoop& lanes : schedule_.ragged)
      if (!schedule_.tile || !schedule_.tile->exchanges(lanes.symbol))
        writer_.line(fmt::format("if ({} >= {}) continue;", scope_.name(lanes), scope_.text(lanes.extent)));
  }

  // The iterations of `loops` out of their number; the last runs fastest. Divisions of 32 bits take a fraction of the
  // instructions of those of 64.
  void print_indices(const std::vector<FlatLoop>& loops, const std::string& number) {
    bool is_short = true;
    double count = 1;
    for (const FlatLoop& loop : loops) {
      is_short &= loop.extent.constant().has_value();
      count *= is_short ? static_cast<double>(*loop.extent.constant()) : 1;
    }
    is_short &= count < 0x1p32;
    std::string rest = number;
    if (loops.size() > 1) {
      rest = "rest_of_" + number;
      writer_.line(is_short ? fmt::format("uint32_t {} = static_cast<uint32_t>({});", rest, number)
                            : fmt::format("int64_t {} = {};", rest, number));
    }
    for (size_t i = loops.size(); i-- > 0;) {
      const FlatLoop& loop = loops[i];
      const std::string extent = scope_.text(loop.extent);
      const std::string& name = scope_.name(loop);
      scope_.make_available(loop.symbol);
      if (i == 0) {
        writer_.line(fmt::format("const int64_t {} = {};", name, rest));
      } else if (is_short) {
        writer_.line(fmt::format("const int64_t {} = {} % {}U;", name, rest, extent));
        writer_.line(fmt::format("{} /= {}U;", rest, extent));
      } else {
        const std::string quotient = "quotient_" + name;
        writer_.line(fmt::format("const int64_t {} = quotient({}, {});", quotient, rest, extent));
        writer_.line(fmt::format("const int64_t {} = {} - {} * ({});", name, rest, quotient, extent));
        writer_.line(fmt::format("{} = {};", rest, quotient));
      }
    }
  }

  // ---------------------------------------------------------------------------------------------------------- tiles

  void print_tiles() {
    const TransposeTile& tile = *schedule_.tile;
    const FlatStore& store = nest_.stores.front();
    const std::string type = scope_.dialect().storage_type(store.dtype);
    writer_.line(fmt::format("__shared__ {} tile[{}];", type, tile.lds_elements()));
    auto loop = point_loop("block_index()");
    const NestScope::Block block(scope_);
    print_indices(schedule_.points, "point");
    print_ragged_ends();
    print_tile_end("stored", tile.store, tile.store_size, tile.store_tile);
    print_tile_end("loaded", tile.load, tile.load_size, tile.load_tile);
    writer_.line(fmt::format("{} values[{}];", type, tile.rounds()));
    // Threads past the end of the tensor load its last element: without branches all loads are on their way at once.
    print_tile_rounds(tile.load, "within(along_stored, stored_end)", "within(along_loaded, loaded_end)", [&] {
      if (store.condition) writer_.line("values[round] = {};");
      print_conditional(store, [&] { writer_.line(fmt::format("values[round] = {};", text_of(store))); });
    });
    writer_.line("barrier();  // the block may still be storing its tile before");
    const auto [row, column] =
        tile.has_store_rows() ? std::pair("along_stored", "along_loaded") : std::pair("along_loaded", "along_stored");
    const std::string element = fmt::format("tile[{} * {} + {}]", row, tile.row_stride(), column);
    print_tile_rounds(tile.load, "", "", [&] { writer_.line(element + " = values[round];"); });
    writer_.line("barrier();");
    print_tile_rounds(tile.store, "along_stored", "along_loaded", [&] {
      writer_.line("if ((along_stored >= stored_end) | (along_loaded >= loaded_end)) continue;");
      print_conditional(store, [&] {
        writer_.line(fmt::format("{}[{}] = {};", scope_.pointer(store.storage), scope_.text(store.offset), element));
      });
    });
  }

  // How many of the tile's iterations of a loop there are.
  void print_tile_end(const char* name, const FlatLoop& loop, int64_t size, const Symbol& number) {
    Expr extent = loop.extent;
    for (const FlatLoop& lanes : schedule_.ragged)
      if (lanes.symbol == loop.symbol) extent = lanes.extent;
    writer_.line(fmt::format("const int {}_end = static_cast<int>({});", name,
                             scope_.text(min(size, extent - Expr(number) * size))));
  }

  // Each thread's elements of the tile, those of neighbouring threads next to each other along `fast`. `stored` and
  // `loaded` are the names of the loops' indices; empty if the body asks for none.
  void print_tile_rounds(const FlatLoop& fast, const std::string& stored, const std::string& loaded,
                         const std::function<void()>& body) {
    const TransposeTile& tile = *schedule_.tile;
    const bool is_store_fast = fast.symbol == tile.store.symbol;
    const int64_t fast_size = is_store_fast ? tile.store_size : tile.load_size;
    writer_.line("#pragma unroll");
    auto scope = writer_.scope(fmt::format("for (int round = 0; round < {}; ++round)", tile.rounds()));
    const NestScope::Block block(scope_);
    writer_.line("const int element = round * nest_threads + thread_index();");
    writer_.line(fmt::format("const int along_stored = element {} {};", is_store_fast ? "%" : "/", fast_size));
    writer_.line(fmt::format("const int along_loaded = element {} {};", is_store_fast ? "/" : "%", fast_size));
    auto declare_index = [&](const FlatLoop& loop, int64_t size, const Symbol& number, const std::string& along) {
      if (along.empty()) return;
      writer_.line(
          fmt::format("const int64_t {} = {} * {} + {};", scope_.name(loop), scope_.text(number), size, along));
      scope_.make_available(loop.symbol);
    };
    declare_index(tile.store, tile.store_size, tile.store_tile, stored);
    declare_index(tile.load, tile.load_size, tile.load_tile, loaded);
    body();
  }

  void print_ordered(size_t i) {
    if (i < schedule_.ordered.size()) {
      print_loop(schedule_.ordered[i], [&] { print_ordered(i + 1); });
      return;
    }
    if (!accumulators_.empty()) print_reduction();
    if (!shares_reduction()) {
      print_stores();
      return;
    }
    auto first_thread =
        writer_.scope(fmt::format("if ({} == 0{})", member(), is_of_whole_block() ? "" : " && own == point"));
    const NestScope::Block block(scope_);
    print_stores();
  }

  void print_loop(const FlatLoop& loop, const std::function<void()>& body) {
    auto scope = writer_.scope(
        fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", scope_.name(loop), scope_.text(loop.extent)));
    const NestScope::Block block(scope_);
    scope_.make_available(loop.symbol);
    scope_.print_lets();
    body();
  }

  // ---------------------------------------------------------------------------------------------------------- scans

  void print_scans() {
    const RunningFold& fold = *schedule_.scan;
    const FlatStore& store = nest_.stores.front();
    const FlatLoop& along = schedule_.ordered.front();
    const Accumulator accumulator{fold.op == ScalarOp::add ? ReduceKind::sum : ReduceKind::product,
                                  fold.element.dtype(), fold.element, 0};
    const AccumulatorText folding(accumulator, 0, scope_.dialect());
    const std::string type = folding.type();
    auto loop = point_loop("block_index()");
    const NestScope::Block block(scope_);
    print_indices(schedule_.points, "point");
    writer_.line(fmt::format("{} carried = {};", type, scope_.value(fold.start)));
    auto rounds = writer_.scope(
        fmt::format("for (int64_t first = 0; first < {}; first += nest_threads)", scope_.text(along.extent)));
    const NestScope::Block round(scope_);
    writer_.line(fmt::format("const int64_t {} = first + thread_index();", scope_.name(along)));
    scope_.make_available(along.symbol);
    writer_.line(fmt::format("{} element = {}, total;", type, folding.identity()));
    print_where_inside(along, store, [&] { writer_.line(fmt::format("element = {};", scope_.value(fold.element))); });
    writer_.line(fmt::format("element = scan_block(element, []({0} a, {0} b) -> {0} {{ return {1}; }}, total);", type,
                             folding.folded("a", "b")));
    print_where_inside(along, store, [&] {
      writer_.line(fmt::format("{}[{}] = {};", scope_.pointer(store.storage), scope_.text(store.offset),
                               scope_.dialect().stored(store.dtype, folding.folded("carried", "element"))));
    });
    writer_.line(fmt::format("carried = {};", folding.folded("carried", "total")));
  }

  // For the threads whose iteration exists, and stores.
  void print_where_inside(const FlatLoop& along, const FlatStore& store, const std::function<void()>& body) {
    auto inside = writer_.scope(fmt::format("if ({} < {})", scope_.name(along), scope_.text(along.extent)));
    const NestScope::Block block(scope_);
    print_conditional(store, body);
  }

  // ------------------------------------------------------------------------------------------------------ reductions

  void print_reduction() {
    for (const AccumulatorText& accumulator : accumulators_) {
      writer_.line(fmt::format("{} {} = {};", accumulator.type(), accumulator.name(), accumulator.identity()));
      if (!accumulator.has_extreme()) continue;
      writer_.line(fmt::format("{} {} = 0;", accumulator.extreme_type(), accumulator.extreme()));
      if (shares_reduction()) writer_.line(fmt::format("int64_t {} = 0;", accumulator.extreme_number()));
    }
    if (shares_reduction())
      print_shared_reduction();
    else
      print_reduce_loops(0);
    for (size_t i = 0; i < accumulators_.size(); ++i)
      scope_.set_accumulator(static_cast<int>(i), accumulators_[i].name());
  }

  void print_reduce_loops(size_t i) {
    if (i < schedule_.reduce.size())
      print_loop(schedule_.reduce[i], [&] { print_reduce_loops(i + 1); });
    else
      print_folds();
  }

  void print_shared_reduction() {
    {
      auto loop = writer_.scope(fmt::format(
          "for (int64_t element = {}; element < {}; element += {})", member(), scope_.text(schedule_.shared_count()),
          is_of_whole_block() ? "nest_threads" : std::to_string(schedule_.point_threads)));
      const NestScope::Block block(scope_);
      print_indices(schedule_.shared_loops(), "element");
      scope_.print_lets();
      print_reduce_loops(schedule_.reduce.size() - schedule_.own_loops);
    }
    for (const AccumulatorText& accumulator : accumulators_) {
      if (accumulator.has_extreme())
        writer_.line(fmt::format(
            "{0} = fold_extremes<{5}>(Extreme<{1}>{{{2}, {0}, {3}}}, []({1} extreme, {1} element) {{ return "
            "{4}; }}).position;",
            accumulator.name(), accumulator.extreme_type(), accumulator.extreme(), accumulator.extreme_number(),
            accumulator.replaced("extreme", "element"), sharing_threads()));
      else
        writer_.line(fmt::format("{0} = fold_block<{3}>({0}, []({1} a, {1} b) -> {1} {{ return {2}; }});",
                                 accumulator.name(), accumulator.type(), accumulator.folded("a", "b"),
                                 sharing_threads()));
    }
  }

  void print_folds() {
    for (const AccumulatorText& accumulator : accumulators_) {
      const std::string element = scope_.value(accumulator.accumulator().element);
      const std::string& name = accumulator.name();
      if (!accumulator.has_extreme()) {
        writer_.line(fmt::format("{} = {};", name, accumulator.folded(name, element)));
        continue;
      }
      auto taken =
          writer_.scope(fmt::format("if (({} < 0) | {})", name, accumulator.replaced(accumulator.extreme(), element)));
      writer_.line(fmt::format("{} = {};", name, scope_.text(accumulator.accumulator().position)));
      writer_.line(fmt::format("{} = {};", accumulator.extreme(), element));
      if (shares_reduction()) writer_.line(fmt::format("{} = element;", accumulator.extreme_number()));
    }
  }

  // ---------------------------------------------------------------------------------------------------------- stores

  void print_stores() {
    for (const FlatStore& store : nest_.stores)
      print_conditional(store, [&] {
        if (schedule_.has_atomic_stores) return print_atomic(store);
        const std::string text = text_of(store);
        writer_.line(fmt::format("{}[{}] = {};", scope_.pointer(store.storage), scope_.text(store.offset), text));
      });
  }

  void print_atomic(const FlatStore& store) {
    const std::string element = fmt::format("&{}[{}]", scope_.pointer(store.storage), scope_.text(store.offset));
    const std::string value = scope_.value(store.value);
    if (store.kind == StoreKind::add) {
      writer_.line(fmt::format("atomic_add({}, {});", element, value));
      return;
    }
    const ReduceKind kind = store.kind == StoreKind::multiply  ? ReduceKind::product
                            : store.kind == StoreKind::minimum ? ReduceKind::minimum
                                                               : ReduceKind::maximum;
    const Accumulator accumulator{kind, store.dtype, store.value, 0};
    const AccumulatorText folding(accumulator, 0, scope_.dialect());
    writer_.line(fmt::format("atomic_fold({0}, {1}, []({2} a, {2} b) -> {2} {{ return {3}; }});", element, value,
                             folding.type(), folding.folded("a", "b")));
  }

  void print_conditional(const FlatStore& store, const std::function<void()>& body) {
    // A store may be seen by the loads of the next: what they share is not computed once for both.
    auto conditional = writer_.scope(store.condition ? fmt::format("if ({})", scope_.value(store.condition)) : "");
    const NestScope::Block block(scope_);
    body();
  }

  // The rest of the element, as it stands in memory.
  std::string text_of(const FlatStore& store) {
    const Scalar value = stored_value(store);
    combined_.push_back(value);  // names hang on its nodes
    std::string text = scope_.value(value);
    if (store.inside) {
      // The padding of a blocked axis holds zeros.
      const std::string zero = scope_.value(scalar::constant(store.dtype, 0));
      text = fmt::format("{} ? {} : {}", scope_.value(store.inside), text, zero);
    }
    return scope_.dialect().stored(store.dtype, text);
  }

  TextWriter& writer_;
  const DeviceSchedule& schedule_;
  const FlatNest& nest_;
  const ModelNames& names_;
  NestScope scope_;
  std::vector<AccumulatorText> accumulators_;
  std::vector<Scalar> combined_;
};

}  // namespace

void print_arguments_type(TextWriter& writer, const DeviceSchedule& schedule, const std::string& name,
                          const ModelNames& names) {
  const NestScope scope(writer, schedule.nest, names);
  auto structure = writer.scope("struct " + arguments_type(name), ";");
  writer.line("int64_t points, point_stride;");
  for (const auto& [storage, type] : scope.storages()) writer.line(fmt::format("{}* b{};", type, storage));
  for (const Symbol& dim : dims_of(schedule, names)) writer.line(fmt::format("int64_t {};", names.symbols.at(dim)));
}

void print_device_kernel(TextWriter& writer, const DeviceSchedule& schedule, const std::string& name,
                         const ModelNames& names) {
  KernelPrinter(writer, schedule, names).print(name);
}

void print_launch(TextWriter& writer, const DeviceSchedule& schedule, const std::string& name, size_t kernel,
                  const std::vector<NestMemory>& memory, const ModelNames& names) {
  const NestScope scope(writer, schedule.nest, names);
  const std::vector<Symbol> dims = dims_of(schedule, names);
  declare_dims(writer, {dims.begin(), dims.end()}, names);
  writer.line(arguments_type(name) + " arguments;");
  writer.line(fmt::format("arguments.points = {};", print_expr(schedule.point_count(), names.symbols)));
  for (const auto& [number, type] : scope.storages()) {
    const NestMemory& used = memory.at(static_cast<size_t>(number));
    writer.line(fmt::format("arguments.b{} = static_cast<{}*>(frame.buffers[{}]){};", number, type,
                            names.storages.at(used.storage), used.first == 0 ? "" : fmt::format(" + {}", used.first)));
  }
  for (const Symbol& dim : dims) writer.line(fmt::format("arguments.{0} = {0};", names.symbols.at(dim)));
  using enum DeviceSchedule::Form;
  const bool are_points_of_threads = schedule.form == thread_a_point || schedule.form == threads_a_point;
  writer.line(fmt::format("launch_points(frame, {}, {}, nest_threads, arguments);", kernel,
                          are_points_of_threads ? schedule.points_a_block() : 1));
}

}  // namespace onnxc
