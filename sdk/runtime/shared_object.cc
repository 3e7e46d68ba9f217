#include "atoll/runtime/shared_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "atoll/core/file_descriptor.h"

namespace atl::runtime {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#endif

Status refuse(const std::string& path, std::string_view why) {
  return make_status(Code::kFailedPrecondition, path, ": ", why);
}

/// \returns whether the file has so many bytes there. Errors: FAILED_PRECONDITION it cannot be read, and why.
Result<bool> read_at(const std::string& path, int file, uint64_t offset, void* into, size_t size) {
  ssize_t count = 0;
  do {
    count = ::pread(file, into, size, static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  // An offset that is none comes from a header that is damaged.
  if (count < 0 && errno != EINVAL) return refuse(path, cat("cannot be read: ", std::strerror(errno)));
  return count == static_cast<ssize_t>(size);
}

Status check_elf(int file, uint64_t size_bytes, const std::string& path) {
  Elf64_Ehdr header;
  Result<bool> whole = read_at(path, file, 0, &header, sizeof header);
  if (!whole.ok()) return std::move(whole).status();
  if (!*whole) return {};  // too short; the dynamic linker says so
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine) {
    return refuse(path,
                  cat("a shared object for another machine (ELF machine ", header.e_machine, ", class ",
                      uint32_t{header.e_ident[EI_CLASS]}, "), expected machine ", kMachine, ", class 2"));
  }
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr))
    return refuse(path, "not a shared object");
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    uint64_t at = header.e_phoff + i * sizeof segment;
    whole = header.e_phoff > size_bytes ? false : read_at(path, file, at, &segment, sizeof segment);
    if (!whole.ok()) return std::move(whole).status();
    if (!*whole) return refuse(path, "truncated: its program headers are not in the file");
    if (segment.p_filesz > size_bytes || segment.p_offset > size_bytes - segment.p_filesz) {
      return refuse(path, cat("truncated: ", size_bytes, " bytes, but segment ", i, " has ", segment.p_filesz,
                              " bytes at ", segment.p_offset));
    }
  }
  // The section table is not needed to load, but it comes last, so it tells of a copy that was cut short.
  uint64_t sections_bytes = uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff > size_bytes || sections_bytes > size_bytes - header.e_shoff) {
    return refuse(path, cat("truncated: ", size_bytes, " bytes, but its section table ends at ",
                            header.e_shoff + sections_bytes));
  }
  return {};
}

// A name for this very file: the dynamic linker takes "dir/./name" and "dir//name" for files it has not seen
// yet, and then tells by the inode whether it has. Equal files get equal names, so that it does not collect
// names for one that is opened again and again.
std::string spelled_by_identity(const std::string& path, const FileIdentity& identity) {
  const size_t slash = path.rfind('/');
  std::string spelled = slash == std::string::npos ? "./" : path.substr(0, slash + 1);
  uint64_t bits = uint64_t{identity.inode} ^ (uint64_t{identity.device} << 40) ^
                  (static_cast<uint64_t>(identity.modified_ns) * 0x9E3779B97F4A7C15u);
  for (; bits != 0; bits >>= 1) spelled += (bits & 1) != 0 ? "./" : "/";
  return spelled + (slash == std::string::npos ? path : path.substr(slash + 1));
}

std::string linker_message(const std::string& spelled, const std::string& path) {
  const char* raw = ::dlerror();
  std::string text = raw == nullptr ? "the dynamic linker gave no reason" : raw;
  if (size_t at = text.find(spelled); at != std::string::npos) {
    text.replace(at, spelled.size(), path);
  } else {
    text.insert(0, path + ": ");  // it speaks of a library that the file needs
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::atomic<int> open_flags{RTLD_NOW | RTLD_LOCAL};

}  // namespace

Result<FileIdentity> inspect_shared_object(const std::string& path) {
  struct stat status {};
  // Before opening: opening a device can have effects of its own.
  if (::stat(path.c_str(), &status) != 0) return not_found("cannot open ", path, ": ", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse(path, "not a regular file");
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid())
    return make_status(Code::kFailedPrecondition, "cannot open ", path, ": ", std::strerror(errno));
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return refuse(path, "not a regular file");
  ATOLL_RETURN_IF_ERROR(check_elf(file.get(), static_cast<uint64_t>(status.st_size), path));
  return FileIdentity{status.st_dev, status.st_ino, status.st_size,
                      status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

void SharedObject::prefer_own_symbols() noexcept {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  open_flags.store(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
#endif
}

Result<SharedObject> SharedObject::open(const std::string& path) {
  Result<FileIdentity> identity = inspect_shared_object(path);
  if (!identity.ok()) return std::move(identity).status();
  return open_as(spelled_by_identity(path, identity.value()), path);
}

Result<SharedObject> SharedObject::open_as(const std::string& spelled, const std::string& path) {
  void* handle = ::dlopen(spelled.c_str(), open_flags.load());
  if (handle == nullptr) return make_status(Code::kFailedPrecondition, linker_message(spelled, path));
  return SharedObject(handle);
}

SharedObject::~SharedObject() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void* SharedObject::symbol(const char* name) const noexcept {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

}  // namespace atl::runtime
