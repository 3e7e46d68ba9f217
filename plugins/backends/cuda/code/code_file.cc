#include "backends/cuda/code/code_file.h"

#include <elf.h>

#include <cstring>
#include <vector>

#include "atoll/core/text.h"
#include "backends/cuda/code/version_file.h"

namespace atl::cuda_backend {
namespace {

/// How a fat binary begins.
struct FatHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t content_bytes;
};
static_assert(sizeof(FatHeader) == 16);
constexpr uint32_t kFatMagic = 0xba55ed50;
constexpr uint16_t kCudaMachine = 190;

/// Whether the bytes [offset, offset + size) are in a file.
bool is_in(uint64_t offset, uint64_t size, uint64_t file_size) {
  return offset <= file_size && size <= file_size - offset;
}

Status cut_off(const CodeFile& file) {
  return invalid_argument("'", file.name, "': found ", file.bytes.size(),
                          " bytes, expected more by what its header says: it is cut off or damaged");
}

/// The entries of one of an ELF file's two tables.
template <class Entry, class Check>
bool check_entries(const std::string& bytes, uint64_t offset, uint64_t count, uint64_t entry_bytes,
                   Check&& check) {
  if (count == 0) return true;
  if (entry_bytes < sizeof(Entry) || !is_in(offset, count * entry_bytes, bytes.size())) return false;
  for (uint64_t i = 0; i < count; ++i) {
    Entry entry;
    std::memcpy(&entry, bytes.data() + offset + i * entry_bytes, sizeof entry);
    if (!check(entry)) return false;
  }
  return true;
}

Status check_elf(const CodeFile& file) {
  Elf64_Ehdr header;
  if (file.bytes.size() < sizeof header) return cut_off(file);
  std::memcpy(&header, file.bytes.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kCudaMachine) {
    return invalid_argument("'", file.name, "': found an ELF file of machine ", header.e_machine,
                            ", expected a GPU's machine code, of machine ", kCudaMachine);
  }
  const uint64_t size = file.bytes.size();
  const bool whole = check_entries<Elf64_Shdr>(file.bytes, header.e_shoff, header.e_shnum, header.e_shentsize,
                                               [size](const Elf64_Shdr& section) {
                                                 return section.sh_type == SHT_NOBITS ||
                                                        is_in(section.sh_offset, section.sh_size, size);
                                               }) &&
                     check_entries<Elf64_Phdr>(file.bytes, header.e_phoff, header.e_phnum, header.e_phentsize,
                                               [size](const Elf64_Phdr& segment) {
                                                 return is_in(segment.p_offset, segment.p_filesz, size);
                                               });
  return whole ? Status() : cut_off(file);
}

Status check_fat(const CodeFile& file) {
  FatHeader header;
  if (file.bytes.size() < sizeof header) return cut_off(file);
  std::memcpy(&header, file.bytes.data(), sizeof header);
  const bool whole = header.header_bytes >= sizeof header &&
                     is_in(header.header_bytes, header.content_bytes, file.bytes.size());
  return whole ? Status() : cut_off(file);
}

bool exists(const std::string& version_directory, const std::string& name) {
  const Result<VersionFile> found = find_version_file(version_directory, name);
  // What cannot be used is found too: reading it says why.
  return found.ok() || found.status().code() != Code::kNotFound;
}

std::string capability_text(int32_t capability) { return cat(capability / 10, ".", capability % 10); }

}  // namespace

Result<std::string> choose_code(const std::string& version_directory, const CodeNames& names,
                                int32_t capability) noexcept {
  const auto named = names.by_capability.find(capability_text(capability));
  const std::string& name = named != names.by_capability.end() ? named->second : names.default_name;
  if (!name.empty()) {
    if (stays_inside(name)) return name;
    return invalid_argument("found code file '", name, "', expected a path inside the version directory");
  }
  // Code of one device alone has an "a".
  std::vector<std::string> candidates = {cat("kernels.sm_", capability, "a.cubin")};
  for (int32_t minor = capability % 10; minor >= 0; --minor)
    candidates.push_back(cat("kernels.sm_", capability / 10 * 10 + minor, ".cubin"));
  for (const char* each : {"kernels.fatbin", "kernels.ptx", "kernels.cu"}) candidates.emplace_back(each);
  for (const std::string& candidate : candidates) {
    if (exists(version_directory, candidate)) return candidate;
  }
  return not_found("'", version_directory, "': found no code for compute capability ",
                   capability_text(capability), ", expected kernels.sm_", capability,
                   ".cubin, kernels.fatbin, kernels.ptx or kernels.cu, or what default_model_filename or "
                   "cc_model_filenames names");
}

Result<std::string> choose_import(const std::string& version_directory, const std::string& name,
                                  int32_t compiled_for, int32_t capability) noexcept {
  const bool runs = compiled_for / 10 == capability / 10 && compiled_for <= capability;
  if (runs && exists(version_directory, name + ".cubin")) return name + ".cubin";
  if (exists(version_directory, name + ".ptx")) return name + ".ptx";
  return not_found("'", version_directory, "': found no code of '", name, "' for compute capability ",
                   capability_text(capability), ", expected ", name, ".ptx, or ", name,
                   ".cubin for a device like this; it was compiled for ", capability_text(compiled_for));
}

Result<CodeFile> read_code(const std::string& version_directory, const std::string& name) noexcept {
  Result<std::string> bytes = read_version_file(version_directory, name, kCodeBytesMax);
  if (!bytes.ok()) return std::move(bytes).status();
  CodeFile file{name, CodeKind::kPtx, std::move(*bytes)};
  ATOLL_RETURN_IF_ERROR(check_code(file));
  return file;
}

Status check_code(CodeFile& file) noexcept {
  const std::string_view bytes = file.bytes;
  uint32_t first = 0;
  if (bytes.size() >= sizeof first) std::memcpy(&first, bytes.data(), sizeof first);
  if (bytes.starts_with(ELFMAG)) {
    file.kind = CodeKind::kMachine;
    return check_elf(file);
  }
  if (first == kFatMagic) {
    file.kind = CodeKind::kFatBinary;
    return check_fat(file);
  }
  // The driver and the compiler read to the first NUL, which is the one behind the last byte.
  if (bytes.find('\0') != std::string_view::npos)
    return invalid_argument("'", file.name, "': found neither a cubin, a fatbin nor text");
  if (file.name.ends_with(".cu")) {
    file.kind = CodeKind::kSource;
    return {};
  }
  file.kind = CodeKind::kPtx;
  if (bytes.find(".version") != std::string_view::npos) return {};
  return invalid_argument("'", file.name,
                          "': found text without .version, expected PTX; CUDA source ends in .cu");
}

}  // namespace atl::cuda_backend
