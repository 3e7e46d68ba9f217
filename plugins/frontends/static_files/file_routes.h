/// Folders of files as routes of the HTTP frontend.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/static_files/file_set.h"

namespace atl::frontends::static_files {

class FileRoutes final : public HttpRoutes {
 public:
  /// \param folders, limit_bytes  as FileSet::read()
  FileRoutes(Host& host, std::map<std::string, std::string> folders, uint64_t limit_bytes)
      : host_(host), folders_(std::move(folders)), limit_bytes_(limit_bytes) {}
  FileRoutes(const FileRoutes&) = delete;
  FileRoutes& operator=(const FileRoutes&) = delete;
  virtual ~FileRoutes() = default;

  /// Reads the files. Errors: those of FileSet::read(). [control]
  Status start();

  // --- HttpRoutes ---
  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;

 private:
  void answer(HttpExchange& exchange) const;

  Host& host_;
  const std::map<std::string, std::string> folders_;
  const uint64_t limit_bytes_;
  FileSet files_;
};

}  // namespace atl::frontends::static_files
