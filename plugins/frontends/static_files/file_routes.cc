#include "frontends/static_files/file_routes.h"

#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/text.h"
#include "atoll/lib/http_request.h"
#include "frontends/common/http/entity_tag.h"

namespace atl::frontends::static_files {
namespace {

constexpr const char* kCategory = "files.get";
constexpr uint32_t kMethods = kHttpGet | kHttpHead;
constexpr std::string_view kText = "text/plain; charset=utf-8";

}  // namespace

Status FileRoutes::start() {
  Result<FileSet> files = FileSet::read(folders_, limit_bytes_);
  if (!files.ok()) return std::move(files).status();
  files_ = std::move(files).value();
  host_.log().info(cat("serves ", files_.size(), " files"));
  return {};
}

std::vector<HttpRoute> FileRoutes::routes() const noexcept {
  std::vector<HttpRoute> all;
  for (const auto& [path, folder] : folders_) {
    all.push_back({path + "*", kMethods, kCategory});
    all.push_back({path.substr(0, path.size() - 1), kMethods, kCategory});
  }
  return all;
}

void FileRoutes::handle(std::string_view, HttpExchange& exchange) noexcept {
  Pass pass(host_.gate());
  if (!pass) return exchange.answer({.status = 503, .content_type = kText}, "Server exiting\n");
  Status status = guarded("answering with a file", [&] {
    answer(exchange);
    return Status();
  });
  if (!status.ok()) exchange.answer({.status = 500, .content_type = kText}, cat(status.message(), '\n'));
}

void FileRoutes::answer(HttpExchange& exchange) const {
  const std::string path = percent_decode(std::string(exchange.path()));
  // The page's own links count from its folder only if the address ends with the slash.
  if (folders_.contains(path + "/")) {
    const std::string place = path + "/";
    const HttpHeader headers[] = {{"location", place}};
    return exchange.answer({.status = 308, .headers = headers}, {});
  }
  const StaticFile* const file = files_.find(path);
  if (file == nullptr)
    return exchange.answer({.status = 404, .content_type = kText}, "There is no such file.\n");
  const HttpHeader headers[] = {
      {"cache-control", "no-cache"}, {"etag", file->entity_tag}, {"x-content-type-options", "nosniff"}};
  if (has_already(exchange, file->entity_tag))
    return exchange.answer({.status = 304, .headers = headers}, {});
  exchange.answer({.content_type = file->content_type, .headers = headers}, file->content);
}

}  // namespace atl::frontends::static_files
