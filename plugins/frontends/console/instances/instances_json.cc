#include "frontends/console/instances/instances_json.h"

#include "atoll/lib/json_writer.h"

namespace atl::frontends::console {

std::string instances_json(const InstancesView& view, const ProcessStart& start) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "generation", view.generation);
    write_member(json, "draining", view.is_draining);
    write_array(json, "instances", view.instances, [&](const ListedInstance& instance) {
      write_object(json, [&] {
        write_member(json, "name", instance.name);
        write_member(json, "plugin", instance.plugin);
        write_member(json, "state", lifecycle_state_name(instance.state));
        write_member(json, "generation", instance.generation);
        write_member(json, "reason", instance.reason);
        write_array(json, "services", instance.services,
                    [&](const std::string& service) { write_text(json, service); });
      });
    });
  });
}

}  // namespace atl::frontends::console
