#include "frontends/common/call/sequence_drain.h"

#include <algorithm>
#include <utility>

#include "atoll/core/stop_executor.h"

namespace atl::frontends {
namespace {

constexpr int64_t kLookIntervalNs = 20 * kNsPerMs;
constexpr int64_t kMostLeftNs = 5 * kNsPerSecond;

}  // namespace

void SequenceDrain::begin(const ModelCatalog& catalog, int64_t deadline_ns, std::function<void()> drain) {
  drain_ = std::move(drain);
  catalog_ = &catalog;
  const int64_t now_ns = host_.clock().now_ns(), began_ns = catalog.exit_began_ns();
  const int64_t all_ns = deadline_ns - (began_ns == 0 ? now_ns : began_ns);
  until_ns_ = deadline_ns - std::min(kMostLeftNs, all_ns / 5);
  if (now_ns >= until_ns_ || !catalog.exiting() || catalog.open_sequences() == 0) return end();
  Result<SerialExecutorPtr> made = host_.executors().create("sequence-drain", {});
  if (!made.ok()) return end();
  executor_ = std::move(made).value();
  host_.log().info("open sequences: ", catalog.open_sequences(), "; their clients may finish them");
  look_again_later();
}

void SequenceDrain::look_again_later() noexcept {
  executor_->post_at(host_.clock().now_ns() + kLookIntervalNs,
                     {[](void* self) { static_cast<SequenceDrain*>(self)->look(); }, this, nullptr});
}

void SequenceDrain::look() noexcept {
  if (catalog_->open_sequences() != 0 && host_.clock().now_ns() < until_ns_) return look_again_later();
  host_.post_control({[](void* self) { static_cast<SequenceDrain*>(self)->end(); }, this, nullptr});
}

void SequenceDrain::end() {
  if (auto drain = std::exchange(drain_, {}); drain) drain();
}

void SequenceDrain::cancel() noexcept {
  stop_executor(executor_);
  drain_ = {};
}

}  // namespace atl::frontends
