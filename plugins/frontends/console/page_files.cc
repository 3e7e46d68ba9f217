#include "frontends/console/page_files.h"

#include <utility>

#include "frontends/common/http/entity_tag.h"

namespace atl::frontends::console {
namespace {

std::string_view type_of(std::string_view name) noexcept {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/javascript; charset=utf-8";
}

}  // namespace

PageFiles::PageFiles() {
  for (const EmbeddedFile& file : embedded_files())
    files_.emplace(file.name, PageFile{file.content, type_of(file.name), entity_tag_of(file.content)});
}

const PageFile* PageFiles::find(std::string_view name) const {
  const auto found = files_.find(name.empty() ? "index.html" : name);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace atl::frontends::console
