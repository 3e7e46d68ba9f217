/// The end of a frontend, put off while clients finish their sequences.
#pragma once

#include <cstdint>
#include <functional>

#include "atoll/core/executor.h"
#include "atoll/core/host.h"
#include "atoll/models/model.h"

namespace atl::frontends {

/// When the server exits, schedulers begin no more sequences, and those that are open need a frontend to be
/// finished. All functions [control].
class SequenceDrain {
 public:
  explicit SequenceDrain(Host& host) noexcept : host_(host) {}
  SequenceDrain(const SequenceDrain&) = delete;
  SequenceDrain& operator=(const SequenceDrain&) = delete;
  ~SequenceDrain() { cancel(); }

  /// Calls `drain` once: at once, unless the server exits and sequences are open; then when the last of them has
  /// ended, or when only a fifth of the time from the exit to the deadline, and at most 5 s, is left: for what is in
  /// flight, and for models that take their time to unload.
  /// \param catalog  outlives the wait, until cancel()
  void begin(const ModelCatalog& catalog, int64_t deadline_ns, std::function<void()> drain);
  /// It is not called any more.
  void cancel() noexcept;

 private:
  void look() noexcept;
  void look_again_later() noexcept;
  void end();

  Host& host_;
  const ModelCatalog* catalog_ = nullptr;
  int64_t until_ns_ = 0;
  std::function<void()> drain_;
  SerialExecutorPtr executor_;
};

}  // namespace atl::frontends
