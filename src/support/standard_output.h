// Standard output is data: when it cannot be written, the command has failed.
#pragma once

namespace onnxc {

// To be called when all has been printed. Throws UserError when any of it could not be written (a full disk).
void finish_standard_output();

}  // namespace onnxc
