// RNN, GRU and LSTM. The products of the inputs are one product before the loop, as no step needs another's.
#include "ops/families.h"
#include "ops/recurrent/recurrence.h"

namespace onnxc {
namespace {

using Input = RecurrentInput;
using States = std::vector<Value*>;

// The bias of the inputs' product and that of the states', added, for the gates from `first` to before `end` of
// `gates`.
Value* added_biases(Recurrence& r, int64_t gates, int64_t first, int64_t end) {
  if (!r.context().has_input(Input::b)) return nullptr;
  return r.add(r.part(Input::b, first, end), r.part(Input::b, gates + first, gates + end));
}

// ---------------------------------------------------------------------------------------------------------- RNN

const RecurrentForm rnn_form{1, {Input::initial_h}, {"Tanh"}};

// h' = f(x W^T + h R^T + Wb + Rb) (ONNX RNN 22).
Recurrence::Result run_rnn(Recurrence& r) {
  Value* weights = r.transposed_part(Input::r, 0, 1);
  return r.run(r.of_inputs(added_biases(r, 1, 0, 1)), [&](Value* x, const States& states) -> States {
    return {r.activate(0, r.add(x, r.context().add("MatMul", {states[0], weights})))};
  });
}

void expand_rnn(ExpandContext& c) { expand_recurrent(c, rnn_form, run_rnn); }

// ---------------------------------------------------------------------------------------------------------- GRU

const RecurrentForm gru_form{3, {Input::initial_h}, {"Sigmoid", "Tanh"}};

// (1 - z) * candidate + z * h
Value* mixed(Recurrence& r, Value* z, Value* candidate, Value* h) {
  ExpandContext& c = r.context();
  Value* rest = c.add("Sub", {c.number(r.dtype(), 1), z});
  return r.add(c.add("Mul", {rest, candidate}), c.add("Mul", {z, h}));
}

// The reset gate multiplies the state after its product: one product for all gates.
Recurrence::Result run_gru_linear(Recurrence& r) {
  ExpandContext& c = r.context();
  Value* weights = r.transposed_part(Input::r, 0, 3);
  const bool has_bias = c.has_input(Input::b);
  Value* bias = has_bias ? r.part(Input::b, 3, 6) : nullptr;
  return r.run(r.of_inputs(has_bias ? r.part(Input::b, 0, 3) : nullptr), [&](Value* x, const States& states) -> States {
    const std::vector<Value*> own = r.split(x, 3);
    const std::vector<Value*> before = r.split(r.add(c.add("MatMul", {states[0], weights}), bias), 3);
    Value* z = r.activate(0, r.add(own[0], before[0]));
    Value* reset = r.activate(0, r.add(own[1], before[1]));
    Value* candidate = r.activate(1, r.add(own[2], c.add("Mul", {reset, before[2]})));
    return {mixed(r, z, candidate, states[0])};
  });
}

Recurrence::Result run_gru(Recurrence& r) {
  ExpandContext& c = r.context();
  if (c.integer("linear_before_reset", 0) != 0) return run_gru_linear(r);
  Value *weights = r.transposed_part(Input::r, 0, 2), *of_candidate = r.transposed_part(Input::r, 2, 3);
  return r.run(r.of_inputs(added_biases(r, 3, 0, 3)), [&](Value* x, const States& states) -> States {
    const std::vector<Value*> own = r.split(x, 3);
    const std::vector<Value*> before = r.split(c.add("MatMul", {states[0], weights}), 2);
    Value* z = r.activate(0, r.add(own[0], before[0]));
    Value* reset = c.add("Mul", {r.activate(0, r.add(own[1], before[1])), states[0]});
    Value* candidate = r.activate(1, r.add(own[2], c.add("MatMul", {reset, of_candidate})));
    return {mixed(r, z, candidate, states[0])};
  });
}

// ONNX GRU 22; gates z, r, h.
void expand_gru(ExpandContext& c) { expand_recurrent(c, gru_form, run_gru); }

// --------------------------------------------------------------------------------------------------------- LSTM

const RecurrentForm lstm_form{4, {Input::initial_h, Input::initial_c}, {"Sigmoid", "Tanh", "Tanh"}};

// ONNX LSTM 22; gates i, o, f, c, and peepholes i, o, f. Attribute 'clip' bounds the gates and not the cell, as in
// onnxruntime.
Recurrence::Result run_lstm(Recurrence& r) {
  ExpandContext& c = r.context();
  Value* weights = r.transposed_part(Input::r, 0, 4);
  const auto peephole = [&](int64_t gate) {
    return c.has_input(Input::p) ? r.part(Input::p, gate, gate + 1) : nullptr;
  };
  Value *of_input = peephole(0), *of_output = peephole(1), *of_forget = peephole(2);
  const bool is_coupled = c.integer("input_forget", 0) != 0;
  return r.run(r.of_inputs(added_biases(r, 4, 0, 4)), [&](Value* x, const States& states) -> States {
    const std::vector<Value*> gates = r.split(r.add(x, c.add("MatMul", {states[0], weights})), 4);
    const auto seen = [&](Value* gate, Value* weight, Value* cell) {
      return weight == nullptr ? gate : r.add(gate, c.add("Mul", {weight, cell}));
    };
    Value* input = r.activate(0, seen(gates[0], of_input, states[1]));
    Value* forget = is_coupled ? c.add("Sub", {c.number(r.dtype(), 1), input})
                               : r.activate(0, seen(gates[2], of_forget, states[1]));
    Value* kept = c.add("Mul", {forget, states[1]});
    Value* cell = r.add(kept, c.add("Mul", {input, r.activate(1, gates[3])}));
    Value* output = r.activate(0, seen(gates[1], of_output, cell));
    return {c.add("Mul", {output, r.function(2, cell)}), cell};
  });
}

void expand_lstm(ExpandContext& c) { expand_recurrent(c, lstm_form, run_lstm); }

constexpr OpRow rows[] = {
    {.domain = "", .name = "RNN", .expand = expand_rnn},
    {.domain = "", .name = "GRU", .expand = expand_gru},
    {.domain = "", .name = "LSTM", .expand = expand_lstm},
};

}  // namespace

std::span<const OpRow> recurrent_ops() { return rows; }

}  // namespace onnxc
