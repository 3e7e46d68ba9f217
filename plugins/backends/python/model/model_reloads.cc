#include "backends/python/model/model_reloads.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace atl::python {
namespace {

/// Whether somebody has asked for the model: what was unloaded stays so.
bool is_wanted(const std::vector<ModelIndexEntry>& index, const std::string& model) {
  return std::ranges::any_of(index, [&](const ModelIndexEntry& entry) {
    if (entry.name != model || entry.state.empty()) return false;
    return entry.state != model_state_name(ModelState::kUnavailable) || entry.reason != "unloaded";
  });
}

}  // namespace

void ModelReloads::set(const ModelSource& source, bool is_watched) {
  loop_.call([&] {
    if (!is_watched) {
      watches_.erase(source.version_directory);
    } else if (!watches_.contains(source.version_directory)) {
      begin(source);
    }
  });
}

void ModelReloads::begin(const ModelSource& source) {
  const std::string& named = source.model.default_model_filename;
  auto watch = std::make_unique<SourceWatch>(
      loop_, host_.clock(),
      SourceFolders{source.model_directory, source.version_directory, named.empty() ? "model.py" : named},
      [this, folder = source.version_directory, model = source.name] { on_saved(folder, model); });
  if (Status started = watch->start(); !started.ok()) {
    return host_.log().warning("model '", source.name,
                               "' is not loaded anew when its program is saved: ", started.message());
  }
  watches_.emplace(source.version_directory, std::move(watch));
}

void ModelReloads::stop() noexcept {
  if (!loop_.is_started()) return;
  loop_.call([this] { watches_.clear(); });
}

void ModelReloads::on_saved(const std::string& folder, const std::string& model) {
  auto pass = std::make_shared<Pass>(host_.gate());
  if (!*pass) return;  // the server ends
  host_.workers().run(make_task([this, folder, model, pass] { reload(folder, model, pass); }));
}

void ModelReloads::reload(const std::string& folder, const std::string& model,
                          const std::shared_ptr<Pass>& pass) {
  auto catalog = server_.hold_catalog();
  if (!catalog) return;
  Result<std::vector<ModelIndexEntry>> index = catalog->index(false);
  if (!index.ok()) {
    return host_.log().warning("model '", model,
                               "' was saved and is not loaded anew: ", index.status().message());
  }
  if (!is_wanted(*index, model)) return loop_.post([this, folder] { watches_.erase(folder); });
  host_.log().info("model '", model, "' was saved, it is loaded anew");
  catalog->load({model}, [pass](const std::vector<ModelLoadResult>&) {});  // which logs how that ends
}

}  // namespace atl::python
