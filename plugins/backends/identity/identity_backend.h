/// The identity backend: OUTPUT<i> is a copy of INPUT<i>.
#pragma once

#include <memory>
#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"

namespace atl::identity {

class IdentityBackend final : public Backend {
 public:
  /// \param clock  for the statistics; outlives the backend.
  explicit IdentityBackend(const Clock& clock) noexcept : clock_(clock) {}

  BackendTraits traits() const noexcept override;
  /// There are no files to complete it from: the bytes as they came.
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  /// Errors: INVALID_ARGUMENT an output that cannot be a copy of an input, a bad execute_delay_ms.
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;

 private:
  const Clock& clock_;
};

}  // namespace atl::identity
