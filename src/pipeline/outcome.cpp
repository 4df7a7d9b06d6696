#include "pipeline/outcome.h"

#include <fmt/format.h>

#include <new>
#include <system_error>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

Outcome error(Fault fault, std::string_view text) {
  return {fault, fmt::format("error: {}", printable_message(std::string(text)))};
}

}  // namespace

Outcome outcome_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const UsageError& thrown) {
    return error(Fault::usage, thrown.what());
  } catch (const UserError& thrown) {
    return error(Fault::user, thrown.what());
  } catch (const std::system_error& thrown) {  // what the machine lacks
    return error(Fault::user, thrown.what());
  } catch (const std::bad_alloc&) {
    return error(Fault::user, "out of memory");
  } catch (const std::exception& thrown) {
    return {Fault::compiler, fmt::format("internal error: {}\nThis is a bug of onnxc {}. Please report it with the "
                                         "model, or with what --dump-ir prints.",
                                         printable_message(thrown.what()), ONNXC_VERSION)};
  }
}

}  // namespace onnxc
