// ArgSort, the order of each line of a tensor: what TopK, Unique and NonMaxSuppression are made of. A CPU has a kernel
// for it (kernels/cpu/selection/argsort.h).
//
// As nests: short lines by counting the elements that stand before each; long ones are sorted (sorting.h). Limit: lines
// whose length only a run knows are compared each with each other, so that the time grows with the square of it.
#include "ops/tensor/argsort_spec.h"

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/tensor/sorting.h"

namespace onnxc {
namespace {

// Longer lines are sorted: up to here two nests that compare each element with each other one are faster.
constexpr int64_t longest_compared = 8192;

size_t axis_of(const NodeReader& c) { return c.axis(c.integer("axis"), c.rank(0)); }

// x, and how many positions of each line are wanted: all, if that is not given.
void infer_argsort(InferContext& c) {
  Shape shape = c.shape(0);
  Expr& count = shape[axis_of(c)];
  if (c.has_input(1)) {
    const std::vector<Expr> given = c.needed_elements(1, "K");
    c.check(given.size() == 1, "one number is expected as K, found {}", given.size());
    c.at_least(given.front(), 0, "K");
    c.at_least(count, given.front(), "K may not be more than the axis has");
    count = given.front();
  }
  c.output(0, DType::int64, std::move(shape));
}

void define_argsort(DefineContext& c) {
  const ArgsortSpec spec = resolve_argsort(c);
  const Operand x = c.in(0), y = c.out(0);
  auto precedes = [&](const Scalar& a, const Scalar& b) { return spec.descending ? ascending(b, a) : ascending(a, b); };
  if (x.shape[spec.axis].constant().value_or(0) > longest_compared) {
    const SortedLines sorted = sort_lines(c, x, spec.axis, precedes);
    c.elementwise([&](const std::vector<Expr>& at) { return sorted.positions(at); });
    return;
  }
  const Operand places = c.temporary("places", DType::int64, x.shape);
  {
    NestBuilder nest("places");
    std::vector<Expr> at = nest.parallel(x.shape), other = at;
    other[spec.axis] = nest.reduce(x.shape[spec.axis]);
    const Scalar is_before =
        comes_before(precedes, x.compute(other), x.compute(at), less(other[spec.axis], at[spec.axis]));
    nest.store(places, at, nest.accumulate(ReduceKind::sum, scalar::cast(DType::int64, is_before)));
    c.emit(std::move(nest));
  }
  NestBuilder nest("argsort");
  std::vector<Expr> from = nest.parallel(x.shape), to = from;
  to[spec.axis] = nest.let(places(from));
  nest.store(y, to, scalar::index(from[spec.axis]), StoreKind::assign, less(to[spec.axis], spec.count));
  c.emit(std::move(nest));
}

constexpr OpRow rows[] = {{internal_domain, "ArgSort", infer_argsort, define_argsort, StorageRule::unchanged}};

}  // namespace

Value* add_argsort(ExpandContext& c, Value* x, int64_t axis, bool descending, Value* count) {
  const int64_t order = descending ? 1 : 0;
  return c.add_row(internal_domain, "ArgSort", {x, count}, 1, {{"axis", axis}, {"descending", order}})[0];
}

bool is_argsort(const Node& node) { return node.origin.domain == internal_domain && node.origin.type == "ArgSort"; }

ArgsortSpec resolve_argsort(const NodeReader& node) {
  const size_t axis = axis_of(node);
  return {axis, node.integer("descending") != 0, (*node.node().outputs[0]->shape)[axis]};
}

std::span<const OpRow> argsort_ops() { return rows; }

}  // namespace onnxc
