/// Handles by which other processes open an allocation. The bytes are in the memory file of the process that allocated them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "atoll/core/file_descriptor.h"
#include "driver.h"

namespace atl::cuda_double {
namespace {

constexpr char kMark[8] = {'A', 'T', 'O', 'L', 'L', 'I', 'P', 'C'};

struct Handle {
  char mark[8];
  int32_t process;
  int32_t file;
  uint64_t process_start;  ///< a process's number is used again
  uint64_t announcement;
  uint64_t offset;
  uint64_t bytes;
  CudaUuid device;
};
static_assert(sizeof(Handle) == sizeof(CudaIpcHandle));

/// When the process began, in the system's ticks. \return 0: there is none
uint64_t start_of(int32_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  constexpr int kFieldsUpToStart = 20;
  for (int i = 0; i < kFieldsUpToStart; ++i) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

/// The other process's memory file. Below 0: the allocation is not there any more.
FileDescriptor open_file(const Handle& handle) {
  if (start_of(handle.process) != handle.process_start) return {};
  const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) return {};
  const bool is_there = AddressSpace::is_announced(file.get(), handle.announcement);
  return is_there ? std::move(file) : FileDescriptor();
}

Device* device_with(const CudaUuid& uuid) {
  for (const auto& device : driver().devices) {
    if (std::memcmp(&device->about.uuid, &uuid, sizeof(uuid)) == 0) return device.get();
  }
  return nullptr;
}

}  // namespace

namespace api {

CudaResult cuIpcGetMemHandle(CudaIpcHandle* handle, CudaAddress address) {
  return enter(__func__, kCurrentContext, [&](Call&) {
    Memory& memory = driver().memory;
    Allocation* found = memory.find(address);
    if (found == nullptr || found->origin != Origin::kAllocated || found->free_is_ordered)
      return CudaResult::INVALID_VALUE;
    if (found->announcement == 0) found->announcement = memory.space.announce();
    Handle made = {};
    std::memcpy(made.mark, kMark, sizeof(kMark));
    made.process = getpid();
    made.file = memory.space.file();
    made.process_start = start_of(made.process);
    made.announcement = found->announcement;
    made.offset = memory.space.offset(found->address);
    made.bytes = found->bytes;
    made.device = found->device->about.uuid;
    std::memcpy(handle, &made, sizeof(made));
    return CudaResult::SUCCESS;
  });
}

CudaResult cuIpcOpenMemHandle(CudaAddress* address, CudaIpcHandle handle, uint32_t flags) {
  return enter(__func__, kCurrentContext | kNotInCapture, [&](Call& call) {
    Driver& all = driver();
    Handle wanted = {};
    std::memcpy(&wanted, &handle, sizeof(wanted));
    if (flags != kCudaIpcLazyPeerAccess || std::memcmp(wanted.mark, kMark, sizeof(kMark)) != 0)
      return CudaResult::INVALID_VALUE;
    if (wanted.process == getpid()) {
      call.misuse("the handle is one of this process");
      return CudaResult::INVALID_CONTEXT;
    }
    const std::string key(handle.bytes, sizeof(handle.bytes));
    if (const auto open = all.opened.find(key); open != all.opened.end()) {
      ++all.memory.allocations.at(open->second).opened;
      *address = open->second;
      return CudaResult::SUCCESS;
    }
    Device* device = device_with(wanted.device);
    const FileDescriptor file = open_file(wanted);
    if (device == nullptr || file.get() < 0) return CudaResult::INVALID_VALUE;
    const CudaAddress taken = all.memory.space.take(wanted.bytes, AddressSpace::kPage);
    if (taken == 0) return CudaResult::OUT_OF_MEMORY;
    if (!all.memory.space.show(taken, wanted.bytes, file.get(), wanted.offset)) {
      all.memory.space.give_back(taken, wanted.bytes);
      return CudaResult::MAP_FAILED_;
    }
    Allocation& made = all.memory.allocations[taken];
    made.address = *address = taken;
    made.bytes = wanted.bytes;
    made.device = device;
    made.origin = Origin::kOpened;
    made.opened = 1;
    all.opened.emplace(key, taken);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuIpcCloseMemHandle(CudaAddress address) {
  return enter(__func__, kCurrentContext | kGivesBack | kNotInCapture, [&](Call& call) {
    Driver& all = driver();
    const auto it = all.memory.allocations.find(address);
    if (it == all.memory.allocations.end() || it->second.origin != Origin::kOpened) {
      call.misuse("this is no open handle, or no longer");
      return CudaResult::INVALID_VALUE;
    }
    if (--it->second.opened != 0) return CudaResult::SUCCESS;
    std::erase_if(all.opened, [address](const auto& one) { return one.second == address; });
    it->second.free_is_ordered = true;
    if (const CudaResult result = all.wait_for_all(call.lock, *call.context); result != CudaResult::SUCCESS)
      return result;
    all.memory.space.show_own(address, it->second.bytes);
    all.memory.space.give_back(address, it->second.bytes);
    all.memory.allocations.erase(it);
    return CudaResult::SUCCESS;
  });
}

}  // namespace api
}  // namespace atl::cuda_double
