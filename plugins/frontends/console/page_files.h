/// The files of the console's page, which are part of the plugin.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "atoll/frontend/console_page.h"

namespace atl::frontends::console {

/// The console's own files, from a source file that the build makes of page/ and third_party/. [any]
std::span<const ConsoleFile> embedded_files() noexcept;

struct PageFile {
  /// One of the forms in which it is sent.
  struct Form {
    std::string_view content;
    std::string entity_tag;  ///< of this content, with its quotes
  };
  Form plain;
  Form gzip;  ///< empty: there is none
  std::string_view content_type;
};

/// Whether the name is one of a script or a style. [any]
bool is_servable(std::string_view name) noexcept;
PageFile page_file(const ConsoleFile& file);

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
