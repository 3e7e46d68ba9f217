/// Counts what happens to the requests of one model version.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/request/statistics.h"
#include "models/catalog/serving/reader_shards.h"

namespace atl::models {

/// Cells per thread shard, each on cache lines of its own and behind a lock that is free unless a snapshot is
/// being taken, so a report costs one uncontended atomic exchange and plain additions. A cell is made by its
/// shard's first report: models that nobody asks stay small. [any]
class StatisticsRecorder final : public InferenceReporter {
 public:
  /// Batch sizes told apart; executions of further sizes count everywhere but in the per-size list.
  static constexpr uint32_t kBatchSizesMax = 1024;
  /// Responses to one request that are told apart; later ones are not counted one by one.
  static constexpr uint32_t kResponsesMax = 1024;

  /// \param max_batch_size  of the model; 0: it does not batch
  StatisticsRecorder(const Clock& clock, uint32_t max_batch_size) noexcept;
  StatisticsRecorder(const StatisticsRecorder&) = delete;
  StatisticsRecorder& operator=(const StatisticsRecorder&) = delete;
  ~StatisticsRecorder();

  void report_request(const Request& request, bool success, const ExecutionTimes& times) noexcept override;
  void report_batch(uint32_t batch_size, const ExecutionTimes& times) noexcept override;
  void report_failure(const Request& request, FailureReason reason) noexcept override;
  /// Also a success, which no execution and no inference is counted for.
  void report_cache_hit(const Request& request, uint64_t duration_ns) noexcept override;
  void report_cache_miss(const Request& request, uint64_t duration_ns) noexcept override;
  void report_response(uint64_t index, Code outcome, const ResponseTimes& times) noexcept override;

  /// Once for each request: its first response has reached the sink.
  void report_first_response(const Request& request) noexcept;

  /// Forgets everything: what warm-up counted. Only while nobody reports.
  void reset() noexcept;
  /// Everything but name, version, pending and memory, which the model knows.
  ModelStatistics snapshot() const;

 private:
  struct Counts {
    uint64_t inference_count = 0;
    uint64_t execution_count = 0;
    int64_t last_execution_ns = 0;  ///< steady clock
    StatisticDuration success, fail, queue, compute_input, compute_infer, compute_output, cache_hit,
        cache_miss;
    uint64_t failures[4] = {};
    std::vector<BatchStatistics> batches;          ///< ascending by size
    std::vector<ResponseStatistics> responses;     ///< by their place
    std::unique_ptr<LatencyHistograms> latencies;  ///< null: there are none
    LatencyHistograms& histograms() {
      if (latencies == nullptr) latencies = std::make_unique<LatencyHistograms>();
      return *latencies;
    }
  };
  struct alignas(64) Cell : Counts {
    mutable std::atomic_flag busy;
  };
  class CellLock;

  Cell& cell() noexcept {
    std::atomic<Cell*>& mine = cells_[ReaderShards::current_shard()];
    Cell* made = mine.load(std::memory_order_acquire);
    return made != nullptr ? *made : make_cell(mine);
  }
  static Cell& make_cell(std::atomic<Cell*>& place) noexcept;
  BatchStatistics* batch_of(Cell& cell, uint32_t batch_size) const;
  void count_failure(const Request& request, FailureReason reason) noexcept;
  uint64_t wall_ms(int64_t execution_ns) const;

  const Clock& clock_;
  uint32_t batch_sizes_max_;
  std::array<std::atomic<Cell*>, ReaderShards::kShards> cells_{};  ///< once made, there until the end
  mutable std::mutex wall_mutex_;
  mutable int64_t wall_of_ns_ = 0;
  mutable uint64_t wall_ms_ = 0;
};

}  // namespace atl::models
