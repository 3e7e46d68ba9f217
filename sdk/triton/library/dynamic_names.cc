#include "dynamic_names.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "atoll/core/file_descriptor.h"

namespace atl::triton {
namespace {

/// The bytes, with every access checked.
class ElfBytes {
 public:
  explicit ElfBytes(std::span<const char> file) noexcept : file_(file) {}

  template <class T>
  std::optional<T> read(uint64_t offset) const noexcept {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }
  std::optional<std::string> text(uint64_t offset) const {
    if (offset >= file_.size()) return std::nullopt;
    const char* begin = file_.data() + offset;
    const void* end = std::memchr(begin, '\0', file_.size() - offset);
    if (end == nullptr) return std::nullopt;
    return std::string(begin, static_cast<const char*>(end));
  }

 private:
  std::span<const char> file_;
};

struct Segments {
  std::vector<Elf64_Phdr> loaded;
  std::optional<Elf64_Phdr> dynamic;

  /// Where in the file the byte of that address is.
  std::optional<uint64_t> offset_of(uint64_t address) const noexcept {
    for (const Elf64_Phdr& segment : loaded) {
      if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
        return segment.p_offset + (address - segment.p_vaddr);
      }
    }
    return std::nullopt;
  }
};

Status broken(std::string_view what) { return invalid_argument("not a shared object: ", what); }

Result<Segments> read_segments(const ElfBytes& bytes) {
  auto header = bytes.read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return broken("no ELF header of 64 bits");
  }
  Segments segments;
  for (uint32_t i = 0; i < header->e_phnum; ++i) {
    auto segment = bytes.read<Elf64_Phdr>(header->e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return broken("its program headers are not in the file");
    if (segment->p_type == PT_LOAD) segments.loaded.push_back(*segment);
    if (segment->p_type == PT_DYNAMIC) segments.dynamic = *segment;
  }
  return segments;
}

struct DynamicSection {
  std::vector<uint64_t> needed;  ///< places of the names among the strings
  std::optional<uint64_t> soname;
  std::optional<uint64_t> strings;  ///< address
};

Result<DynamicSection> read_section(const ElfBytes& bytes, const Elf64_Phdr& where) {
  DynamicSection section;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= where.p_filesz; at += sizeof(Elf64_Dyn)) {
    auto entry = bytes.read<Elf64_Dyn>(where.p_offset + at);
    if (!entry) return broken("its dynamic section is not in the file");
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) section.needed.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_SONAME) section.soname = entry->d_un.d_val;
    if (entry->d_tag == DT_STRTAB) section.strings = entry->d_un.d_ptr;
  }
  return section;
}

}  // namespace

Result<DynamicNames> read_dynamic_names(std::span<const char> file) {
  const ElfBytes bytes(file);
  Result<Segments> segments = read_segments(bytes);
  if (!segments.ok()) return std::move(segments).status();
  DynamicNames names;
  if (!segments->dynamic) return names;
  Result<DynamicSection> section = read_section(bytes, *segments->dynamic);
  if (!section.ok()) return std::move(section).status();
  if (section->needed.empty() && !section->soname) return names;
  const std::optional<uint64_t> strings =
      section->strings ? segments->offset_of(*section->strings) : std::nullopt;
  if (!strings) return broken("it has no table of strings");
  for (uint64_t at : section->needed) {
    auto name = bytes.text(*strings + at);
    if (!name) return broken("the name of what it needs is not in the file");
    names.needed.push_back(std::move(*name));
  }
  if (section->soname) {
    auto name = bytes.text(*strings + *section->soname);
    if (!name) return broken("its name is not in the file");
    names.soname = std::move(*name);
    names.soname_offset = *strings + *section->soname;
  }
  return names;
}

Result<DynamicNames> read_dynamic_names(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return not_found("cannot read ", path, ": ", std::strerror(errno));
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return broken("it is empty");
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return not_found("cannot read ", path, ": ", std::strerror(errno));
  Result<DynamicNames> names = read_dynamic_names(std::span(static_cast<const char*>(mapped), size));
  ::munmap(mapped, size);
  return names;
}

}  // namespace atl::triton
