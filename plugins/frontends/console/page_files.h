/// The files of the console's page, which are part of the plugin.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace atl::frontends::console {

struct EmbeddedFile {
  std::string_view name;  ///< "app.js"
  std::string_view content;
};

/// All of them, from a source file that the build makes of page/ and third_party/. [any]
std::span<const EmbeddedFile> embedded_files() noexcept;

struct PageFile {
  std::string_view content;
  std::string_view content_type;
  std::string entity_tag;  ///< of the content, with its quotes
};

/// The embedded files by their names; never changed. [any]
class PageFiles {
 public:
  PageFiles();
  /// \param name  "" is index.html \returns null: there is no such file
  const PageFile* find(std::string_view name) const;

 private:
  std::map<std::string_view, PageFile> files_;
};

}  // namespace atl::frontends::console
