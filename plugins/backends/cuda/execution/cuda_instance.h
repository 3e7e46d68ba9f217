/// Runs batches on one GPU.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/backend/room.h"
#include "backends/cuda/code/device_part.h"
#include "backends/cuda/execution/group_run.h"
#include "backends/cuda/execution/in_flight.h"
#include "backends/cuda/pipeline/model_plan.h"
#include "backends/cuda/pipeline/work_set.h"

namespace atl::cuda_backend {

/// execute() puts a batch into the streams and returns; it is answered by the completion thread of the device, or ahead of
/// it where that is possible, and then released by it. Two are under way at most, so that one can be prepared while the
/// other runs.
///
/// Requests that cannot be joined (other shapes, other optional inputs, a model that does not batch) run one after the
/// other within the same batch.
class CudaInstance final : public BackendInstance {
 public:
  /// Runs the model once on zeros, and captures its graphs. [control work]
  /// Errors: what the kernels did wrong; RESOURCE_EXHAUSTED; UNAVAILABLE the device is lost.
  static Result<std::unique_ptr<CudaInstance>> make(std::shared_ptr<const ModelPlan> plan,
                                                    std::shared_ptr<DevicePart> part,
                                                    InferenceReporter* reporter) noexcept;
  /// Waits for the batches that are under way.
  ~CudaInstance() override;

  Status execute(const Batch& batch) noexcept override;
  bool ready() const noexcept override;
  std::string unready_reason() const override;
  uint32_t room() const noexcept override;
  bool add_room_listener(RoomListener& listener) noexcept override { return room_.add_listener(listener); }
  void remove_room_listener(RoomListener& listener) noexcept override { room_.remove_listener(listener); }

 private:
  static constexpr uint32_t kBatchesInFlight = 2;

  struct Slot {
    Slot(CudaInstance& of, InferenceReporter* reporter, bool decoupled) noexcept
        : owner(of), batch(reporter, decoupled) {}
    CudaInstance& owner;
    InFlight batch;
    uint32_t set = 0;      ///< place in sets_
    bool is_busy = false;  ///< under mutex_
  };

  CudaInstance(std::shared_ptr<const ModelPlan> plan, std::shared_ptr<DevicePart> part) noexcept;
  Status open(InferenceReporter* reporter) noexcept;
  Status open_lanes() noexcept;
  Status warm_up() noexcept;
  Status warm_up(WorkSet& set) noexcept;
  void capture_graphs(WorkSet& set) noexcept;

  Slot& take_slot() noexcept;
  void choose(InFlight& batch) noexcept;
  bool run_all(Slot& slot, Status& failure) noexcept;
  static void on_done(void* argument, Status outcome) noexcept;
  void end(Slot& slot, const Status& outcome) noexcept;

  const std::shared_ptr<const ModelPlan> plan_;
  const std::shared_ptr<DevicePart> part_;
  const Clock& clock_;
  Lanes lanes_;
  std::vector<WorkSet> sets_;  ///< one, or one a slot where streams run ahead of each other
  std::vector<std::unique_ptr<Slot>> slots_;
  GroupRun run_;
  backends::Room room_{kBatchesInFlight};

  std::mutex mutex_;
  std::condition_variable slot_is_free_;

  // Of the batch that is being executed; members so that their memory is kept.
  backends::BatchGroups groups_;
  const BatchGroup& group_ = groups_.current();
};

}  // namespace atl::cuda_backend
