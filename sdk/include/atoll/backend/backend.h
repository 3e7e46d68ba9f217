/// Backends: what runs models. A backend makes one BackendModel a loaded model version, and that makes one
/// BackendInstance for each model instance of the instance groups.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/status.h"
#include "atoll/models/model_description.h"
#include "atoll/request/request.h"
#include "atoll/request/statistics.h"

namespace atl {

/// Numbers of the Triton C ABI.
enum class InstanceKind : uint32_t { kAuto = 0, kCpu = 1, kGpu = 2, kModel = 3 };
constexpr std::string_view instance_kind_name(InstanceKind kind) noexcept {
  constexpr std::string_view kNames[] = {"AUTO", "CPU", "GPU", "MODEL"};
  auto index = static_cast<uint32_t>(kind);
  return index < 4 ? kNames[index] : "<invalid>";
}

/// One batch to run: borrowed until execute() returns.
struct Batch {
  std::span<Request* const> requests;  ///< at least one; all of one model version
  uint32_t total_batch_size = 0;       ///< sum of the requests' batch weights
  int64_t deadline_ns = 0;             ///< earliest among them, steady clock; 0: none; advisory
};
static_assert(sizeof(Batch) == 32);  // see ATOLL_SDK_LAYOUT

/// Told that room() of an instance has grown. Must not block, nor enter the instance. [any]
class RoomListener {
 public:
  virtual void on_room() noexcept = 0;

 protected:
  ~RoomListener() = default;
};

/// Runs one batch at a time on one model instance.
class BackendInstance {
 public:
  virtual ~BackendInstance() = default;

  /// [instance] Tensors are packed, row-major. If the model batches, shapes are [B, d1..dn]; the sum of all B
  /// is at most max_batch_size, and a joined tensor is the concatenation along the first dimension in the
  /// order of the requests. Outputs go into buffers from Response::allocate, cut per request in the same
  /// order.
  ///
  /// Returning OK means the backend took the requests: it has answered, or will answer later from any thread,
  /// each of them with exactly one kFinal, and releases each exactly once, reporting statistics before it
  /// does. One bad request: answer that one with an error and return OK. Returning a failure means no request
  /// was touched: the caller answers all of them with it and releases them. Errors: INVALID_ARGUMENT shape or
  /// type outside the configuration; RESOURCE_EXHAUSTED memory; else INTERNAL.
  virtual Status execute(const Batch& batch) noexcept = 0;

  /// [any] False when the instance can no longer serve (a dead child process).
  virtual bool ready() const noexcept { return true; }

  /// [any] For an instance that takes requests while it answers earlier ones (continuous batching): how much
  /// it takes by the next execute(), as the sum of batch weights. Grows by itself, shrinks by execute()
  /// alone. One that has nothing inside takes any batch. backend/room.h does all three.
  virtual uint32_t room() const noexcept { return std::numeric_limits<uint32_t>::max(); }
  /// [any] Whoever is told each time room() has grown; two while one scheduler takes another's place.
  /// \returns false: room() is never less than a whole batch, and nobody is told anything.
  virtual bool add_room_listener(RoomListener& /*listener*/) noexcept { return false; }
  /// [any] One that was added. When it returns the listener is not being called and will not be. Not from
  /// inside on_room().
  virtual void remove_room_listener(RoomListener& /*listener*/) noexcept {}

  // --- of a backend of minor 2 ---

  /// [any] Why ready() is false, in one line, for the repository index: "GPU 0 is lost: cuLaunchKernel: ILLEGAL_ADDRESS
  /// (700)". Empty: nothing is known, or it is ready.
  virtual std::string unready_reason() const { return {}; }
};

/// What an instance is made for.
struct InstanceSpec {
  std::string name;  ///< "<group>_<n>"
  InstanceKind kind = InstanceKind::kCpu;
  int32_t device_id = 0;  ///< GPU ordinal for kGpu, else 0
  bool passive = false;   ///< created, never executed
  std::string host_policy;
  std::vector<std::string> profiles;
  /// Draft: no backend of the tree reads it. Kinds and ordinals, as configured.
  std::vector<std::pair<std::string, int64_t>> secondary_devices;
  InferenceReporter* reporter = nullptr;  ///< outlives the instance
  /// Of the host policy: the cores of the thread that executes the instance; empty: all. Such an instance is
  /// executed on no other thread.
  std::vector<uint32_t> cpu_cores;
  int32_t numa_node = -1;  ///< of the host policy: the node of that thread's memory; -1: any

