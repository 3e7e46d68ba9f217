/// The strategy `oldest`: sequences that are ready are batched as by a dynamic batcher of each instance.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schedulers/common/batch/batch_former.h"
#include "schedulers/common/sequence/sequence_strategy.h"

namespace atl::schedulers {

/// Those whose request has waited longest at the front of its sequence come first.
class OldestStrategy final : public SequenceStrategy {
 public:
  OldestStrategy(BatchRules rules, BatchCompatibility compatibility) noexcept
      : rules_(std::move(rules)), compatibility_(std::move(compatibility)) {}

  int64_t form(const SequenceTable& table, uint32_t instance, int64_t now_ns,
               std::vector<Sequence*>& batch) noexcept override;
  bool keeps_rows() const noexcept override { return false; }

 private:
  const BatchRules rules_;
  const BatchCompatibility compatibility_;
};

}  // namespace atl::schedulers
