// The states of an instance: their place in a run, and the calls that read and set them.
#include <string.h>

#include "base/value_check.h"
#include "host/instance.h"
#include "host/state_set.h"

namespace onnxc::runtime {
namespace {

// A dim that is a number: "2".
int64_t number_of(const char* text) {
  int64_t number = 0;
  if (*text == '\0') return -1;
  for (; *text != '\0'; ++text)
    if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10, &number) ||
        __builtin_add_overflow(number, *text - '0', &number))
      return -1;
  return number;
}

}  // namespace

onnxc_status Instance::make_states(const onnxc_options& options, ErrorText& error) {
  auto* const other = reinterpret_cast<Instance*>(options.states_of);
  if (other != nullptr) {
    bool is_ours = false;
    for (int32_t i = 0; i < shared_object.entry_count; ++i) is_ours |= &other->model == shared_object.entries[i].model;
    const char* fault = nullptr;
    if (!is_ours)
      fault = "is of another library";
    else if (model.state_count == 0)
      fault = "is to share its states, and this graph has none";
    else if (other->states_ == nullptr)
      fault = "has no states";
    else if (!other->states_->memory().is_on(device_))
      fault = "keeps its states on another device";
    if (fault != nullptr) {
      error.append("the instance of onnxc_options.states_of %s", fault);
      return ONNXC_INVALID_ARGUMENT;
    }
  }
  if (model.state_count == 0) return ONNXC_OK;
  onnxc_status status = ONNXC_OK;
  states_ = other != nullptr ? other->states_->share() : StateSet::create(model.device_backend, device_, status, error);
  if (states_ == nullptr) return status;
  int64_t ranks = 0;
  for (int32_t i = 0; i < model.state_count; ++i) ranks += model.states[i].rank;
  if (state_data_.allocate(model.state_count) && state_dims_.allocate(ranks)) return ONNXC_OK;
  error.append("no memory for an instance");
  return ONNXC_OUT_OF_MEMORY;
}

// The memory of the states for a run with these dims of the inputs. A run that is refused changes none of them.
onnxc_status Instance::take_states() {
  if (model.state_count == 0) return ONNXC_OK;
  model.state_dims(symbols_.data(), state_dims_.data());
  const auto for_each_state = [&](auto&& visit) {
    const int64_t* dims = state_dims_.data();
    onnxc_status status = ONNXC_OK;
    for (int32_t i = 0; status == ONNXC_OK && i < model.state_count; dims += model.states[i++].rank)
      status = visit(i, dims);
    return status;
  };
  onnxc_status status = for_each_state([&](int32_t state, const int64_t* dims) {
    return states_->check(model.state_places[state], model.states[state], dims, error_);
  });
  if (status != ONNXC_OK) return status;
  status = for_each_state([&](int32_t state, const int64_t* dims) {
    return states_->take(model.state_places[state], model.states[state], dims, state_data_[state], error_);
  });
  if (status != ONNXC_OK) return status;
  for (int32_t i = 0; device_ == nullptr && i < program_.buffer_count; ++i)
    if (program_.buffers[i].kind == BufferKind::state) buffers_[i] = state_data_[program_.buffers[i].index];
  return ONNXC_OK;
}

onnxc_status Instance::refuse_busy_states() {
  return refuse(ONNXC_BUSY, "an instance that shares the states is in another call");
}

onnxc_status Instance::check_state(int32_t state, const void* result) {
  if (state < 0 || state >= model.state_count) return refuse(ONNXC_INVALID_ARGUMENT, "no such state");
  return result != nullptr ? ONNXC_OK : refuse(ONNXC_INVALID_ARGUMENT, "the value or the place for the dims is null");
}

