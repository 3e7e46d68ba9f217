#include "frontends/http/route_table.h"

#include <array>
#include <cstddef>

#include "frontends/common/codec/wire_format.h"

namespace atl::frontends::http {
namespace {

constexpr size_t kMaxSegments = 8;
using Segments = std::array<std::string_view, kMaxSegments>;

/// The parts between slashes, the one before the first left out. \returns their number; kMaxSegments + 1:
/// more
constexpr size_t split(std::string_view path, Segments* segments) noexcept {
  if (path.empty() || path.front() != '/') return 0;
  path.remove_prefix(1);
  for (size_t count = 0;; ++count) {
    if (count == kMaxSegments) return kMaxSegments + 1;
    const size_t slash = path.find('/');
    (*segments)[count] = path.substr(0, slash);
    if (slash == std::string_view::npos) return count + 1;
    path.remove_prefix(slash + 1);
  }
}

enum Methods : uint8_t { kGet = 1, kPost = 2 };

struct Pattern {
  constexpr Pattern(std::string_view path, Endpoint to, ApiCategory of, uint8_t allowed)
      : endpoint(to), category(of), methods(allowed), count(split(path, &segments)) {}
  Endpoint endpoint;
  ApiCategory category;
  uint8_t methods;
  Segments segments{};
  size_t count;
};

using enum Endpoint;

// {m} model, {v} version, {r} repository, {n} region. The first that fits counts; the frequent ones come
// first.
constexpr Pattern kPatterns[] = {
    {"/v2/models/{m}/infer", kInfer, ApiCategory::kInference, kPost},
    {"/v2/models/{m}/versions/{v}/infer", kInfer, ApiCategory::kInference, kPost},
    {"/v2/models/{m}/generate", kGenerate, ApiCategory::kInference, kPost},
    {"/v2/models/{m}/versions/{v}/generate", kGenerate, ApiCategory::kInference, kPost},
    {"/v2/models/{m}/generate_stream", kGenerateStream, ApiCategory::kInference, kPost},
    {"/v2/models/{m}/versions/{v}/generate_stream", kGenerateStream, ApiCategory::kInference, kPost},
    {"/v2/health/live", kServerLive, ApiCategory::kHealth, kGet},
    {"/v2/health/ready", kServerReady, ApiCategory::kHealth, kGet},
    {"/v2/models/{m}/ready", kModelReady, ApiCategory::kHealth, kGet},
    {"/v2/models/{m}/versions/{v}/ready", kModelReady, ApiCategory::kHealth, kGet},
    {"/v2", kServerMetadata, ApiCategory::kMetadata, kGet},
    {"/v2/models/stats", kStatistics, ApiCategory::kStatistics, kGet},
    {"/v2/models/{m}", kModelMetadata, ApiCategory::kMetadata, kGet},
    {"/v2/models/{m}/versions/{v}", kModelMetadata, ApiCategory::kMetadata, kGet},
    {"/v2/models/{m}/config", kModelConfig, ApiCategory::kModelConfig, kGet},
    {"/v2/models/{m}/versions/{v}/config", kModelConfig, ApiCategory::kModelConfig, kGet},
    {"/v2/models/{m}/stats", kStatistics, ApiCategory::kStatistics, kGet},
    {"/v2/models/{m}/versions/{v}/stats", kStatistics, ApiCategory::kStatistics, kGet},
    {"/v2/models/{m}/trace/setting", kTraceSetting, ApiCategory::kTrace, kGet | kPost},
    {"/v2/trace/setting", kTraceSetting, ApiCategory::kTrace, kGet | kPost},
    {"/v2/logging", kLogging, ApiCategory::kLogging, kGet | kPost},
    {"/v2/repository/index", kRepositoryIndex, ApiCategory::kModelRepository, kPost},
    {"/v2/repository/{r}/index", kRepositoryIndex, ApiCategory::kModelRepository, kPost},
    {"/v2/repository/models/{m}/load", kRepositoryLoad, ApiCategory::kModelRepository, kPost},
    {"/v2/repository/models/{m}/unload", kRepositoryUnload, ApiCategory::kModelRepository, kPost},
    {"/v2/repository/{r}/models/{m}/load", kRepositoryLoad, ApiCategory::kModelRepository, kPost},
    {"/v2/repository/{r}/models/{m}/unload", kRepositoryUnload, ApiCategory::kModelRepository, kPost},
    {"/v2/systemsharedmemory/status", kSystemRegionStatus, ApiCategory::kSharedMemory, kGet},
    {"/v2/systemsharedmemory/region/{n}/status", kSystemRegionStatus, ApiCategory::kSharedMemory, kGet},
    {"/v2/systemsharedmemory/register", kSystemRegionRegister, ApiCategory::kSharedMemory, kPost},
    {"/v2/systemsharedmemory/region/{n}/register", kSystemRegionRegister, ApiCategory::kSharedMemory, kPost},
    {"/v2/systemsharedmemory/unregister", kSystemRegionUnregister, ApiCategory::kSharedMemory, kPost},
    {"/v2/systemsharedmemory/region/{n}/unregister", kSystemRegionUnregister, ApiCategory::kSharedMemory,
     kPost},
    {"/v2/cudasharedmemory/status", kCudaRegionStatus, ApiCategory::kSharedMemory, kGet},
    {"/v2/cudasharedmemory/region/{n}/status", kCudaRegionStatus, ApiCategory::kSharedMemory, kGet},
    {"/v2/cudasharedmemory/register", kCudaRegionRegister, ApiCategory::kSharedMemory, kPost},
    {"/v2/cudasharedmemory/region/{n}/register", kCudaRegionRegister, ApiCategory::kSharedMemory, kPost},
    {"/v2/cudasharedmemory/unregister", kCudaRegionUnregister, ApiCategory::kSharedMemory, kPost},
    {"/v2/cudasharedmemory/region/{n}/unregister", kCudaRegionUnregister, ApiCategory::kSharedMemory, kPost},
};

/// Whether the path's parts fit; sets the names of the route. Only a version may be empty: it then is no
/// number, which the call says.
bool fits(const Pattern& pattern, const Segments& segments, size_t count, Route* route) noexcept {
  if (pattern.count != count) return false;
  Route found;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view wanted = pattern.segments[i];
    if (wanted.front() != '{') {
      if (wanted != segments[i]) return false;
    } else if (wanted == "{v}") {
      found.has_version = true;
      found.version = segments[i];
    } else {
      if (segments[i].empty()) return false;
      auto& name = wanted == "{m}" ? found.model : wanted == "{r}" ? found.repository : found.region;
      name = segments[i];
    }
  }
  found.endpoint = pattern.endpoint;
  found.category = pattern.category;
  found.allows_get = (pattern.methods & kGet) != 0;
  found.allows_post = (pattern.methods & kPost) != 0;
  *route = found;
  return true;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

bool find_route(std::string_view path, Route* route) noexcept {
  Segments segments;
  const size_t count = split(path, &segments);
  if (count == 0 || count > kMaxSegments) return false;
  for (const Pattern& pattern : kPatterns) {
    if (fits(pattern, segments, count, route)) return true;
  }
  return false;
}

bool has_unsafe_percent_code(std::string_view path, bool allows_slash) noexcept {
  for (size_t at = path.find('%'); at != std::string_view::npos; at = path.find('%', at + 1)) {
    if (at + 2 >= path.size()) return true;
    const int high = hex_digit(path[at + 1]);
    const int low = hex_digit(path[at + 2]);
    if (high < 0 || low < 0) return true;
    const int code = high * 16 + low;
    if (code < 0x20 || code == 0x7F || code == '.' || code == '\\' || (code == '/' && !allows_slash))
      return true;
  }
  return false;
}

bool decode_names(Route* route, std::vector<char>* storage) {
  std::string_view* const names[] = {&route->model, &route->version, &route->repository, &route->region};
  size_t bytes = 0;
  for (const std::string_view* name : names) bytes += name->size();
  storage->clear();
  storage->reserve(bytes);  // so that it stays where it is
  for (std::string_view* name : names) {
    const size_t begin = storage->size();
    for (size_t i = 0; i < name->size(); ++i) {
      char c = (*name)[i];
      if (c == '%') {
        c = static_cast<char>(hex_digit((*name)[i + 1]) * 16 + hex_digit((*name)[i + 2]));
        i += 2;
      }
      storage->push_back(c);
    }
    *name = {storage->data() + begin, storage->size() - begin};
    if (!is_utf8(*name)) return false;
  }
  return true;
}

}  // namespace atl::frontends::http
