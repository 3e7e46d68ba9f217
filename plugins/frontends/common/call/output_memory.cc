#include "frontends/common/call/output_memory.h"

namespace atl::frontends {
namespace {

constexpr size_t kTensorAlignment = 64;
/// Larger answers than this are a defect of the model; also keeps sums of sizes from overflowing.
constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 40;

}  // namespace

Status give_output_memory(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept {
  free_output_memory(output);
  output.buffer = {};
  if (size_bytes <= kInlineBytes) {
    output.buffer.data = response.arena().allocate(size_bytes, kTensorAlignment);
  } else {
    if (size_bytes <= kMaxTensorBytes) output.buffer.data = take_output_block(size_bytes);
    if (output.buffer.data == nullptr) return no_output_memory(output, size_bytes);
    output.sink_data = reinterpret_cast<uint64_t>(output.buffer.data);
  }
  output.buffer.size_bytes = size_bytes;
  return {};
}

Status no_output_memory(const OutputTensor& output, uint64_t size_bytes) noexcept {
  return make_status(Code::kResourceExhausted, "no memory for the ", size_bytes, " bytes of output '",
                     output.name, "'");
}

}  // namespace atl::frontends
