// Registration of shared memory. A server without the service answers as one that has it switched off.
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/management/management.h"
#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

Status disabled() { return Status(Code::kUnimplemented, std::string(messages::kSharedMemoryDisabled)); }

Result<std::vector<SharedMemoryRegion>> regions(ServerAccess& server, RegionKind kind,
                                                const std::string& name) noexcept {
  if (auto memory = server.shared_memory->hold()) return memory->status(kind, name);
  if (name.empty()) return std::vector<SharedMemoryRegion>();
  return not_found("Unable to find ", kind == RegionKind::kSystem ? "system" : "cuda",
                   " shared memory region: '", name, "'");
}

}  // namespace

Status system_region_status(ServerAccess& server, const inference::SystemSharedMemoryStatusRequest& request,
                            inference::SystemSharedMemoryStatusResponse* response) noexcept {
  auto found = regions(server, RegionKind::kSystem, request.name());
  if (!found.ok()) return std::move(found).status();
  for (const SharedMemoryRegion& region : found.value()) {
    auto& status = (*response->mutable_regions())[region.name];
    status.set_name(region.name);
    status.set_key(region.key);
    status.set_offset(region.offset);
    status.set_byte_size(region.byte_size);
  }
  return {};
}

Status register_system_region(ServerAccess& server,
                              const inference::SystemSharedMemoryRegisterRequest& request) noexcept {
  auto memory = server.shared_memory->hold();
  if (!memory) return disabled();
  return memory->register_system(request.name(), request.key(), request.offset(), request.byte_size());
}

Status unregister_system_region(ServerAccess& server,
                                const inference::SystemSharedMemoryUnregisterRequest& request) noexcept {
  auto memory = server.shared_memory->hold();
  if (!memory) return disabled();
  return memory->unregister(RegionKind::kSystem, request.name());
}

Status cuda_region_status(ServerAccess& server, const inference::CudaSharedMemoryStatusRequest& request,
                          inference::CudaSharedMemoryStatusResponse* response) noexcept {
  auto found = regions(server, RegionKind::kCuda, request.name());
  if (!found.ok()) return std::move(found).status();
  for (const SharedMemoryRegion& region : found.value()) {
    auto& status = (*response->mutable_regions())[region.name];
    status.set_name(region.name);
    status.set_device_id(static_cast<uint64_t>(region.device_id));
    status.set_byte_size(region.byte_size);
  }
  return {};
}

Status register_cuda_region(ServerAccess& server,
                            const inference::CudaSharedMemoryRegisterRequest& request) noexcept {
  auto memory = server.shared_memory->hold();
  if (!memory) return disabled();
  return memory->register_cuda(request.name(), std::as_bytes(std::span(request.raw_handle())),
                               request.device_id(), request.byte_size());
}

Status unregister_cuda_region(ServerAccess& server,
                              const inference::CudaSharedMemoryUnregisterRequest& request) noexcept {
  auto memory = server.shared_memory->hold();
  if (!memory) return disabled();
  return memory->unregister(RegionKind::kCuda, request.name());
}

}  // namespace atl::frontends
