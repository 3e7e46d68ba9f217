#include "atoll/runtime/plugin_folders.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include "atoll/abi/plugin.h"
#include "atoll/core/file_descriptor.h"
#include "atoll/core/option_table.h"
#include "atoll/runtime/descriptor_check.h"
#include "atoll/runtime/problems.h"
#include "atoll/runtime/shared_object.h"

namespace atl::runtime {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kRelative = R_X86_64_RELATIVE;
#elif defined(__aarch64__)
constexpr uint32_t kRelative = R_AARCH64_RELATIVE;
#endif

constexpr size_t kTableBytesMax = 64 << 20;

/// A shared object's memory as it will be, read from its file. Whatever the file holds, reads stay inside it.
class ElfImage {
 public:
  explicit ElfImage(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    Elf64_Ehdr header{};
    if (!file_.valid() || !read_file(0, &header, sizeof header)) return;
    segments_ = table<Elf64_Phdr>(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
    sections_ = table<Elf64_Shdr>(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_RELA)
        relocations_.push_back(table<Elf64_Rela>(section.sh_offset, section.sh_size));
    }
  }

  /// The address of an exported symbol.
  std::optional<uint64_t> symbol(std::string_view name) const {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections_.size()) continue;
      const Elf64_Shdr& names = sections_[section.sh_link];
      const std::vector<char> texts = table<char>(names.sh_offset, names.sh_size);
      for (const Elf64_Sym& entry : table<Elf64_Sym>(section.sh_offset, section.sh_size)) {
        if (entry.st_name >= texts.size()) continue;
        const char* text = texts.data() + entry.st_name;
        if (std::string_view(text, ::strnlen(text, texts.size() - entry.st_name)) == name)
          return entry.st_value;
      }
    }
    return std::nullopt;
  }
  /// The pointer at an address; 0: null, or not in the file. Looks through all of what the linker will write, because
  /// a file is asked for few of hundreds of thousands.
  uint64_t pointer(uint64_t address) const {
    for (const std::vector<Elf64_Rela>& table : relocations_) {
      for (const Elf64_Rela& entry : table) {
        if (entry.r_offset == address && ELF64_R_TYPE(entry.r_info) == kRelative)
          return static_cast<uint64_t>(entry.r_addend);
      }
    }
    return value<uint64_t>(address).value_or(0);
  }
  template <class T>
  std::optional<T> value(uint64_t address) const {
    T read{};
    std::optional<uint64_t> at = offset(address);
    if (!at || !read_file(*at, &read, sizeof read)) return std::nullopt;
    return read;
  }
  std::string text(uint64_t address) const {
    std::optional<uint64_t> at = offset(address);
    return at ? text_in_file(*at) : std::string();
  }

 private:
  bool read_file(uint64_t at, void* into, size_t size) const {
    return ::pread(file_.get(), into, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  }
  template <class Row>
  std::vector<Row> table(uint64_t at, uint64_t bytes) const {
    if (bytes > kTableBytesMax) return {};
    std::vector<Row> rows(bytes / sizeof(Row));
    if (!read_file(at, rows.data(), rows.size() * sizeof(Row))) rows.clear();
    return rows;
  }
  std::string text_in_file(uint64_t at) const {
    char bytes[128] = {};
    const ssize_t size = ::pread(file_.get(), bytes, sizeof bytes - 1, static_cast<off_t>(at));
    return size > 0 ? std::string(bytes) : std::string();
  }
  std::optional<uint64_t> offset(uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      if (address - segment.p_vaddr < segment.p_filesz) return segment.p_offset + (address - segment.p_vaddr);
    }
    return std::nullopt;
  }

  FileDescriptor file_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::vector<Elf64_Rela>> relocations_;
};

/// Every ROLE/NAME with one of the extensions, in the order of the folders.
std::vector<std::filesystem::path> files_in(std::span<const std::string> folders,
                                            std::initializer_list<std::string_view> extensions) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator role(folder, error), end; !error && role != end; role.increment(error)) {
      std::error_code inner;
      for (fs::directory_iterator file(role->path(), inner); !inner && file != end; file.increment(inner)) {
        const std::string extension = file->path().extension();
        if (std::find(extensions.begin(), extensions.end(), extension) != extensions.end())
          files.push_back(file->path());
      }
    }
  }
  return files;
}

