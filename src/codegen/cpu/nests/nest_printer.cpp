#include "codegen/cpu/nests/nest_printer.h"

#include <algorithm>

#include "codegen/cpu/nests/reduction_printer.h"
#include "kernels/cpu/vector/transposed_tile_sizes.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

class NestPrinter {
 public:
  NestPrinter(TextWriter& writer, const NestSchedule& schedule, std::string function, const ModelNames& names)
      : writer_(writer),
        schedule_(schedule),
        nest_(schedule.nest),
        function_(std::move(function)),
        model_(names),
        scope_(writer, schedule.nest, names) {
    scope_.name_loops(schedule.outer);
    scope_.name_loops(schedule.reduce);
    std::vector<FlatLoop> clamped;
    for (const ClampedIndex& index : schedule.clamped) clamped.push_back({index.symbol, 0, AxisKind::parallel});
    scope_.name_loops(clamped);
  }

  // void FUNCTION_tasks(context, begin, end, thread)
  void print_tasks() {
    auto function = writer_.scope(
        fmt::format("static void {}_tasks(const void* context, int64_t begin, int64_t end, int)", function_));
    if (!nest_.accumulators.empty() && !may_compute_sizes()) writer_.line("#pragma clang fp contract(fast)");
    writer_.line("const NestCall& call = *static_cast<const NestCall*>(context);");
    declare_dims(writer_, dims_of_nest(), model_, "call.frame.symbols");
    declare_pointers();
    scope_.print_lets();
    hoist_outside();
    const bool is_one_task = schedule_.task_loops <= 1 && schedule_.tasks.is_constant(1);
    if (is_one_task)
      print_loops(0);
    else
      print_task_loop();
  }

  // A nest of few rounds may compute sizes, whose every product is rounded as the interpreter and other engines do it:
  // 1*0.7 + 9*0.7 is below 7.
  bool may_compute_sizes() const {
    constexpr int64_t most_rounds = 64;
    int64_t rounds = 1;
    for (const std::vector<FlatLoop>* loops : {&schedule_.outer, &schedule_.reduce})
      for (const FlatLoop& loop : *loops) {
        const std::optional<int64_t> extent = loop.extent.constant();
        if (!extent || *extent > most_rounds) return false;
        rounds *= std::max<int64_t>(*extent, 1);
        if (rounds > most_rounds) return false;
      }
    return true;
  }

  // Tiles are memory of the loops around them.
  void declare_pointers() {
    for (size_t i = 0; i < schedule_.tiles.size(); ++i)
      scope_.name_pointer(schedule_.tiles[i].memory, fmt::format("tile{}", i));
    scope_.declare_pointers("call.buffers");
    for (const TransposedTile& tile : schedule_.tiles)
      scope_.declare_pointer({tile.storage, "const " + scope_.dialect().storage_type(tile.dtype)}, "call.buffers");
  }

  // void FUNCTION(frame, buffers)
  void print_entry() {
    auto function = writer_.scope(nest_signature(function_));
    std::set<Symbol> used = schedule_.tasks.symbols();
    for (const FlatLoop& loop : schedule_.outer) used.merge(loop.extent.symbols());
    declare_dims(writer_, used, model_);
    // Values are computed outside of the loops that use them: those must run.
    for (const FlatLoop& loop : schedule_.outer)
      if (depends_on_dims_alone(loop.extent) && !proven_at_least(loop.extent, 1))
        writer_.line(fmt::format("if ({} == 0) return;", print_expr(loop.extent, model_.symbols)));
    writer_.line("const NestCall call{frame, buffers};");
    if (schedule_.tasks.is_constant(1))
      writer_.line(fmt::format("{}_tasks(&call, 0, 1, 0);", function_));
    else
      writer_.line(fmt::format("frame.parallel_for(frame, {}, {}_tasks, &call);",
                               print_expr(schedule_.tasks, model_.symbols), function_));
  }

 private:
  bool depends_on_dims_alone(const Expr& expr) const {
    return std::ranges::all_of(expr.symbols(), [&](const Symbol& symbol) { return model_.symbols.contains(symbol); });
  }

  std::set<Symbol> dims_of_nest() const {
    std::set<Symbol> used = schedule_.grain.symbols();
    for_each_expr(nest_, [&](const Expr& expr) { used.merge(expr.symbols()); });
    for (const FlatLoop& loop : schedule_.outer) used.merge(loop.extent.symbols());
    for (const FlatLoop& loop : schedule_.reduce) used.merge(loop.extent.symbols());
    for (const ClampedIndex& index : schedule_.clamped) used.merge(index.bound.symbols());
    for (const TransposedTile& tile : schedule_.tiles) {
      used.merge(tile.first.symbols());
      used.merge(tile.stride.symbols());
    }
    return used;
  }

