#include "atoll/runtime/exports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>

#include "atoll/core/text.h"

namespace atl::runtime {
namespace {

constexpr size_t kNamesShown = 3;

/// Of the object's dynamic section; the linker has made addresses of its offsets.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* hash = nullptr;
};

Tables tables_of(const link_map& object) {
  Tables tables;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    auto* at = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) tables.symbols = static_cast<const ElfW(Sym)*>(at);
    if (entry->d_tag == DT_STRTAB) tables.strings = static_cast<const char*>(at);
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = static_cast<const uint32_t*>(at);
    if (entry->d_tag == DT_HASH) tables.hash = static_cast<const uint32_t*>(at);
  }
  return tables;
}

/// The number of symbols, which only the hash tables know. A GNU table has bucket count, first hashed symbol,
/// words of the filter, a shift, the filter, the first symbol of each bucket, and a hash for each symbol
/// whose lowest bit ends its bucket.
uint32_t symbol_count(const Tables& tables) {
  if (tables.gnu_hash == nullptr) return tables.hash == nullptr ? 0 : tables.hash[1];
  const uint32_t buckets = tables.gnu_hash[0];
  const uint32_t first = tables.gnu_hash[1];
  const uint32_t* bucket = tables.gnu_hash + 4 + tables.gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  uint32_t last = buckets == 0 ? 0 : *std::max_element(bucket, bucket + buckets);
  if (last < first) return first;
  while ((chain[last - first] & 1) == 0) ++last;
  return last + 1;
}

bool is_exported(const ElfW(Sym) & symbol) {
  uint32_t visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

}  // namespace

std::vector<std::string> exports_beside(const void* address, std::string_view expected) {
  Dl_info info;
  void* object = nullptr;
  if (::dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0 || object == nullptr) return {};
  Tables tables = tables_of(*static_cast<const link_map*>(object));
  std::vector<std::string> names;
  if (tables.symbols == nullptr || tables.strings == nullptr) return names;
  const uint32_t count = symbol_count(tables);
  for (uint32_t i = 1; i < count; ++i) {
    std::string_view name = tables.strings + tables.symbols[i].st_name;
    if (!is_exported(tables.symbols[i]) || name == expected || is_sanitizers_own(name)) continue;
    names.emplace_back(name);
  }
  return names;
}

std::string exports_text(const std::vector<std::string>& names, std::string_view expected) {
  return cat("exports ", names.size(), names.size() == 1 ? " symbol" : " symbols", " beside ", expected, " (",
             shortened_list(names), "); link with the version script, as atoll_add_plugin() does");
}

std::string shortened_list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) text += cat(i == 0 ? "" : ", ", names[i]);
  return names.size() > kNamesShown ? cat(text, " and ", names.size() - kNamesShown, " more") : text;
}

}  // namespace atl::runtime
