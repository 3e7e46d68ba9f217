#include "backends/cuda/code/device_part.h"

#include <fstream>
#include <string>
#include <utility>

namespace atl::cuda_backend {
namespace {

/// The file may have changed since it was measured.
Result<std::string> read_file(const Constant& constant) {
  std::ifstream file(constant.path, std::ios::binary);
  std::string bytes(constant.size_bytes, '\0');
  const bool is_read =
      file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())).good() || bytes.empty();
  if (!is_read || file.peek() != std::ifstream::traits_type::eof()) {
    return invalid_argument("constant '", constant.name, "': ", constant.path, " is not the file of ",
                            constant.size_bytes, " bytes that it was a moment ago");
  }
  return bytes;
}

}  // namespace

Result<std::shared_ptr<DevicePart>> DevicePart::load(const CudaBackendContext& context, const ModelPlan& plan,
                                                     int32_t device) noexcept {
  ATOLL_RETURN_IF_ERROR(context.cuda->ensure_current(device));
  std::shared_ptr<DevicePart> part(new DevicePart(context, device));
  Result<DeviceCode> code = DeviceCode::load(*context.cuda, device, plan.pipeline, plan.code);
  if (!code.ok()) return std::move(code).status();
  part->code_ = std::move(code).value();
  for (const Constant& constant : plan.pipeline.constants)
    ATOLL_RETURN_IF_ERROR(part->load_constant(constant));
  return part;
}

Status DevicePart::load_constant(const Constant& constant) noexcept {
  Result<std::string> bytes = read_file(constant);
  if (!bytes.ok()) return std::move(bytes).status();
  Result<MemoryBlock> block = allocate(constant.size_bytes);
  if (!block.ok()) {
    return make_status(block.status().code(), "constant '", constant.name, "': ", block.status().message());
  }
  Buffer from;
  from.data = bytes->data();
  from.size_bytes = bytes->size();
  if (!bytes->empty()) ATOLL_RETURN_IF_ERROR(block->fill(from));
  constants_.push_back(std::move(block).value());
  return {};
}

}  // namespace atl::cuda_backend
