#include "frontends/console/page_files.h"

#include <utility>

#include "atoll/core/text.h"

// Its functions here, and not those of a library that a plugin might bring too.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace atl::frontends::console {
namespace {

std::string_view type_of(std::string_view name) noexcept {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/javascript; charset=utf-8";
}

/// It only has to tell a file from that of another build.
std::string tag_of(std::string_view content) {
  return cat('"', XXH3_64bits(content.data(), content.size()), '-', content.size(), '"');
}

}  // namespace

PageFiles::PageFiles() {
  for (const EmbeddedFile& file : embedded_files())
    files_.emplace(file.name, PageFile{file.content, type_of(file.name), tag_of(file.content)});
}

const PageFile* PageFiles::find(std::string_view name) const {
  const auto found = files_.find(name.empty() ? "index.html" : name);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace atl::frontends::console
