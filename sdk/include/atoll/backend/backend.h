/// Backends: what runs models. Service "atoll.backend/1", minor 2. docs/guide-backend.md builds a backend
/// from nothing.
///
/// A Backend makes one BackendModel of each loaded model version, and that makes one BackendInstance of each
/// model instance of the configuration's instance groups. Each of the three is destroyed before the one that
/// made it, and the backend's service is held until then. In short:
///
///     class Echo final : public BackendInstance {
///      public:
///       Echo(const Clock& clock, InferenceReporter* reporter) : clock_(clock), responder_(reporter) {}
///       Status execute(const Batch& batch) noexcept override {
///         responder_.answer_each(batch, clock_, [this](uint32_t i) { return answer(i); });
///         return {};
///       }
///       ...
///       backends::BatchResponder responder_;  // atoll/backend/responder.h: statistics, answers, failures
///     };
///
/// Threads. Backend and BackendModel are called on worker threads, where a call may block; execute() by one
/// thread at a time for one instance. Nothing may throw out of these functions: the process would end.
///
/// The same things in Triton's C API: a Backend is a TRITONBACKEND_Backend, a BackendModel a
/// TRITONBACKEND_Model, a BackendInstance a TRITONBACKEND_ModelInstance.
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

/// On what an instance runs: `kind` of an instance group. The numbers are those of
/// TRITONSERVER_InstanceGroupKind in Triton's C API. An instance is never of kAuto: that is decided before it
/// is made.
enum class InstanceKind : uint32_t { kAuto = 0, kCpu = 1, kGpu = 2, kModel = 3 };
/// The name without "KIND_": "GPU".
constexpr std::string_view instance_kind_name(InstanceKind kind) noexcept {
  constexpr std::string_view kNames[] = {"AUTO", "CPU", "GPU", "MODEL"};
  auto index = static_cast<uint32_t>(kind);
  return index < 4 ? kNames[index] : "<invalid>";
}

/// One batch to run. The span is borrowed until execute() returns; the requests are the backend's until it
/// releases them.
struct Batch {
  /// At least one; all of one model version, in the order in which their parts lie in a joined tensor.
  std::span<Request* const> requests;
  /// The sum of the requests' batch weights (Request::batch_weight()).
  uint32_t total_batch_size = 0;
  /// The earliest deadline among the requests, by the host's steady clock, in nanoseconds; 0: there is none.
  /// A hint: a backend need not look at it.
  int64_t deadline_ns = 0;
};
static_assert(sizeof(Batch) == 32);  // see ATOLL_SDK_LAYOUT

/// Called when room() of an instance has grown: whoever sends the instance batches.
class RoomListener {
 public:
  /// Must not block, and must not execute anything on the instance: note it, or post a task. Called on any
  /// thread [any].
  virtual void on_room() noexcept = 0;

 protected:
  ~RoomListener() = default;
};

/// Runs one batch at a time on one model instance.
class BackendInstance {
 public:
  virtual ~BackendInstance() = default;

  /// Runs a batch. Never called twice at once for one instance [instance].
  ///
  /// Tensors are packed and row-major. If the model batches, shapes are [B, d1..dn] with B the request's
  /// batch size; the sum of all B is at most max_batch_size. A joined tensor is the concatenation along the
  /// first dimension in the order of the requests. Each request gets its part of an output, in the same
  /// order, in a buffer from Response::allocate().
  ///
  /// Returning OK means that the backend took the requests. It has answered each of them, or will answer it
  /// later from any thread, with exactly one kFinal; it releases each exactly once; and before it does so it
  /// reports statistics. If one request is bad, answer that one with an error and return OK.
  ///
  /// Returning a failure means that no request was touched: the caller answers all of them with the failure
  /// and releases them.
  /// Errors: INVALID_ARGUMENT a shape or type outside the configuration; RESOURCE_EXHAUSTED no memory; else
  /// INTERNAL.
  virtual Status execute(const Batch& batch) noexcept = 0;