  // If more loops of the outer ones follow: all values that do not vary with them.
  void hoist_outside() {
    const bool reduces =
        std::ranges::all_of(schedule_.reduce, [](const FlatLoop& loop) { return proven_at_least(loop.extent, 1); });
    scope_.hoist_elements(reduces ? NestScope::Hoist::values : NestScope::Hoist::values_no_loads);
    scope_.hoist_stores();
  }

  void print_task_loop() {
    const size_t last = schedule_.task_loops - 1;
    const FlatLoop& shared = schedule_.outer[last];
    const bool in_pieces = !schedule_.grain.is_constant(1);
    if (in_pieces) {
      writer_.line(fmt::format("const int64_t grain = {};", scope_.text(schedule_.grain)));
      if (last > 0)
        writer_.line(fmt::format("const int64_t pieces = ({} + grain - 1) / grain;", scope_.text(shared.extent)));
    }
    auto task_loop = writer_.scope("for (int64_t task = begin; task < end; ++task)");
    const NestScope::Block block(scope_);
    print_task_indices(in_pieces ? last : last + 1, in_pieces && last > 0 ? "task / pieces" : "task");
    scope_.print_lets();
    if (!in_pieces) {
      enter_level(last + 1);
      return;
    }
    writer_.line(fmt::format("const int64_t first = {} * grain;", last > 0 ? "(task % pieces)" : "task"));
    writer_.line(fmt::format("const int64_t last = minimum<int64_t>(first + grain, {});", scope_.text(shared.extent)));
    hoist_outside();
    print_loop(last, "first", "last");
  }

  // The iterations of the first `count` loops; the last of these runs fastest through the tasks.
  void print_task_indices(size_t count, std::string rest) {
    if (count > 1) {
      writer_.line(fmt::format("int64_t rest = {};", rest));
      rest = "rest";
    }
    for (size_t i = count; i-- > 0;) {
      const FlatLoop& loop = schedule_.outer[i];
      const std::string extent = fmt::format("({})", scope_.text(loop.extent));
      writer_.line(fmt::format("const int64_t {} = {}{};", scope_.name(loop), rest, i > 0 ? " % " + extent : ""));
      if (i > 0) writer_.line(fmt::format("rest /= {};", extent));
      scope_.make_available(loop.symbol);
    }
  }

  // The loops that are printed one by one: the lanes of a reduction are not, it prints them itself.
  size_t loop_count() const {
    return schedule_.outer.size() - (schedule_.reduction == ReductionForm::parallel_lanes ? 1 : 0);
  }

  void print_loops(size_t i) {
    if (!schedule_.tiles.empty() && i + 2 == schedule_.outer.size()) print_tiles();
    if (i < loop_count())
      print_loop(i, "0", scope_.text(schedule_.outer[i].extent));
    else if (schedule_.reduction == ReductionForm::none)
      print_stores();
    else
      print_reduction(writer_, scope_, schedule_, [&] { print_stores(); });
  }

  void print_tiles() {
    const FlatLoop &rows = schedule_.outer[schedule_.outer.size() - 2], &columns = schedule_.outer.back();
    for (const TransposedTile& tile : schedule_.tiles) {
      const std::string& name = scope_.pointer(tile.memory);
      writer_.line(fmt::format("alignas(64) {} {}[{}];", scope_.dialect().storage_type(tile.dtype), name,
                               kernels::tile_columns * kernels::tile_rows(element_size(tile.dtype))));
      writer_.line(fmt::format("load_transposed({} + {}, {}, {}, {}, {});", scope_.pointer(tile.storage),
                               scope_.text(tile.first), scope_.text(tile.stride), scope_.text(rows.extent),
                               scope_.text(columns.extent), name));
    }
  }

  void print_loop(size_t i, const std::string& first, const std::string& last) {
    if (i + 1 == schedule_.outer.size() && !schedule_.clamped.empty())
      print_clamped_loop(i, first, last);
    else
      print_one_loop(i, first, last);
  }

