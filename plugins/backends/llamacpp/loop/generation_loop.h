/// Generates the answers of many requests at once: each step computes one token of every request that generates, and pieces of prompts.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "backends/llamacpp/loop/generation.h"
#include "backends/llamacpp/loop/llama_counts.h"
#include "backends/llamacpp/loop/token_slots.h"
#include "backends/llamacpp/scheduling/chunk_size.h"

namespace atl::llamacpp {

struct LoopSettings {
  std::string model;           ///< for texts
  int32_t context_tokens = 0;  ///< that one request may have, its answer included
  uint32_t queue_max = 512;    ///< requests that wait
  int64_t inter_token_target_us = 0;
};

/// Requests join and leave between two steps. Cancellation, deadlines and priorities are looked at in each. If the memory is full, what
/// ended requests have left goes first; then the request of the lowest priority that came last is put back and computed again later, so
/// that none is lost. Runs on a thread of its own.
class GenerationLoop {
 public:
  /// \param engine, vocabulary, clock, counts  outlive the loop
  GenerationLoop(TokenEngine& engine, const TokenVocabulary& vocabulary, const Clock& clock,
                 LoopSettings settings, LlamaCounts& counts);
  GenerationLoop(const GenerationLoop&) = delete;
  GenerationLoop& operator=(const GenerationLoop&) = delete;
  /// Requests that have no end yet end with UNAVAILABLE.
  ~GenerationLoop();

  /// \param placement  as ExecutorFactory::create(). Errors: those of create().
  Status start(ExecutorFactory& executors, std::string_view name, const ThreadPlacement& placement);
  /// Takes the request, which has tokens that fit. [any]
  /// Errors, with the request left to the caller: UNAVAILABLE the queue is full.
  Status submit(std::unique_ptr<Generation>& generation) noexcept;

 private:
  struct StepPart {
    TokenSlot* slot;
    int32_t tokens;
    size_t last;  ///< of the step's tokens
  };
  struct Shown {
    uint64_t running = 0, waiting = 0, memory_tokens = 0;
  };
  /// What other threads leave for the loop, under a lock.
  struct Inbox {
    std::mutex mutex;
    std::vector<std::unique_ptr<Generation>> submitted;
    uint64_t count = 0;  ///< of all that were ever submitted
    size_t waiting = 0;  ///< of those that the loop has taken
    bool is_posted = false;
  };

  void run() noexcept;
  bool has_work();
  void take_submitted();
  void drop_ended();
  void admit();
  bool fits(const Generation& generation) const;
  std::vector<StepPart> plan();
  bool compute();
  void make_room();
  void put_back(TokenSlot& slot);
  void count_step(std::span<const StepPart> parts, int64_t took_ns);
  void advance(TokenSlot& slot, std::span<const float> logits);
  FinishReason take_token(Generation& generation, const ChosenToken& chosen);
  void count_token(Generation& generation, int64_t now_ns);
  void finish(TokenSlot& slot, FinishReason reason);
  void fail_running(const Status& failure);
  void show_state();

  TokenEngine& engine_;
  const TokenVocabulary& vocabulary_;
  const Clock& clock_;
  const LoopSettings settings_;
  LlamaCounts& counts_;
  TokenSlots slots_;
  ChunkSize chunk_;
  std::vector<std::unique_ptr<Generation>> waiting_;  ///< the first one goes first
  std::vector<StepToken> step_;
  std::vector<float> scratch_;
  Shown shown_;
  Inbox inbox_;
  SerialExecutorPtr executor_;
};

}  // namespace atl::llamacpp
