/// The strategy `direct`: a sequence has a row of its instance's batches for itself.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schedulers/common/sequence/sequence_strategy.h"

namespace atl::schedulers {

struct DirectRules {
  uint32_t rows = 1;  ///< of an instance
  /// How long a request may wait for those of other rows; 0: not at all.
  int64_t delay_ns = 0;
  /// The part of the rows that is enough to go before that; 0: one is.
  double minimum_utilization = 0;
};

/// A batch has the rows up to the last one that has a request in it. Rows whose requests cannot be joined with
/// that of the sequence that is ready for the longest time wait for a later one.
class DirectStrategy final : public SequenceStrategy {
 public:
  DirectStrategy(const DirectRules& rules, BatchCompatibility compatibility) noexcept
      : rules_(rules), compatibility_(std::move(compatibility)) {}

  int64_t form(const SequenceTable& table, uint32_t instance, int64_t now_ns,
               std::vector<Sequence*>& batch) noexcept override;
  bool keeps_rows() const noexcept override { return true; }

 private:
  int64_t wait_until_ns(const SequenceList& ready, int64_t now_ns) const noexcept;

  const DirectRules rules_;
  const BatchCompatibility compatibility_;
};

}  // namespace atl::schedulers
