#include "memory/shared/shared_object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace atl::memory {
namespace {

/// Objects that servers make for processes of their own.
constexpr std::string_view kReservedPrefixes[] = {"triton_python_backend_shm_region_",
                                                  "atoll_backend_shm_region_"};

Status cannot_open(std::string_view key) {
  return internal_error("Unable to open shared memory region: '", key, "'");
}

uint64_t page_bytes() noexcept { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

std::string shown(std::string_view name) {
  if (name.size() <= kMaxNameBytes) return std::string(name);
  size_t end = kMaxNameBytes;
  // Not inside a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return cat(name.substr(0, end), "...");
}

Mapping::~Mapping() {
  if (base_ == nullptr) return;
  // In this order: once it is unmapped, the address may be anybody's.
  BusErrorGuard::forget(watch_);
  munmap(base_, mapped_bytes_);
}

uint64_t Mapping::mapped_bytes(uint64_t offset, uint64_t byte_size) noexcept {
  const uint64_t page = page_bytes();
  const uint64_t begin = offset & ~(page - 1);
  return (offset + byte_size - begin + page - 1) & ~(page - 1);
}

Status PosixObject::check_key(std::string_view region, std::string_view key, std::string* name) noexcept {
  if (key.empty()) return cannot_open(key);
  const size_t slashes = key.find_first_not_of('/');
  const std::string_view object = slashes == std::string_view::npos ? "" : key.substr(slashes);
  const std::string refusal =
      cat("cannot register shared memory region '", region, "' - invalid shm key '", shown(key), "'");
  if (object.empty()) return Status(Code::kInvalidArgument, refusal);
  if (object.size() > kMaxNameBytes) {
    return invalid_argument(refusal, ": ", object.size(), " bytes, expected at most ", kMaxNameBytes);
  }
  if (object == "." || object == ".." || object.find('/') != object.npos ||
      object.find('\0') != object.npos) {
    return invalid_argument(refusal, ": expected the name of an object, without '/' inside");
  }
  for (std::string_view prefix : kReservedPrefixes) {
    if (!object.starts_with(prefix)) continue;
    return invalid_argument("cannot register shared memory region '", region, "' with key '", key,
                            "' as the key contains the reserved prefix '", prefix, "'");
  }
  *name = cat("/", object);
  return {};
}

Result<PosixObject> PosixObject::open(const std::string& name, std::string_view key) noexcept {
  // A link in the directory of objects is not followed, so no file outside it can be reached.
  const int fd = shm_open(name.c_str(), O_RDWR, 0);
  if (fd < 0) return cannot_open(key);
  PosixObject object(fd);
  struct stat about = {};
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return cannot_open(key);
  object.size_bytes_ = static_cast<uint64_t>(about.st_size);
  object.owner_ = about.st_uid;
  return object;
}

Result<Mapping> PosixObject::map(std::string_view region, uint64_t offset,
                                 uint64_t byte_size) const noexcept {
  const uint64_t before = offset % page_bytes();
  Mapping mapping;
  mapping.mapped_bytes_ = Mapping::mapped_bytes(offset, byte_size);
  void* base = mmap(nullptr, mapping.mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                    static_cast<off_t>(offset - before));
  if (base == MAP_FAILED) {
    return invalid_argument("failed to register shared memory region '", region,
                            "': unable to process address space", strerror(errno));
  }
  mapping.watch_ = BusErrorGuard::watch(base, mapping.mapped_bytes_);
  if (mapping.watch_ == nullptr) {
    munmap(base, mapping.mapped_bytes_);
    return make_status(Code::kResourceExhausted, "cannot register shared memory region '", region,
                       "': ", BusErrorGuard::kWatches, " regions are mapped, more are not possible");
  }
  mapping.base_ = base;
  mapping.data_ = static_cast<std::byte*>(base) + before;
  return mapping;
}

}  // namespace atl::memory
