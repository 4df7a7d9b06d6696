// The highest rate of one thread of this machine; measured once, when it is first asked for.
#pragma once

namespace onnxc::microbenchmark {

double peak_flops();
double peak_bytes_read();

}  // namespace onnxc::microbenchmark
