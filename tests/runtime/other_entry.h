// A second entry for the fake models: the same graph under another name.
#pragma once

#include "base/model.h"

namespace onnxc::runtime {

// A constant as the model is: a library of a model has no global constructors.
constexpr ModelDescription as_other_entry(const ModelDescription& model) {
  ModelDescription description = model;
  description.name = "other";
  return description;
}

}  // namespace onnxc::runtime
