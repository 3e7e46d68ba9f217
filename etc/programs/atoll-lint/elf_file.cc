#include "elf_file.h"

#include <elf.h>

#include <cstring>
#include <optional>

namespace atl::lint {
namespace {

class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  /// The text at `offset` of a string table; it must end inside the table.
  std::optional<std::string> text(const Elf64_Shdr& table, uint64_t offset) const {
    if (!inside(table) || offset >= table.sh_size) return std::nullopt;
    const auto* begin = bytes_.data() + table.sh_offset + offset;
    const void* end = std::memchr(begin, 0, table.sh_size - offset);
    if (end == nullptr) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(begin), static_cast<const char*>(end));
  }
  bool inside(const Elf64_Shdr& section) const {
    return section.sh_offset <= bytes_.size() && section.sh_size <= bytes_.size() - section.sh_offset;
  }

 private:
  const std::vector<uint8_t>& bytes_;
};

Status damaged(const char* what) { return invalid_argument("damaged ELF file: ", what); }

Status read_symbols(const Reader& reader, const Elf64_Ehdr& header, const Elf64_Shdr& section,
                    ElfFacts& facts) {
  auto names = reader.at<Elf64_Shdr>(header.e_shoff + uint64_t{section.sh_link} * sizeof(Elf64_Shdr));
  if (!reader.inside(section) || section.sh_link >= header.e_shnum || !names)
    return damaged("its symbol table");
  // Symbol 0 is the null symbol of every table.
  for (uint64_t offset = sizeof(Elf64_Sym); offset + sizeof(Elf64_Sym) <= section.sh_size;
       offset += sizeof(Elf64_Sym)) {
    auto entry = reader.at<Elf64_Sym>(section.sh_offset + offset);
    auto name = entry ? reader.text(*names, entry->st_name) : std::nullopt;
    if (!name) return damaged("a symbol's name");
    auto binding = ELF64_ST_BIND(entry->st_info);
    auto visibility = ELF64_ST_VISIBILITY(entry->st_other);
    facts.symbols.push_back(
        {*name, entry->st_shndx != SHN_UNDEF, binding == STB_GNU_UNIQUE,
         binding != STB_LOCAL && (visibility == STV_DEFAULT || visibility == STV_PROTECTED)});
  }
  return {};
}

Status read_dynamic(const Reader& reader, const Elf64_Ehdr& header, const Elf64_Shdr& section,
                    ElfFacts& facts) {
  auto names = reader.at<Elf64_Shdr>(header.e_shoff + uint64_t{section.sh_link} * sizeof(Elf64_Shdr));
  if (!reader.inside(section) || section.sh_link >= header.e_shnum || !names)
    return damaged("its dynamic section");
  for (uint64_t offset = 0; offset + sizeof(Elf64_Dyn) <= section.sh_size; offset += sizeof(Elf64_Dyn)) {
    auto entry = reader.at<Elf64_Dyn>(section.sh_offset + offset);
    if (!entry) return damaged("its dynamic section");
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_BIND_NOW) facts.binds_now = true;
    if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_BIND_NOW) != 0) facts.binds_now = true;
    if (entry->d_tag == DT_RUNPATH) facts.has_runpath = true;
    if (entry->d_tag == DT_NEEDED) {
      auto name = reader.text(*names, entry->d_un.d_val);
      if (!name) return damaged("a needed library's name");
      facts.needed.push_back(*name);
    }
    if (entry->d_tag != DT_FLAGS_1) continue;
    facts.binds_now |= (entry->d_un.d_val & DF_1_NOW) != 0;
    facts.never_unloads |= (entry->d_un.d_val & DF_1_NODELETE) != 0;
  }
  return {};
}

}  // namespace

Result<ElfFacts> read_elf(const std::vector<uint8_t>& bytes) {
  Reader reader(bytes);
  auto header = reader.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return invalid_argument("not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_type != ET_DYN) {
    return invalid_argument("not a 64-bit little-endian shared object");
  }
  ElfFacts facts;
  bool has_symbols = false;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    if (header->e_shoff > bytes.size()) return damaged("its section table");
    auto section = reader.at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return damaged("its section table");
    if (section->sh_type == SHT_DYNSYM) {
      ATOLL_RETURN_IF_ERROR(read_symbols(reader, *header, *section, facts));
      has_symbols = true;
    } else if (section->sh_type == SHT_DYNAMIC) {
      ATOLL_RETURN_IF_ERROR(read_dynamic(reader, *header, *section, facts));
    }
  }
  if (!has_symbols) return invalid_argument("it has no dynamic symbol table");
  return facts;
}

}  // namespace atl::lint
