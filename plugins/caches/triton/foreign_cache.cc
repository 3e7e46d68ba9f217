#include "caches/triton/foreign_cache.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "atoll/triton/cache.h"
#include "atoll/triton/status.h"

namespace atl::caches {
namespace {

using triton::CacheCall;

/// As the reference server says it.
Status no_library(const ForeignCache::Wanted& wanted, std::string_view file) {
  std::string searched;
  for (const std::string& directory : wanted.directories) {
    searched += cat(searched.empty() ? "" : ", ", directory);
  }
  return invalid_argument("unable to find '", file, "' for cache. Searched: ", searched);
}

// What is not UTF-8 came from a manifest; a text that can be read is better than none.
std::string json_of(const std::map<std::string, std::string>& settings) {
  return nlohmann::json(settings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Result<std::string> ForeignCache::find(const Wanted& wanted) {
  const std::string file = cat("libtritoncache_", wanted.name, ".so");
  std::string path = triton::find_library_file(wanted.directories, wanted.name, file);
  if (path.empty()) return no_library(wanted, file);
  return path;
}

Result<std::unique_ptr<ForeignCache>> ForeignCache::open(const Wanted& wanted, Log& log) {
  Result<std::string> path = find(wanted);
  if (!path.ok()) return std::move(path).status();
  std::unique_ptr<ForeignCache> cache(new ForeignCache(log));
  Result<triton::ForeignLibrary> library = triton::ForeignLibrary::open(path.value());
  Status status = std::move(library).status();
  if (status.ok()) {
    cache->library_ = std::move(library).value();
    status = cache->find_entries();
  }
  if (status.ok()) status = cache->initialize(wanted.settings);
  if (!status.ok()) return std::move(status).note(cat("cache '", wanted.name, "'"));
  return cache;
}

Status ForeignCache::find_entries() {
  ATOLL_RETURN_IF_ERROR(library_.require("TRITONCACHE_CacheInitialize", entries_.initialize));
  ATOLL_RETURN_IF_ERROR(library_.require("TRITONCACHE_CacheFinalize", entries_.finalize));
  ATOLL_RETURN_IF_ERROR(library_.require("TRITONCACHE_CacheLookup", entries_.look_up));
  return library_.require("TRITONCACHE_CacheInsert", entries_.insert);
}

Status ForeignCache::initialize(const std::map<std::string, std::string>& settings) {
  TRITONCACHE_Cache* cache = nullptr;
  const std::string config = json_of(settings);
  ATOLL_RETURN_IF_ERROR(triton::call(entries_.initialize, &cache, config.c_str()));
  if (cache == nullptr) return internal_error("TRITONCACHE_CacheInitialize succeeded and gave no cache");
  cache_ = cache;
  return {};
}

ForeignCache::~ForeignCache() {
  if (cache_ == nullptr) return;
  Status status = triton::call(entries_.finalize, cache_);
  if (!status.ok()) log_.error("failed finalizing the cache: ", status.text());
  const std::string path = library_.path();
  if (library_.close_and_look(reinterpret_cast<const void*>(entries_.finalize))) {
    log_.info(path, " stays mapped: it is open elsewhere, or cannot be unmapped");
  }
}

Result<std::string> ForeignCache::look_up(const std::string& key) {
  CacheCall call = CacheCall::look_up();
  Status status = triton::call(entries_.look_up, cache_, key.c_str(), call.entry(), call.allocator());
  call.end();
  if (!status.ok()) return status;
  std::vector<std::string> buffers = call.take_buffers();
  if (!call.copied() || buffers.size() != 1) {
    return internal_error("it has found the key, and copied ", call.copied() ? buffers.size() : 0,
                          " buffers, expected 1");
  }
  return std::move(buffers.front());
}

Status ForeignCache::insert(const std::string& key, std::string_view bytes) {
  CacheCall call = CacheCall::insertion(bytes);
  Status status = triton::call(entries_.insert, cache_, key.c_str(), call.entry(), call.allocator());
  call.end();
  if (!status.ok()) return status;
  return call.copied() ? Status()
                       : internal_error("it has kept the key, and did not copy what belongs to it");
}

}  // namespace atl::caches
