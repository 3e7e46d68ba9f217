/// Service "atoll.scheduler/1" of kind "sequence_oldest".
#pragma once

#include <memory>

#include "schedulers/common/sequence/sequence_provider.h"

namespace atl::schedulers {

class OldestProvider final : public SequenceProvider {
 public:
  explicit OldestProvider(const SequenceProviderSettings& settings) noexcept
      : SequenceProvider("sequence_oldest", settings) {}

 private:
  void choose_strategy(const inference::ModelConfig& config, SequenceSettings* settings) const override;
};

}  // namespace atl::schedulers
