#include "backends/python/memory/shared_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace atl::python {
namespace {

Status no_memory(uint64_t size_bytes) {
  return make_status(Code::kResourceExhausted, size_bytes,
                     " bytes of memory cannot be shared with a worker: ", std::strerror(errno));
}

}  // namespace

Result<SharedRegion> SharedRegion::create(const std::string& name, uint64_t size_bytes) {
  SharedRegion region;
  region.descriptor_ = FileDescriptor(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int file = region.descriptor_.get();
  if (!region.descriptor_.valid() || ::ftruncate(file, static_cast<off_t>(size_bytes)) != 0 ||
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return no_memory(size_bytes);
  }
  void* mapped = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return no_memory(size_bytes);
  region.data_ = static_cast<std::byte*>(mapped);
  region.size_bytes_ = size_bytes;
  return region;
}

SharedRegion::SharedRegion(SharedRegion&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SharedRegion& SharedRegion::operator=(SharedRegion&& other) noexcept {
  SharedRegion former(std::move(*this));
  descriptor_ = std::move(other.descriptor_);
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  return *this;
}

SharedRegion::~SharedRegion() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

void SharedRegion::drop(uint64_t offset, uint64_t size_bytes) noexcept {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t begin = (offset + page - 1) / page * page, end = (offset + size_bytes) / page * page;
  if (begin < end) (void)::madvise(data_ + begin, end - begin, MADV_REMOVE);
}

}  // namespace atl::python