// The dims that it has, or those that it always has.
onnxc_status Instance::dims_of_state(int32_t state, Array<int64_t>& dims) {
  const TensorDescription& info = model.states[state];
  if (!dims.allocate(info.rank)) return refuse(ONNXC_OUT_OF_MEMORY, "no memory for the dims");
  const int32_t place = model.state_places[state];
  const bool is_held = states_->has_dims(place);
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    dims[axis] = is_held ? states_->dims(place)[axis] : number_of(info.dims[axis]);
    if (dims[axis] >= 0) continue;
    error_.append("state ");
    error_.append_name(info.name);
    error_.append(" has no dims before the first run: run the model, or set the state");
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

onnxc_status Instance::state_dims(int32_t state, int64_t* dims) {
  Call call(*this);
  if (!call.entered()) return ONNXC_BUSY;
  StateSet::Call states(states_);
  if (!states.entered()) return refuse_busy_states();
  const bool is_scalar = state >= 0 && state < model.state_count && model.states[state].rank == 0;
  onnxc_status status = is_scalar ? ONNXC_OK : check_state(state, dims);
  Array<int64_t> known;
  if (status == ONNXC_OK) status = dims_of_state(state, known);
  for (int64_t axis = 0; status == ONNXC_OK && axis < known.size(); ++axis) dims[axis] = known[axis];
  return status;
}

// Dtype, kind and place of a value for a state.
onnxc_status Instance::check_state_value(int32_t state, const onnxc_value& value) {
  if (value.device == ONNXC_CPU) return check_type({"state", state, model.states[state]}, value, false, error_);
  error_.append("state %d ", state);
  error_.append_name(model.states[state].name);
  error_.append(": its value must be in host memory");
  return ONNXC_UNSUPPORTED_DEVICE;
}

onnxc_status Instance::check_state_dims(int32_t state, const onnxc_value& value, const int64_t* expected) {
  const TensorDescription& info = model.states[state];
  const ValuePlace place{"state", state, info};
  onnxc_status status = check_dims(place, value.rank, value.dims, error_);
  for (int32_t axis = 0; status == ONNXC_OK && axis < info.rank; ++axis) {
    const int64_t dim = expected != nullptr ? expected[axis] : number_of(info.dims[axis]);
    if (dim < 0 || dim == value.dims[axis]) continue;
    error_.append("state %d ", state);
    error_.append_name(info.name);
    error_.append(": dim %d is %lld, and that of the state is %lld", axis, static_cast<long long>(value.dims[axis]),
                  static_cast<long long>(dim));
    status = ONNXC_WRONG_DIMS;
  }
  return status;
}

onnxc_status Instance::get_state(int32_t state, const onnxc_value* value) {
  Call call(*this);
  if (!call.entered()) return ONNXC_BUSY;
  StateSet::Call states(states_);
  if (!states.entered()) return refuse_busy_states();
  onnxc_status status = check_state(state, value);
  if (status == ONNXC_OK) status = check_state_value(state, *value);
  Array<int64_t> dims;
  if (status == ONNXC_OK) status = dims_of_state(state, dims);
  if (status == ONNXC_OK && value->dims != nullptr) status = check_state_dims(state, *value, dims.data());
  if (status == ONNXC_OK) status = check_memory({"state", state, model.states[state]}, *value, dims.data(), error_);
  if (status != ONNXC_OK) return status;
  const int32_t place = model.state_places[state];
  if (states_->has_dims(place)) return states_->get(place, value->data, error_);
  if (const int64_t bytes = tensor_bytes(value->dtype, model.states[state].rank, dims.data()); bytes > 0)
    memset(value->data, 0, static_cast<size_t>(bytes));
  return ONNXC_OK;
}

onnxc_status Instance::set_state(int32_t state, const onnxc_value* value) {
  Call call(*this);
  if (!call.entered()) return ONNXC_BUSY;
  StateSet::Call states(states_);
  if (!states.entered()) return refuse_busy_states();
  onnxc_status status = check_state(state, value);
  if (status == ONNXC_OK) status = check_state_value(state, *value);
  if (status == ONNXC_OK) status = check_state_dims(state, *value, nullptr);
  if (status == ONNXC_OK) status = check_memory({"state", state, model.states[state]}, *value, value->dims, error_);
  if (status != ONNXC_OK) return status;
  return states_->set(model.state_places[state], *value, tensor_bytes(value->dtype, value->rank, value->dims), error_);
}

onnxc_status Instance::reset_states() {
  Call call(*this);
  if (!call.entered()) return ONNXC_BUSY;
  StateSet::Call states(states_);
  if (!states.entered()) return refuse_busy_states();
  return states_ != nullptr ? states_->reset(error_) : ONNXC_OK;
}

}  // namespace onnxc::runtime
