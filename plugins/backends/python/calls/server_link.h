/// What workers may ask of the server: other models, and control of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "atoll/models/model.h"
#include "atoll/models/model_control.h"

namespace atl::python {

/// A model, and what it is had from, for as long as it is asked.
struct HeldModel {
  Pass pass;
  Followed<ModelCatalog>::Hold catalog;
  ModelRef model;
};

/// [any] but open() and close().
class ServerLink {
 public:
  explicit ServerLink(Host& host) : host_(host), catalog_(host), control_(host) {}

  Status open() {
    ATOLL_RETURN_IF_ERROR(catalog_.open());
    return control_.open();
  }
  void close() noexcept {
    control_.close();
    catalog_.close();
  }

  /// Errors: those of ModelCatalog::acquire(); UNAVAILABLE there is no catalog, or the server ends.
  Result<HeldModel> acquire(std::string_view name, int64_t version) noexcept {
    HeldModel held{Pass(host_.gate()), catalog_.hold(), {}};
    if (!held.pass) return unavailable("Server exiting");
    if (!held.catalog) return unavailable("no plugin provides ", ModelCatalog::kInterfaceId);
    Result<ModelRef> model = held.catalog->acquire(name, version);
    if (!model.ok()) return std::move(model).status();
    held.model = std::move(model).value();
    return held;
  }
  /// As long as a call; false: there is none.
  Followed<ModelCatalog>::Hold hold_catalog() const noexcept { return catalog_.hold(); }
  /// `use` gets the control plugin. \returns false: there is none
  template <class Use>
  bool with_control(Use&& use) noexcept {
    auto control = control_.hold();
    if (!control) return false;
    use(*control);
    return true;
  }
  Gate& gate() noexcept { return host_.gate(); }

 private:
  Host& host_;
  Followed<ModelCatalog> catalog_;
  Followed<ModelControl> control_;
};

}  // namespace atl::python
