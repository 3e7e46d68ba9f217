/// Model control of kind "none": what the repository holds at start is served, and nobody may change it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/executor.h"
#include "atoll/gate.h"
#include "atoll/log.h"
#include "atoll/model.h"
#include "atoll/model_control.h"
#include "atoll/repository.h"

namespace atl::control {

/// What the start-up load works with.
struct StartupServices {
  Log& log;
  Gate& gate;  ///< the plugin instance's own; a pass is held until the load has ended
  WorkerPool& workers;
  ModelCatalog& catalog;
  Repository& repository;
};

class NoneControl final : public ModelControl {
 public:
  std::string_view mode() const noexcept override { return "none"; }
  void load(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept override;
  void unload(std::string model, std::vector<ModelControlParameter> parameters, Done done) noexcept override;
};

/// Loads every model that the repository lists, once, on worker threads, and then tells the catalog that
/// start-up is complete: whichever models failed, the others are served. Returns at once. The services must
/// stay held until the gate is empty.
///
/// A repository that can not be listed is logged; start-up is then never complete, so the server does not
/// become ready: it can not know what it should serve.
/// Errors: UNAVAILABLE the gate is closed.
Status begin_startup_load(const StartupServices& services) noexcept;

}  // namespace atl::control
