// Registration of shared memory. A server without the service answers as one that has it switched off.
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/management/management.h"
#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

Status disabled() { return Status(Code::kUnimplemented, std::string(messages::kSharedMemoryDisabled)); }

/// The service, if it can do what the caller needs.
Followed<SharedMemory>::Hold memory_for(ServerAccess& server, std::string_view owner) noexcept {
  auto memory = server.shared_memory->hold();
  // One that knows no owners would let everybody have everybody's regions.
  if (memory && !owner.empty() && memory.minor() < 1) memory.reset();
  return memory;
}

Result<std::vector<SharedMemoryRegion>> regions(ServerAccess& server, const Identity* caller, RegionKind kind,
                                                const std::string& name) noexcept {
  const std::string_view owner = owner_of(caller);
  if (auto memory = memory_for(server, owner))
    return memory.minor() < 1 ? memory->status(kind, name) : memory->status_for(owner, kind, name);
  if (name.empty()) return std::vector<SharedMemoryRegion>();
  return not_found("Unable to find ", kind == RegionKind::kSystem ? "system" : "cuda",
                   " shared memory region: '", name, "'");
}

Status unregister(const Followed<SharedMemory>::Hold& memory, std::string_view owner, RegionKind kind,
                  const std::string& name) noexcept {
  return memory.minor() < 1 ? memory->unregister(kind, name) : memory->unregister_for(owner, kind, name);
}

}  // namespace

Status system_region_status(ServerAccess& server, const Identity* caller,
                            const inference::SystemSharedMemoryStatusRequest& request,
                            inference::SystemSharedMemoryStatusResponse* response) noexcept {
  auto found = regions(server, caller, RegionKind::kSystem, request.name());
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

Status register_system_region(ServerAccess& server, const Identity* caller,
                              const inference::SystemSharedMemoryRegisterRequest& request) noexcept {
  const std::string_view owner = owner_of(caller);
  auto memory = memory_for(server, owner);
  if (!memory) return disabled();
  if (memory.minor() < 1)
    return memory->register_system(request.name(), request.key(), request.offset(), request.byte_size());
  return memory->register_system_for(owner, request.name(), request.key(), request.offset(),
                                     request.byte_size());
}

Status unregister_system_region(ServerAccess& server, const Identity* caller,
                                const inference::SystemSharedMemoryUnregisterRequest& request) noexcept {
  const std::string_view owner = owner_of(caller);
  auto memory = memory_for(server, owner);
  if (!memory) return disabled();
  return unregister(memory, owner, RegionKind::kSystem, request.name());
}

Status cuda_region_status(ServerAccess& server, const Identity* caller,
                          const inference::CudaSharedMemoryStatusRequest& request,
                          inference::CudaSharedMemoryStatusResponse* response) noexcept {
  auto found = regions(server, caller, RegionKind::kCuda, request.name());
  if (!found.ok()) return std::move(found).status();
  for (const SharedMemoryRegion& region : found.value()) {
    auto& status = (*response->mutable_regions())[region.name];
    status.set_name(region.name);
    status.set_device_id(static_cast<uint64_t>(region.device_id));
    status.set_byte_size(region.byte_size);
  }
  return {};
}

Status register_cuda_region(ServerAccess& server, const Identity* caller,
                            const inference::CudaSharedMemoryRegisterRequest& request) noexcept {
  const std::string_view owner = owner_of(caller);
  auto memory = memory_for(server, owner);
  if (!memory) return disabled();
  const auto handle = std::as_bytes(std::span(request.raw_handle()));
  if (memory.minor() < 1)
    return memory->register_cuda(request.name(), handle, request.device_id(), request.byte_size());
  return memory->register_cuda_for(owner, request.name(), handle, request.device_id(), request.byte_size());
}

Status unregister_cuda_region(ServerAccess& server, const Identity* caller,
                              const inference::CudaSharedMemoryUnregisterRequest& request) noexcept {
  const std::string_view owner = owner_of(caller);
  auto memory = memory_for(server, owner);
  if (!memory) return disabled();
  return unregister(memory, owner, RegionKind::kCuda, request.name());
}

}  // namespace atl::frontends
