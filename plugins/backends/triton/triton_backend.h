/// The service: models that are run by foreign backends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "backends/triton/backend_store.h"
#include "backends/triton/settings.h"

namespace atl::triton {

struct TritonOptions {
  std::vector<std::string> directories;  ///< each with a folder for every backend
  Settings settings;                     ///< "<backend>.<setting>", or "<setting>" for all
  bool libraries_in_models = true;       ///< a model's folders may hold its backend
};

/// Finds, opens and calls them. All functions [worker].
class TritonBackend final : public Backend {
 public:
  /// \param backends  outlives this
  TritonBackend(TritonOptions options, BackendStore& backends)
      : options_(std::move(options)), backends_(backends) {}

  /// Of no backend in particular.
  BackendTraits traits() const noexcept override { return {}; }
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;
  Result<bool> serves(const ModelSource& source) noexcept override;
  /// Opens the library. Errors: find_library(), BackendStore::get()
  Result<std::unique_ptr<PendingModel>> begin_load(const ModelSource& source) noexcept override;

 private:
  const TritonOptions options_;
  BackendStore& backends_;
};

}  // namespace atl::triton