  /// False when the instance can no longer serve, because its process has died or its GPU is lost. The
  /// version is then not ready. [any]
  virtual bool ready() const noexcept { return true; }

  /// For an instance that takes requests while it answers earlier ones (continuous batching): the sum of
  /// batch weights that it takes by the next execute(). Room grows by itself and shrinks only by execute().
  /// An instance with nothing inside takes any batch. atoll/backend/room.h implements this function and the
  /// next two. [any]
  virtual uint32_t room() const noexcept { return std::numeric_limits<uint32_t>::max(); }
  /// Adds a listener that is called each time room() has grown. There are two while one scheduler takes
  /// another's place. [any]
  /// \returns false: room() is never less than a whole batch, and listeners are never called.
  virtual bool add_room_listener(RoomListener& /*listener*/) noexcept { return false; }
  /// Removes a listener that was added. When this returns, the listener is not being called and will not be.
  /// Not to be called from inside on_room(). [any]
  virtual void remove_room_listener(RoomListener& /*listener*/) noexcept {}

  // --- of a backend of minor 2 ---

  /// Why ready() is false, in one line, for the repository index: "GPU 0 is lost: cuLaunchKernel:
  /// ILLEGAL_ADDRESS (700)". Empty: the reason is not known, or the instance is ready. [any]
  virtual std::string unready_reason() const { return {}; }
};

/// What an instance is made for. Borrowed during create_instance(): copy what the instance needs later.
struct InstanceSpec {
  /// "<group>_<n>": the instance group's name and a number from 0 on.
  std::string name;
  InstanceKind kind = InstanceKind::kCpu;
  /// The CUDA ordinal for kGpu, else 0.
  int32_t device_id = 0;
  /// The instance is created and never executed (`passive` of the group).
  bool passive = false;
  /// The name of the host policy: the group's `host_policy`, else "cpu", "model" or "gpu_<id>".
  std::string host_policy;
  /// `profile` of the group: optimisation profiles of TensorRT, for backends that know them.
  std::vector<std::string> profiles;
  /// `secondary_devices` of the group: kinds and ordinals, as configured. Of the backends in this tree only
  /// backends/triton reads them, and passes them on.
  std::vector<std::pair<std::string, int64_t>> secondary_devices;
  /// Where the instance reports statistics; outlives the instance.
  InferenceReporter* reporter = nullptr;
  /// The cores that the host policy gives to the thread that executes the instance; empty: all. An instance
  /// with cores is created and executed on that thread and on no other.
  std::vector<uint32_t> cpu_cores;
  /// The memory node that the host policy gives to that thread; -1: any.
  int32_t numa_node = -1;

  /// Whether the instance has a thread of its own with a place.
  bool is_bound() const noexcept { return !cpu_cores.empty() || numa_node >= 0; }
  ThreadPlacement placement() const noexcept { return {.cpu_cores = cpu_cores, .numa_node = numa_node}; }
};

/// One loaded model version.
class BackendModel {
 public:
  virtual ~BackendModel() = default;
  /// Makes an instance; never null. Called on worker threads, one call at a time unless
  /// BackendTraits::parallel_instances; for an instance that is_bound() on its own thread. More instances may
  /// be made while others serve, because instance groups can change without a new load.
  virtual Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept = 0;
  /// The memory that the model is known to take, for the statistics. [any]
  virtual std::vector<MemoryUsage> memory_usage() const noexcept { return {}; }
};

/// What a model version is loaded from. Borrowed during the call.
struct ModelSource {
  std::string name;
  int64_t version = 0;
  /// A local folder that holds config.pbtxt.
  std::string model_directory;
  /// A local folder that holds the version's files.
  std::string version_directory;
  /// A serialized inference.ModelConfig, normalised.
  std::string config;
  /// What `config` says that most backends need; always set.
  ModelDescription model;
  /// The backend may fill in what the configuration leaves out.
  bool auto_complete = true;
  /// Settings of the backend from the option backend_settings of models/catalog; "default-max-batch-size" is
  /// always there. Settings of other backends have keys of the form ".<backend>.<setting>".
  std::map<std::string, std::string> settings;
};