  // The innermost loop as a function of how each clamped index runs: not at all, with the loop, or as it says.
  void print_clamped_loop(size_t i, const std::string& first, const std::string& last) {
    const size_t count = schedule_.clamped.size();
    std::string parameters, all_run;
    for (size_t k = 0; k < count; ++k) {
      parameters += fmt::format("{}auto runs{}", k > 0 ? ", " : "", k);
      all_run += fmt::format("{}({} >= {} - 1)", k > 0 ? " & " : "", bound(k), last);
    }
    {
      auto columns =
          writer_.scope(fmt::format("const auto columns = [&]({}) __attribute__((always_inline))", parameters), ";");
      const NestScope::Block block(scope_);
      print_one_loop(i, first, last);
    }
    const auto call = [&](const std::vector<int>& runs) {
      std::string arguments;
      for (const int how : runs) arguments += fmt::format("{}Constant<{}>()", arguments.empty() ? "" : ", ", how);
      return fmt::format("columns({});", arguments);
    };
    writer_.line(fmt::format("if ({}) {}", all_run, call(std::vector<int>(count, 1))));
    if (count <= 2)
      for (size_t k = 0; k < count; ++k) {
        std::vector<int> runs(count, 1);
        runs[k] = 0;
        const std::string other = count == 2 ? fmt::format(" & ({} >= {} - 1)", bound(1 - k), last) : "";
        writer_.line(fmt::format("else if (({} == 0){}) {}", bound(k), other, call(runs)));
      }
    writer_.line(fmt::format("else {}", call(std::vector<int>(count, 2))));
  }

  std::string bound(size_t k) { return fmt::format("({})", scope_.text(schedule_.clamped[k].bound)); }

  void print_clamped_indices(const std::string& index) {
    for (size_t k = 0; k < schedule_.clamped.size(); ++k) {
      const Symbol& symbol = schedule_.clamped[k].symbol;
      writer_.line(
          fmt::format("const int64_t {0} = runs{1} == 1 ? {2} : runs{1} == 0 ? 0 : minimum<int64_t>({3}, {2});",
                      scope_.text(Expr(symbol)), k, index, bound(k)));
      scope_.make_available(symbol);
    }
  }

  void print_one_loop(size_t i, const std::string& first, const std::string& last) {
    const FlatLoop& loop = schedule_.outer[i];
    const std::string& name = scope_.name(loop);
    if (i + 1 == schedule_.outer.size() && schedule_.vectorises) writer_.line(vectorised_loop(schedule_));
    auto body = writer_.scope(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", name, first, last));
    const NestScope::Block block(scope_);
    scope_.make_available(loop.symbol);
    if (i + 1 == schedule_.outer.size()) print_clamped_indices(name);
    scope_.print_lets();
    enter_level(i + 1);
  }

  void enter_level(size_t i) {
    if (i < loop_count()) hoist_outside();
    print_loops(i);
  }

  void print_stores() {
    const bool sees_own_stores = nest_.stores.size() > 1 && loads_what_it_stores();
    for (const FlatStore& store : nest_.stores) {
      if (!store.condition && !sees_own_stores) {
        print_store(store);
        continue;
      }
      const std::string condition = store.condition ? scope_.value(store.condition) : "true";
      auto conditional = writer_.scope(fmt::format("if ({})", condition));
      const NestScope::Block block(scope_);
      print_store(store);
    }
  }

  bool loads_what_it_stores() const {
    bool result = false;
    for_each_scalar(nest_, [&](const Scalar& scalar) {
      visit(scalar, [&](const ScalarNode& node) {
        result |= node.op == ScalarOp::load && std::ranges::any_of(nest_.stores, [&](const FlatStore& store) {
                    return store.storage == node.buffer;
                  });
      });
    });
    return result;
  }

  void print_store(const FlatStore& store) {
    const Scalar value = stored_value(store);
    combined_.push_back(value);  // names hang on its nodes
    std::string text = scope_.value(value);
    if (store.inside) {
      const std::string zero = scope_.value(scalar::constant(store.dtype, 0));
      text = fmt::format("{} ? {} : {}", scope_.value(store.inside), text, zero);
    }
    writer_.line(fmt::format("{}[{}] = {};", scope_.pointer(store.storage), scope_.text(store.offset),
                             scope_.dialect().stored(store.dtype, text)));
  }

  TextWriter& writer_;
  const NestSchedule& schedule_;
  const FlatNest& nest_;
  std::string function_;
  const ModelNames& model_;
  NestScope scope_;
  std::vector<Scalar> combined_;
};

}  // namespace

std::string nest_signature(const std::string& function) {
  // Inlined into its steps it would be compiled several times.
  return fmt::format("[[gnu::noinline]] void {}(const Frame& frame, void* const* buffers)", function);
}

void print_nest(TextWriter& writer, const NestSchedule& schedule, const std::string& function,
                const ModelNames& names) {
  NestPrinter printer(writer, schedule, function, names);
  printer.print_tasks();
  writer.line("");
  printer.print_entry();
}

}  // namespace onnxc
