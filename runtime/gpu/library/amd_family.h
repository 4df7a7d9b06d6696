// Families of AMD's GPUs whose code is alike.
#pragma once

namespace onnxc::runtime {

// The architecture whose code runs on all GPUs of a family, such as "gfx11-generic" for "gfx1103"; null if there is
// none. onnxc says the same (machine/gpu_machines.h).
const char* family_of(const char* architecture);

}  // namespace onnxc::runtime
