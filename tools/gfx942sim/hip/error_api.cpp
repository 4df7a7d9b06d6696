// HIP's calls about errors.
#include <utility>

#include "gfx942sim/hip/api_call.h"

namespace gfx942sim::hip {
namespace {

struct ErrorText {
  hipError_t code;
  const char* name;
  const char* text;
};
constexpr ErrorText error_texts[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorInvalidResourceHandle, "hipErrorInvalidResourceHandle", "invalid resource handle"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported", "operation not permitted while capturing"},
    {hipErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated", "the capture was invalidated"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched", "the stream does not capture"},
    {hipErrorStreamCaptureImplicit, "hipErrorStreamCaptureImplicit", "the null stream would depend on a capture"},
    {hipErrorStreamCaptureIsolation, "hipErrorStreamCaptureIsolation", "dependency created on uncaptured work"},
    {hipErrorCapturedEvent, "hipErrorCapturedEvent", "operation not permitted on an event of a capture"},
    {hipErrorStreamCaptureWrongThread, "hipErrorStreamCaptureWrongThread", "the capture was begun by another thread"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
};

const ErrorText& error_text(hipError_t code) {
  static constexpr ErrorText unknown{hipErrorUnknown, "hipErrorUnknown", "unknown error"};
  for (const ErrorText& row : error_texts)
    if (row.code == code) return row;
  return unknown;
}

}  // namespace
}  // namespace gfx942sim::hip

using namespace gfx942sim;
using namespace gfx942sim::hip;

extern "C" {

hipError_t hipGetLastError() { return std::exchange(last_error, hipSuccess); }

hipError_t hipPeekAtLastError() { return last_error; }

const char* hipGetErrorString(hipError_t code) { return error_text(code).text; }

const char* hipGetErrorName(hipError_t code) { return error_text(code).name; }

}  // extern "C"
