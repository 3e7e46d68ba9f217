/// Service "atoll.scheduler/1" of kind "sequence_direct".
#pragma once

#include <memory>

#include "schedulers/common/sequence/sequence_provider.h"

namespace atl::schedulers {

class DirectProvider final : public SequenceProvider {
 public:
  explicit DirectProvider(const SequenceProviderSettings& settings) noexcept
      : SequenceProvider("sequence_direct", settings) {}

 private:
  void choose_strategy(const inference::ModelConfig& config, SequenceSettings* settings) const override;
};

}  // namespace atl::schedulers
