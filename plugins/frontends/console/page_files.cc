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

bool is_servable(std::string_view name) noexcept { return name.ends_with(".js") || name.ends_with(".css"); }

PageFile page_file(const ConsoleFile& file) {
  const auto form_of = [](std::string_view content) {
    return PageFile::Form{content, entity_tag_of(content)};
  };
  return {form_of(file.content), form_of(file.gzip), type_of(file.name)};
}

PageFiles::PageFiles() {
  for (const ConsoleFile& file : embedded_files()) files_.emplace(file.name, page_file(file));
}

const PageFile* PageFiles::find(std::string_view name) const {
  const auto found = files_.find(name.empty() ? "index.html" : name);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace atl::frontends::console