  bool is_bound() const noexcept { return !cpu_cores.empty() || numa_node >= 0; }
  ThreadPlacement placement() const noexcept { return {.cpu_cores = cpu_cores, .numa_node = numa_node}; }
};

/// One loaded model version.
class BackendModel {
 public:
  virtual ~BackendModel() = default;
  /// [control work] Called from worker threads, one call at a time unless BackendTraits::parallel_instances.
  virtual Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept = 0;
  /// Memory the model is known to take, for the statistics.
  virtual std::vector<MemoryUsage> memory_usage() const noexcept { return {}; }
};

/// What a model is loaded from.
struct ModelSource {
  std::string name;
  int64_t version = 0;
  std::string model_directory;    ///< holds config.pbtxt; local
  std::string version_directory;  ///< holds the model's files; local
  std::string config;             ///< serialized inference.ModelConfig, normalised
  ModelDescription model;         ///< what `config` says that most backends need; always set
  bool auto_complete = true;      ///< the backend may fill in what the configuration leaves out
  /// Of the backend; "default-max-batch-size" is always there. Those of others are ".<backend>.<setting>".
  std::map<std::string, std::string> settings;
};

/// A group a backend would rather have when a configuration names none.
struct PreferredGroup {
  InstanceKind kind = InstanceKind::kAuto;
  uint32_t count = 0;  ///< 0: the server's default
  std::vector<int32_t> gpus;
};

struct BackendTraits {
  /// Best first. A backend that runs on GPUs has one of kGpu or kAuto among them, wherever it stands: KIND_AUTO in a
  /// configuration means GPUs for it where there are any, and the CPU for every other backend.
  std::vector<PreferredGroup> preferred_groups;
  bool parallel_instances = false;  ///< instances of one model may be created at the same time
  /// Instances on GPUs wait for no input in memory of a GPU whose event has a native handle: they put its use behind
  /// the event, and release the request when the use is over.
  bool device_ordered = false;
};

/// One model version on its way from a configuration that is not complete to a BackendModel, for a backend that has
/// to keep something in between, or whose traits differ from model to model. [control work] One call at a time.
/// Without load() it ends with nothing loaded.
class PendingModel {
 public:
  virtual ~PendingModel() = default;
  virtual BackendTraits traits() const noexcept = 0;
  /// As Backend::complete_config(), once, with or without source.auto_complete; the instance groups are filled in as
  /// traits() would have them.
  virtual Result<std::string> complete(const ModelSource& source) noexcept = 0;
  /// As Backend::load(), once, after complete().
  virtual Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept = 0;
};

/// A backend: service "atoll.backend/1", minor 2, found by its instance name, which is the `backend` field of a
/// configuration. All functions run on worker threads, several at once.
class Backend {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.backend/1";
  /// The first minor version that has the functions marked with it.
  static constexpr uint32_t kAnyNameMinor = 1;
  static constexpr uint32_t kUnreadyReasonMinor = 2;

  virtual BackendTraits traits() const noexcept = 0;
  /// Returns the configuration completed from the model's files (max_batch_size, input, output, scheduling if
  /// none, decoupled); the same bytes if there is nothing to add. Called only with source.auto_complete.
  /// Errors: INVALID_ARGUMENT the configuration contradicts the files; NOT_FOUND a file is missing; INTERNAL
  /// unreadable.
  virtual Result<std::string> complete_config(const ModelSource& source) noexcept = 0;
  /// source.config and source.model are final (completed, normalised, validated).
  virtual Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept = 0;

  // --- since minor 1 ---

  /// Whether it runs a model whose configuration names a backend that is no instance's name. Of several that do, the
  /// one of the highest rank is taken, and of these the first by name. An error says why the model cannot be run; it
  /// counts where nobody else runs it. source.config is as it was read.
  virtual Result<bool> serves(const ModelSource& /*source*/) noexcept { return false; }
  /// Begins a load of its own kind, of source.config as it was read; null: the three functions above do it.
  /// Errors: those of load()
  virtual Result<std::unique_ptr<PendingModel>> begin_load(const ModelSource& /*source*/) noexcept {
    return std::unique_ptr<PendingModel>();
  }

 protected:
  ~Backend() = default;
};

}  // namespace atl
