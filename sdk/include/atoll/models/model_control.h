/// Model control: what should be served, and whether clients may say so. Service "atoll.model_control/1",
/// provided by the plugins control/none, control/explicit, control/poll and control/on_demand.
///
/// A control plugin has two sides. Towards the catalog it decides: it calls ModelCatalog::load_model() and
/// unload_model(), and set_startup_complete() once. Towards clients it answers the repository calls of
/// Triton's protocol (RepositoryModelLoad and RepositoryModelUnload over gRPC, v2/repository/models/<m>/load
/// and unload over HTTP): a frontend hands these calls to load() and unload() below.
///
///     control->load("resnet", {}, [call](Status status) { call->answer(std::move(status)); });
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl {

/// A parameter of a load or unload call, as the client sent it. Known to control/explicit: "config" (kString,
/// the configuration as JSON), "file:<path>" (kBytes, the content of a file of the model),
/// "unload_dependents" (kBool). `type` says which member holds the value.
struct ModelControlParameter {
  std::string key;
  ParameterType type = ParameterType::kString;
  /// The value of kString and kBytes.
  std::string text;
  bool bool_value = false;
  int64_t int_value = 0;
};

/// Functions may be called from any thread and never block [any]. `done` is called once, on this or another
/// thread, and must not block.
class ModelControl {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.model_control/1";
  /// A manifest may have one provider: two would load and unload against each other.
  static constexpr bool kOneProvider = true;
  using Done = std::function<void(Status)>;

  /// "none", "poll", "explicit" or "on_demand". Constant.
  virtual std::string_view mode() const noexcept = 0;
  /// Loads a model, or loads it anew if its files or configuration changed, and then calls `done`. If the
  /// load fails, what was served goes on.
  /// \param done  gets OK when the model is READY; the text of a failure is the answer that the protocol has
  /// Errors, all by `done`: UNAVAILABLE "explicit model load / unload is not allowed if polling is enabled"
  /// in every mode but explicit, "Server not ready", "Server exiting", or too many bytes of configurations
  /// and files are in hand; INVALID_ARGUMENT a name or parameter; UNIMPLEMENTED files are switched off; the
  /// load's own failure.
  virtual void load(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept = 0;
  /// Takes all versions of a model out of service; requests that were accepted are still answered. A model
  /// that is not loaded is no error.
  /// Errors, all by `done`: UNAVAILABLE as load().
  virtual void unload(std::string model, std::vector<ModelControlParameter> parameters,
                      Done done) noexcept = 0;

 protected:
  ~ModelControl() = default;
};

}  // namespace atl
