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

void Loader::use(LoaderOptions options) {
  auto next = std::make_shared<const LoaderOptions>(std::move(options));
  std::scoped_lock lock(mutex_);
  options_ = std::move(next);
}

std::shared_ptr<const LoaderOptions> Loader::options() const {
  std::scoped_lock lock(mutex_);
  return options_;
}

std::vector<std::string> Loader::running() const {
  std::vector<std::string> all = left_warmups_.texts();
  if (serving_.work == nullptr) return all;
  for (std::string& one : serving_.work->running()) all.push_back(std::move(one));
  return all;
}

Result<PreparedModel> Loader::prepare(const std::string& model, LoadOrder& order, const PreparedModel* loaded,
                                      PrepareProgress* progress) {
  const LongWork::Task task(serving_.work, serving_.requests.fault_notes, "loading",
                            cat("model '", model, "'"));
  const std::shared_ptr<const LoaderOptions> options = this->options();
  return ModelReader(host_, repository_, configs_, *options).read(model, order, loaded, progress);
}

LoadFailure Loader::build(const std::shared_ptr<const PreparedModel>& model, const RepositoryVersion& version,
                          const ServedModel* before, std::unique_ptr<ServedModel>* built) {
  const std::shared_ptr<const LoaderOptions> options = this->options();
  const BuildContext context = this->context(*options);
  const uint32_t retries = options->retries;
  const RepositoryEntry& entry = model->files.entry;
  for (uint32_t attempt = 0;; ++attempt) {
    LoadFailure failure = VersionBuilder(context, model, version, {.before = before}).build(built);
    if (failure.ok()) return failure;
    if (attempt == retries || failure.is_final) {
      if (model->directory != nullptr) failure.status = without_path(failure.status, entry.path, entry.name);
      return failure;
    }
    host_.log().warning("attempt ", attempt + 1, " of ", retries + 1, " to load '", entry.name, "' version ",
                        version.version, " failed: ", failure.status.text());
  }
}

LoadFailure Loader::build_on(const ServedModel& served, const std::shared_ptr<const PreparedModel>& model,
                             std::unique_ptr<ServedModel>* built) {
  const std::shared_ptr<const LoaderOptions> options = this->options();
  const BuildContext context = this->context(*options);
  return VersionBuilder(context, model, {served.info().version, {}}, {.base = &served}).build(built);
}

}  // namespace atl::models
