#include "models/catalog/loading/loader.h"

#include <utility>

namespace atl::models {
namespace {

/// A failure that names the model where it would name a private directory, which is nobody's business.
Status without_path(const Status& failure, const std::string& path, const std::string& model) {
  std::string text = failure.text();
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + model.size())) {
    text.replace(at, path.size(), model);
  }
  return Status(failure.code(), std::move(text));
}

}  // namespace

LoadFailure Loader::build(const std::shared_ptr<const PreparedModel>& model, const RepositoryVersion& version,
                          std::unique_ptr<ServedModel>* built) {
  const uint32_t retries = context_.options.retries;
  const RepositoryEntry& entry = model->files.entry;
  for (uint32_t attempt = 0;; ++attempt) {
    LoadFailure failure = VersionBuilder(context_, model, version).build(built);
    if (failure.ok()) return failure;
    if (attempt == retries) {
      if (model->directory != nullptr) failure.status = without_path(failure.status, entry.path, entry.name);
      return failure;
    }
    context_.host.log().warning("attempt ", attempt + 1, " of ", retries + 1, " to load '", entry.name,
                                "' version ", version.version, " failed: ", failure.status.text());
  }
}

LoadFailure Loader::build_on(const ServedModel& served, const std::shared_ptr<const PreparedModel>& model,
                             std::unique_ptr<ServedModel>* built) {
  return VersionBuilder(context_, model, {served.info().version, {}}, &served).build(built);
}

}  // namespace atl::models
