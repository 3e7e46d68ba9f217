#include "kernel/loader/plugin_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace atl::kernel {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#endif

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

bool read_at(int file, uint64_t offset, void* into, size_t size) {
  return ::pread(file, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

Status refuse(const std::string& path, std::string_view why) {
  return make_status(Code::kFailedPrecondition, path, ": ", why);
}

Status check_elf(int file, uint64_t size_bytes, const std::string& path) {
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, sizeof header)) return {};  // too short; the dynamic linker says so
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
    if (header.e_phoff > size_bytes || !read_at(file, at, &segment, sizeof segment)) {
      return refuse(path, "truncated: its program headers are not in the file");
    }
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

}  // namespace

Result<std::string> find_plugin_file(std::string_view use, const std::string& file,
                                     const std::vector<std::string>& search_path) {
  if (!file.empty()) return file;
  if (use.empty() || use.front() == '/' || cat("/", use, "/").find("/../") != std::string::npos ||
      use.find('\0') != std::string_view::npos) {
    return invalid_argument("'", use, "' is not a plugin name, expected role/name");
  }
  std::string searched;
  for (const std::string& folder : search_path) {
    std::string path = cat(folder, "/", use, ".so");
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return path;
    searched += cat(searched.empty() ? "" : ", ", folder);
  }
  return not_found("no file ", use, ".so in the plugin path (",
                   searched.empty() ? "which is empty" : searched, ")");
}

Result<FileIdentity> inspect_plugin_file(const std::string& path) {
  struct stat status {};
  // Before opening: opening a device can have effects of its own.
  if (::stat(path.c_str(), &status) != 0) return not_found("cannot open ", path, ": ", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse(path, "not a regular file");
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0)
    return make_status(Code::kFailedPrecondition, "cannot open ", path, ": ", std::strerror(errno));
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return refuse(path, "not a regular file");
  ATOLL_RETURN_IF_ERROR(check_elf(file.get(), static_cast<uint64_t>(status.st_size), path));
  return FileIdentity{status.st_dev, status.st_ino, status.st_size,
                      status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

}  // namespace atl::kernel