/// A group of instances that a backend would like when a configuration names none.
struct PreferredGroup {
  InstanceKind kind = InstanceKind::kAuto;
  /// How many instances; 0: the server's default.
  uint32_t count = 0;
  /// CUDA ordinals; empty: all usable GPUs.
  std::vector<int32_t> gpus;
};

/// What a backend says of itself, so that instance groups are filled in and instances made as it needs them.
struct BackendTraits {
  /// The best one first. A backend that runs on GPUs has a group of kGpu or kAuto among them, wherever it
  /// stands: for such a backend KIND_AUTO in a configuration means GPUs where there are any; for every other
  /// backend it means the CPU.
  std::vector<PreferredGroup> preferred_groups;
  /// create_instance() may be called several times at once for one model.
  bool parallel_instances = false;
  /// Instances on GPUs do not wait for inputs in memory of a GPU whose event has a native handle: they put
  /// the use of the input behind the event in their stream, and release the request when the use is over.
  bool device_ordered = false;
};

/// One model version on its way from a configuration that is not complete to a BackendModel. For a backend
/// that has to keep something in between, or whose traits differ from model to model; others need none.
/// Called on worker threads, one call at a time. If it is destroyed without load(), nothing was loaded.
/// [worker]
class PendingModel {
 public:
  virtual ~PendingModel() = default;
  /// Those of this model.
  virtual BackendTraits traits() const noexcept = 0;
  /// As Backend::complete_config(). Called once, with or without source.auto_complete. The instance groups
  /// are filled in as traits() would have them.
  virtual Result<std::string> complete(const ModelSource& source) noexcept = 0;
  /// As Backend::load(). Called once, after complete().
  virtual Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept = 0;
};

/// Service "atoll.backend/1", minor 2. A backend is found by its instance's name in the manifest, which is
/// what the field `backend` of a configuration names. All functions are called on worker threads, several at
/// once. [worker]
class Backend {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.backend/1";
  /// Minor versions of the interface. A service of a lower minor lacks the functions that came with them:
  /// serves() and begin_load() with the first, BackendInstance::unready_reason() with the second.
  static constexpr uint32_t kAnyNameMinor = 1;
  static constexpr uint32_t kUnreadyReasonMinor = 2;

  /// For all models that begin_load() does not take; asked at each load.
  virtual BackendTraits traits() const noexcept = 0;
  /// Returns the configuration completed from the model's files: max_batch_size, inputs, outputs, scheduling
  /// if there is none, decoupled. Returns the same bytes if there is nothing to add. Called only with
  /// source.auto_complete.
  /// Errors: INVALID_ARGUMENT the configuration contradicts the files; NOT_FOUND a file is missing; INTERNAL
  /// a file is unreadable.
  virtual Result<std::string> complete_config(const ModelSource& source) noexcept = 0;
  /// Loads a model version; never null. source.config and source.model are final here: completed, normalised
  /// and validated. The text of a failure is what the operator and the client read.
  virtual Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept = 0;

  // --- since minor 1 ---

  /// Whether it runs a model whose configuration names a backend that no instance in the manifest is called.
  /// Of several that do, the one of the highest rank is taken, and of these the first by name. source.config
  /// is as it was read.
  /// Errors: why the model cannot be run; told only if no other backend runs it.
  virtual Result<bool> serves(const ModelSource& /*source*/) noexcept { return false; }
  /// Begins a load of its own kind. Null: complete_config(), traits() and load() do the load. source.config
  /// is as it was read.
  /// Errors: those of load().
  virtual Result<std::unique_ptr<PendingModel>> begin_load(const ModelSource& /*source*/) noexcept {
    return std::unique_ptr<PendingModel>();
  }

 protected:
  ~Backend() = default;
};

}  // namespace atl
