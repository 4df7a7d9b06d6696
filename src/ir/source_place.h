// The place in the exporting program at which something of a model was written. Text from the model: never code.
#pragma once

#include <string>

namespace onnxc {

// As far as the file says it: each text may be empty.
struct SourcePlace {
  std::string module;  // the path of a PyTorch module, as named_modules() gives it: "skip_layers.upsample"
  std::string line;    // "monai/networks/blocks/dynunet_block.py:242"
  std::string code;    // that line: "out = torch.cat((out, skip), dim=1)"

  bool is_known() const { return !module.empty() || !line.empty(); }
  // "monai/networks/blocks/dynunet_block.py:242 in skip_layers.upsample", fit for a terminal; "" if nothing is known.
  std::string describe() const;
};

}  // namespace onnxc
