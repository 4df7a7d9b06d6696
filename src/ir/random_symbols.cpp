#include "ir/random_symbols.h"

namespace onnxc {
namespace {

// Older than all other symbols, whichever model is compiled first: the order of symbols shows in sources.
const Symbol seed = Symbol::dim("run_seed"), pass = Symbol::dim("run_pass");

}  // namespace

const Symbol& run_seed() { return seed; }
const Symbol& run_pass() { return pass; }

}  // namespace onnxc
