// How one target spells scalar operations. CPU and HIP are both C++: this class has what they share, and a target
// overrides what differs.
#pragma once

#include <span>
#include <string>

#include "ir/loops/loops.h"

namespace onnxc {

class ScalarDialect {
 public:
  virtual ~ScalarDialect() = default;

  // The type of a variable that holds a value: half types are held as float.
  virtual std::string value_type(DType dtype) const;
  // The type of an element in memory.
  virtual std::string storage_type(DType dtype) const;
  virtual std::string constant(const ScalarNode& node) const;
  // The value of pointer[offset].
  virtual std::string load(DType dtype, const std::string& pointer, const std::string& offset) const;
  // `value` as it is stored in an element.
  virtual std::string stored(DType dtype, const std::string& value) const;
  // An operation with operands (not a leaf, not select) on values spelled `operands`.
  virtual std::string operation(const ScalarNode& node, std::span<const std::string> operands) const;
  virtual std::string select(const std::string& condition, const std::string& if_true,
                             const std::string& if_false) const;
  // Whether to load the value in a select before the select is decided; the memory must exist.
  virtual bool loads_early(const ScalarNode& load) const { return load.in_bounds; }

 private:
  std::string plain_operation(const ScalarNode& node, std::span<const std::string> operands) const;
};

}  // namespace onnxc
