// The common parts of RNN, GRU and LSTM: directions, layouts, initial states, lengths of sequences, and the loop over
// the steps of a sequence, as nodes of the graph.
#pragma once

#include <functional>
#include <vector>

#include "ops/recurrent/activation.h"

namespace onnxc {

// The places of an operator's inputs, and its number of gates (matrices of W and R) and states.
struct RecurrentForm {
  int64_t gates;
  std::vector<size_t> initial_states;  // inputs: initial_h, and for LSTM initial_c
  std::vector<std::string> activations;
};
// Inputs that have the same place in all three.
struct RecurrentInput {
  static constexpr size_t x = 0, w = 1, r = 2, b = 3, sequence_lens = 4, initial_h = 5, initial_c = 6, p = 7;
};

// One direction of a recurrent node: its parts of the inputs.
class Recurrence {
 public:
  Recurrence(ExpandContext& c, const RecurrentForm& form, size_t direction);

  ExpandContext& context() { return c_; }
  DType dtype() const { return dtype_; }
  int64_t hidden() const { return hidden_; }
  // Part `first` to before `end` of an input's vector or matrix of this direction, in units of the hidden size.
  Value* part(size_t input, int64_t first, int64_t end);
  // The same of a matrix, transposed: [columns, rows].
  Value* transposed_part(size_t input, int64_t first, int64_t end);
  // X by all of W, and a bias of the same width unless null: [steps, batch, gates * hidden].
  Value* of_inputs(Value* bias);
  // Parts of the last axis, each as wide as the hidden size.
  std::vector<Value*> split(Value* gates, int64_t count);
  Value* add(Value* a, Value* b) { return b == nullptr ? a : c_.add("Add", {a, b}); }
  // Activation i of this direction.
  Value* function(size_t i, Value* x);
  // The same of a gate: attribute 'clip' bounds what goes in.
  Value* activate(size_t i, Value* x);

  // The computation of a step from the inputs' part [batch, gates * hidden] and the states [batch, hidden]: returns the
  // new states; the first is the step's output.
  using Step = std::function<std::vector<Value*>(Value* inputs, const std::vector<Value*>& states)>;
  struct Result {
    Value* sequence;  // [steps, batch, hidden]; null if nobody wants it
    std::vector<Value*> states;
  };
  Result run(Value* inputs, const Step& step);

 private:
  Value* initial_state(size_t input);
  Value* steps_within_sequences();

  ExpandContext& c_;
  const RecurrentForm& form_;
  size_t direction_;
  bool backwards_;
  DType dtype_;
  int64_t hidden_ = 0;
  Value* x_;  // [steps, batch, inputs]
  std::vector<RecurrentActivation> activations_;
};

// Runs `of_direction` for each direction and gives the node's outputs: the sequence, and the states at its end.
void expand_recurrent(ExpandContext& c, const RecurrentForm& form,
                      const std::function<Recurrence::Result(Recurrence&)>& of_direction);

}  // namespace onnxc
