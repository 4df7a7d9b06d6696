#include "host/state_set.h"

#include <stdlib.h>

#include <algorithm>
#include <new>

#include "base/memory_plan.h"
#include "base/value_check.h"

namespace onnxc::runtime {

StateSet* StateSet::create(const DeviceBackend* backend, const DeviceInstance* device, onnxc_status& status,
                           ErrorText& error) {
  void* memory = malloc(sizeof(StateSet));
  if (memory == nullptr) {
    error.append("no memory for an instance");
    status = ONNXC_OUT_OF_MEMORY;
    return nullptr;
  }
  auto* set = new (memory) StateSet;
  status = set->memory_.set_up(backend, device, error);
  if (status == ONNXC_OK) status = set->set_up(error);
  if (status == ONNXC_OK) return set;
  release(set);
  return nullptr;
}

StateSet* StateSet::share() {
  users_.fetch_add(1, std::memory_order_relaxed);
  return this;
}

void StateSet::release(StateSet* set) {
  if (set == nullptr || set->users_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  set->~StateSet();
  free(set);
}

StateSet::~StateSet() {
  for (const Held& held : held_) memory_.free(held.data);
}

// The compiler has seen to it that states of one name have one rank.
onnxc_status StateSet::set_up(ErrorText& error) {
  bool has_memory = held_.allocate(shared_object.state_count);
  for (int32_t entry = 0; has_memory && entry < shared_object.entry_count; ++entry) {
    const ModelDescription& model = *shared_object.entries[entry].model;
    for (int32_t i = 0; i < model.state_count; ++i) held_[model.state_places[i]].rank = model.states[i].rank;
  }
  int32_t ranks = 0;
  for (Held& held : held_) {
    held.first_dim = ranks;
    ranks += held.rank;
  }
  has_memory = has_memory && dims_.allocate(ranks);
  if (!has_memory) error.append("no memory for an instance");
  return has_memory ? ONNXC_OK : ONNXC_OUT_OF_MEMORY;
}

onnxc_status StateSet::make_room(Held& held, int64_t bytes, ErrorText& error) {
  if (bytes == held.bytes) return ONNXC_OK;
  held.bytes = 0;
  held.is_known = held.is_given = false;
  const onnxc_status status = memory_.allocate(bytes, held.data, error);
  if (status == ONNXC_OK) held.bytes = bytes;
  return status;
}

void StateSet::keep_dims(Held& held, const int64_t* dims) {
  std::copy_n(dims, held.rank, dims_.data() + held.first_dim);
  held.is_known = true;
}

bool StateSet::has_these_dims(const Held& held, const int64_t* dims) const {
  return held.is_known && std::equal(dims, dims + held.rank, dims_.data() + held.first_dim);
}

onnxc_status StateSet::check(int32_t place, const TensorDescription& info, const int64_t* dims,
                             ErrorText& error) const {
  const Held& held = held_[place];
  if (has_these_dims(held, dims)) return ONNXC_OK;
  if (held.is_given) {
    error.append("state ");
    error.append_name(info.name);
    error.append(" was set with the dims ");
    error.append_dims(dims_.data() + held.first_dim, held.rank);
    error.append(", and with these inputs it has ");
    error.append_dims(dims, held.rank);
    error.append(": set it with those, or reset the states");
    return ONNXC_WRONG_DIMS;
  }
  const int64_t bytes = tensor_bytes(info.dtype, info.rank, dims);
  if (bytes >= 0 && bytes <= INT64_MAX - memory_alignment) return ONNXC_OK;
  error.append("with these dims of the inputs, the size of state ");
  error.append_name(info.name);
  error.append(" does not fit in 63 bits");
  return ONNXC_WRONG_DIMS;
}

onnxc_status StateSet::take(int32_t place, const TensorDescription& info, const int64_t* dims, void*& data,
                            ErrorText& error) {
  Held& held = held_[place];
  if (!has_these_dims(held, dims)) {
    const int64_t bytes = tensor_bytes(info.dtype, info.rank, dims);
    onnxc_status status = make_room(held, bytes, error);
    if (status == ONNXC_OK) status = memory_.clear(held.data, bytes, error);
    if (status != ONNXC_OK) return status;
    keep_dims(held, dims);
  }
  held.is_given = false;
  data = held.data;
  return ONNXC_OK;
}

onnxc_status StateSet::set(int32_t place, const onnxc_value& value, int64_t bytes, ErrorText& error) {
  Held& held = held_[place];
  onnxc_status status = make_room(held, bytes, error);
  if (status == ONNXC_OK) status = memory_.write(held.data, value.data, bytes, error);
  if (status != ONNXC_OK) return status;
  keep_dims(held, value.dims);
  held.is_given = true;
  return ONNXC_OK;
}

onnxc_status StateSet::get(int32_t place, void* data, ErrorText& error) {
  return memory_.read(data, held_[place].data, held_[place].bytes, error);
}

onnxc_status StateSet::reset(ErrorText& error) {
  for (Held& held : held_) {
    const onnxc_status status = memory_.clear(held.data, held.bytes, error);
    if (status != ONNXC_OK) return status;
    held.is_given = false;
  }
  return ONNXC_OK;
}

}  // namespace onnxc::runtime
