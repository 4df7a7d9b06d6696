// The probabilities of classes from those of pairs: T.-F. Wu, C.-J. Lin, R. Weng, "Probability estimates for
// multi-class classification by pairwise coupling", JMLR 5, 2004, algorithm 2, as LIBSVM has it. They are the p that
// minimise p^T Q p among those whose sum is 1. A pass takes each class in turn; at most 100 follow one another, until
// no class is further than 0.005 / classes from the condition for a minimum. Rows that are there already stay as they
// are.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

namespace onnxc {
namespace {

constexpr int64_t most_passes = 100;

// Q [rows, classes, classes] gives p [rows, classes].
void infer_coupling(InferContext& c) {
  const Shape& q = c.shape(0);
  internal_check(q.size() == 3 && q[1].constant() && c.dtype(0) == DType::float32, "matrices of a known size");
  c.run_time_symbol(fmt::format("{}_step", c.node().outputs[0]->name), {0, Bounds::infinity}, "the class of a pass");
  c.output(0, DType::float32, {q[0], q[1]});
}

class Coupling {
 public:
  Coupling(DefineContext& c, const Expr& step)
      : c_(c),
        q_(c.in(0)),
        p_(c.temporary("p", DType::float32, {q_.shape[0], q_.shape[1]})),
        products_(c.temporary("products", DType::float32, p_.shape)),
        total_(c.temporary("total", DType::float32, {q_.shape[0]})),
        is_active_(c.temporary("is_active", DType::boolean, {q_.shape[0]})),
        goes_on_(c.temporary("goes_on", DType::boolean, {})),
        own_(mod(step, q_.shape[1])),
        begins_pass_(equal(scalar::index(own_), scalar::index(0))) {}

  LoopBegin begin(const Symbol& step) {
    const double share = 1 / static_cast<double>(*q_.shape[1].constant());
    fill(p_, scalar::constant(DType::float32, share));
    fill(products_, scalar::constant(DType::float32, 0));
    fill(total_, scalar::constant(DType::float32, 0));
    fill(is_active_, scalar::constant(DType::boolean, 1));
    fill(goes_on_, scalar::constant(DType::boolean, 1));
    return {step,
            q_.shape[1] * most_passes,
            goes_on_.buffer,
            {p_.buffer, products_.buffer, total_.buffer, is_active_.buffer, goes_on_.buffer}};
  }

  // At a pass's first class: Qp and p^T Q p anew, and which rows have arrived.
  void emit_check() {
    const Operand fresh = c_.temporary("fresh", DType::float32, p_.shape);
    {
      NestBuilder nest("products");
      const std::vector<Expr> at = nest.parallel(p_.shape);
      const Expr j = nest.reduce(q_.shape[1]);
      nest.store(fresh, at, nest.accumulate(ReduceKind::sum, q_({at[0], at[1], j}) * p_({at[0], j})));
      c_.emit(std::move(nest));
    }
    change(products_,
           [&](const std::vector<Expr>& at) { return scalar::select(begins_pass_, fresh(at), products_(at)); });
    {
      NestBuilder nest("total");
      const Expr row = nest.parallel(p_.shape[0]), i = nest.reduce(p_.shape[1]);
      const Scalar sum = nest.accumulate(ReduceKind::sum, p_({row, i}) * fresh({row, i}));
      nest.store(total_, {row}, scalar::select(begins_pass_, sum, total_({row})));
      c_.emit(std::move(nest));
    }
    NestBuilder nest("is_active");
    const Expr row = nest.parallel(p_.shape[0]), i = nest.reduce(p_.shape[1]);
    const Scalar error = nest.accumulate(ReduceKind::maximum, absolute(products_({row, i}) - total_({row})));
    const double most = 0.005 / static_cast<double>(*q_.shape[1].constant());
    const Scalar is_far = negated(less(error, number(error, most)));
    nest.store(is_active_, {row}, both(is_active_({row}), any_of(negated(begins_pass_), is_far)));
    c_.emit(std::move(nest));
    NestBuilder any("goes_on");
    const Expr each = any.reduce(p_.shape[0]);
    any.store(goes_on_, {}, any.accumulate(ReduceKind::any, is_active_({each})));
    c_.emit(std::move(any));
  }

  // Changes the probability of the step's class, and the others so that the sum is 1 again.
  void emit_step() {
    const Operand change_of = c_.temporary("change", DType::float32, total_.shape);
    change(change_of, [&](const std::vector<Expr>& at) {
      const Scalar difference = total_(at) - products_({at[0], own_});
      return scalar::select(is_active_(at), difference / q_({at[0], own_, own_}), number(difference, 0));
    });
    change(total_, [&](const std::vector<Expr>& at) {
      const Scalar by = change_of(at), scale = number(by, 1) + by;
      const Scalar twice = products_({at[0], own_}) * number(by, 2);
      return (total_(at) + by * (by * q_({at[0], own_, own_}) + twice)) / scale / scale;
    });
    change(products_, [&](const std::vector<Expr>& at) {
      const Scalar by = change_of({at[0]});
      return (products_(at) + by * q_({at[0], own_, at[1]})) / (number(by, 1) + by);
    });
    change(p_, [&](const std::vector<Expr>& at) {
      const Scalar by = change_of({at[0]}), is_own = equal(scalar::index(at[1]), scalar::index(own_));
      return (p_(at) + scalar::select(is_own, by, number(by, 0))) / (number(by, 1) + by);
    });
  }

  const Operand& probabilities() const { return p_; }

 private:
  void change(const Operand& what, const std::function<Scalar(const std::vector<Expr>&)>& value) {
    NestBuilder nest("coupling");
    const std::vector<Expr> at = nest.parallel(what.shape);
    nest.store(what, at, value(at));
    c_.emit(std::move(nest));
  }

  void fill(const Operand& what, const Scalar& value) {
    change(what, [&](const std::vector<Expr>&) { return value; });
  }

  DefineContext& c_;
  Operand q_, p_;
  Operand products_;   // Qp
  Operand total_;      // p^T Q p
  Operand is_active_;  // of each row
  Operand goes_on_;    // whether one of them is
  Expr own_;           // the class of the step
  Scalar begins_pass_;
};

void define_coupling(DefineContext& c) {
  const Symbol step = *c.node().bound_symbols.begin();
  Coupling coupling(c, step);
  c.emit(coupling.begin(step));
  coupling.emit_check();
  coupling.emit_step();
  c.emit(LoopEnd{});
  c.elementwise([&](const std::vector<Expr>& at) { return coupling.probabilities()(at); });
}

constexpr OpRow rows[] = {
    {internal_domain, "Coupling", infer_coupling, define_coupling, StorageRule::unchanged},
};

}  // namespace

std::span<const OpRow> coupling_ops() { return rows; }

}  // namespace onnxc