/// "role/name" of each of them; ordered, each once.
std::vector<std::string> names_in(std::span<const std::string> folders,
                                  std::initializer_list<std::string_view> extensions) {
  std::vector<std::string> names;
  for (const std::filesystem::path& file : files_in(folders, extensions))
    names.push_back(cat(file.parent_path().filename().string(), "/", file.stem().string()));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::vector<std::string> plugin_names(std::span<const std::string> folders) {
  return names_in(folders, {".so"});
}

std::vector<std::string> plugin_files(std::span<const std::string> folders) {
  std::vector<std::string> paths;
  for (const std::filesystem::path& file : files_in(folders, {".so"})) paths.push_back(file.string());
  return paths;
}

std::string plugin_suggestion(std::string_view name, std::span<const std::string> folders) {
  // A text NAME.missing tells how to get a plugin that a build left out.
  const std::vector<std::string> all = names_in(folders, {".so", ".missing"});
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return "";
  const std::string_view role = name.substr(0, slash), own = name.substr(slash + 1);
  // A name of the same role, or the same name of a role that is like it.
  std::vector<std::string_view> names, roles;
  for (std::string_view other : all) {
    const size_t at = other.find('/');
    if (other.substr(0, at) == role) names.push_back(other.substr(at + 1));
    if (other.substr(at + 1) == own) roles.push_back(other.substr(0, at));
  }
  if (std::ranges::find(names, own) != names.end()) return "";  // it is known, and was not built
  if (std::string_view near = nearest_word(own, names); !near.empty())
    return cat(", did you mean '", role, "/", near, "'?");
  const std::string_view near = nearest_word(role, roles);
  return near.empty() ? "" : cat(", did you mean '", near, "/", own, "'?");
}

std::string plugin_hint(Code failure, std::string_view use, std::string_view file,
                        std::span<const std::string> folders) {
  if (file.empty()) return failure == Code::kNotFound ? plugin_suggestion(use, folders) : std::string();
  if (file.ends_with(".so")) return "";
  std::string hint = "; 'file' is the path of the plugin's shared object", own;
  for (const std::string& folder : folders) {
    const std::string path = cat(folder, "/", use, ".so");
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    for (const std::string& key : option_keys(path)) {
      if (key.ends_with("_file")) own += cat(own.empty() ? ", did you mean '" : " or '", key, "'");
    }
    break;
  }
  return cat(hint, own, own.empty() ? "" : "?");
}

namespace {

/// Of a table of the descriptor: its number of rows, and the address of the first; nothing: the file cannot be read.
struct TableAt {
  uint32_t count;
  uint64_t rows;
};

std::optional<TableAt> table_of(const ElfImage& image, size_t count_offset, size_t rows_offset) {
  const std::optional<uint64_t> descriptor = image.symbol(ATOLL_PLUGIN_SYMBOL);
  const auto count = descriptor ? image.value<uint32_t>(*descriptor + count_offset) : std::nullopt;
  if (!count || *count > kTableRowsMax ||
      image.value<uint64_t>(*descriptor) != std::optional<uint64_t>(ATOLL_PLUGIN_MAGIC)) {
    return std::nullopt;
  }
  return TableAt{*count, image.pointer(*descriptor + rows_offset)};
}

}  // namespace

std::vector<std::string> option_keys(const std::string& path) {
  if (!inspect_shared_object(path).ok()) return {};
  const ElfImage image(path);
  const auto table =
      table_of(image, offsetof(atoll_plugin_v1_t, options_count), offsetof(atoll_plugin_v1_t, options));
  std::vector<std::string> keys;
  for (uint32_t i = 0; table && i < table->count; ++i) {
    keys.push_back(image.text(
        image.pointer(table->rows + i * sizeof(atoll_option_v1) + offsetof(atoll_option_v1, key))));
    if (!option_detail::is_key(keys.back())) return {};
  }
  return keys;
}

Result<std::vector<std::string>> provided_interfaces(const std::string& path) {
  Result<FileIdentity> identity = inspect_shared_object(path);
  if (!identity.ok()) return std::move(identity).status();
  const ElfImage image(path);
  const auto table =
      table_of(image, offsetof(atoll_plugin_v1_t, provides_count), offsetof(atoll_plugin_v1_t, provides));
  if (!table)
    return make_status(Code::kFailedPrecondition, path, ": no descriptor of a plugin was found in it");
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < table->count; ++i) {
    ids.push_back(image.text(image.pointer(table->rows + i * sizeof(atoll_provided_v1))));
    if (!is_interface_id(ids.back()))
      return make_status(Code::kFailedPrecondition, path, ": its table of interfaces cannot be read");
  }
  return ids;
}

std::string providers_text(std::string_view interface_id, std::span<const std::string> folders) {
  std::string text;
  for (const std::string& name : plugin_names(folders)) {
    for (const std::string& folder : folders) {
      Result<std::vector<std::string>> ids = provided_interfaces(cat(folder, "/", name, ".so"));
      if (!ids.ok()) continue;
      if (std::find(ids->begin(), ids->end(), interface_id) != ids->end())
        text += cat(text.empty() ? "" : ", ", name);
      break;
    }
  }
  return text;
}

}  // namespace atl::runtime
