/// frontends/static_files: files of folders, on the address of the HTTP frontend.
#include "atoll/core/plugin.h"

#include <optional>

#include "frontends/static_files/file_routes.h"

namespace atl::frontends::static_files {
namespace {

constexpr OptionTable kOptions{
    option_string_map("folders").help(
        "What is served, \"/path/\" = \"folder\": a request for /path/name gets the file 'name' of the folder, and one for "
        "/path/ gets its index.html. A relative folder counts from the server's working folder."),
    option_bytes("max_size", "64MiB")
        .help(
            "Bytes that all files may have together. The server keeps the files in memory. It reads them when it starts, and "
            "anew when one of these options changes."),
};

class StaticFiles final : public Plugin {
 public:
  explicit StaticFiles(Host& host) : host_(host) {}

  Status init() override {
    routes_.emplace(host_, host_.options().get_map("folders"), host_.options().get_bytes("max_size"));
    return {};
  }
  Status start() override { return routes_->start(); }
  FileRoutes& routes() noexcept { return *routes_; }

 private:
  Host& host_;
  std::optional<FileRoutes> routes_;
};

void check_options(OptionCheck& check) {
  const Options& options = check.options();
  check.passes("folders", FileSet::read(options.get_map("folders"), options.get_bytes("max_size")).status());
}

}  // namespace

ATOLL_PLUGIN(
    StaticFiles,
    {.name = "frontends/static_files",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help = "Serves the files of folders on the HTTP frontend's address: a page, an example, documentation.",
     .provides = {provide<HttpRoutes, &StaticFiles::routes>()},
     .options = kOptions,
     .check = &check_options});

}  // namespace atl::frontends::static_files
