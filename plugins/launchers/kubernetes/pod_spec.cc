#include "launchers/kubernetes/pod_spec.h"

#include <algorithm>
#include <utility>

#include "atoll/core/clock.h"
#include "launchers/kubernetes/pod_names.h"

namespace atl::launchers {
namespace {

constexpr int64_t kProbePeriodS = 2;

Json labels_of(const ServerSpec& server, const PodSettings& settings) {
  return {{kManagedByLabel, kManager},
          {kKeeperLabel, settings.keeper},
          {kServerLabel, server_hash(server.id)},
          {kPoolLabel, label_value(server.pool)}};
}

int64_t seconds_of(int64_t ns) { return std::max<int64_t>((ns + kNsPerSecond - 1) / kNsPerSecond, 1); }

Json probe(int64_t failures) {
  return {{"httpGet", {{"path", "/v2/health/ready"}, {"port", "http"}}},
          {"periodSeconds", kProbePeriodS},
          {"timeoutSeconds", 5},
          {"failureThreshold", failures}};
}

Json resources_of(const ServerSpec& server, const PodSettings& settings) {
  Json limits = Json::object();
  if (server.cpus != 0) limits["cpu"] = cat(server.cpus);
  if (server.memory_bytes != 0) limits["memory"] = cat(server.memory_bytes);
  Json resources = {{"requests", limits}};
  // Of devices only limits are allowed to be said.
  if (server.gpus != 0) limits[settings.gpu_resource] = cat(server.gpus);
  resources["limits"] = std::move(limits);
  return resources;
}

Json ports_of(const PodSettings& settings) {
  Json ports = Json::array({{{"name", "http"}, {"containerPort", settings.http_port}}});
  if (settings.grpc_port != 0) ports.push_back({{"name", "grpc"}, {"containerPort", settings.grpc_port}});
  return ports;
}

/// Volumes, and where the container has them.
std::pair<Json, Json> volumes_of(const PodSettings& settings) {
  Json volumes = Json::array({{{"name", "tmp"}, {"emptyDir", Json::object()}}});
  Json mounts = Json::array({{{"name", "tmp"}, {"mountPath", "/tmp"}}});
  if (settings.dev_shm_bytes != 0) {
    volumes.push_back({{"name", "dev-shm"},
                       {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", cat(settings.dev_shm_bytes)}}}});
    mounts.push_back({{"name", "dev-shm"}, {"mountPath", "/dev/shm"}});
  }
  std::map<std::string, std::string> names;
  for (const ClaimMount& mount : settings.claims) {
    const auto [name, is_new] = names.try_emplace(mount.claim, cat("claim-", names.size()));
    if (is_new)
      volumes.push_back({{"name", name->second},
                         {"persistentVolumeClaim", {{"claimName", mount.claim}, {"readOnly", true}}}});
    Json where = {{"name", name->second}, {"mountPath", mount.path}, {"readOnly", true}};
    if (!mount.folder.empty()) where["subPath"] = mount.folder;
    mounts.push_back(std::move(where));
  }
  return {std::move(volumes), std::move(mounts)};
}

Json container_of(const ServerSpec& server, const std::vector<std::string>& words,
                  const PodSettings& settings, Json mounts) {
  const auto own_image = settings.images.find(server.runtime);
  Json container = {{"name", kContainerName},
                    {"image", own_image == settings.images.end() ? settings.image : own_image->second},
                    {"command", words},
                    {"ports", ports_of(settings)},
                    {"resources", resources_of(server, settings)},
                    {"volumeMounts", std::move(mounts)},
                    {"readinessProbe", probe(3)},
                    {"startupProbe", probe(seconds_of(settings.start_timeout_ns) / kProbePeriodS + 1)}};
  container["env"] = Json::array(
      {{{"name", "ATOLL_POD_IP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}}});
  container["envFrom"] = Json::array({{{"secretRef", {{"name", pod_name(server.pool, server.id)}}}}});
  container["securityContext"] = {{"allowPrivilegeEscalation", false},
                                  {"readOnlyRootFilesystem", true},
                                  {"capabilities", {{"drop", {"ALL"}}}}};
  return container;
}

/// By which of their members the items of a list are told apart; empty: by none.
std::string_view key_of(std::string_view list) {
  if (list == "volumeMounts") return "mountPath";
  for (std::string_view named :
       {"containers", "initContainers", "volumes", "env", "ports", "imagePullSecrets"}) {
    if (list == named) return "name";
  }
  return {};
}

void merge_lists(Json& base, const Json& over, std::string_view name) {
  const bool has_objects = std::ranges::any_of(over, [](const Json& item) { return item.is_object(); });
  const std::string key(key_of(name));
  if (!has_objects && key.empty()) base = over;
  if (!has_objects) return;
  for (const Json& item : over) {
    const auto same = std::ranges::find_if(base, [&](const Json& own) {
      return !key.empty() && item.is_object() && own.is_object() && item.contains(key) && own.contains(key) &&
             own[key] == item[key];
    });
    if (same == base.end()) {
      base.push_back(item);
    } else {
      merge_over(*same, item);
    }
  }
}

}  // namespace

Result<ClaimMount> read_claim(const std::string& path, const std::string& text) {
  const size_t slash = text.find('/');
  ClaimMount mount{path, text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1)};
  if (!path.starts_with('/'))
    return invalid_argument("found the path '", path, "', expected one that begins with '/'");
  if (mount.claim.empty() || mount.folder.starts_with('/') ||
      cat("/", mount.folder, "/").find("/../") != std::string::npos)
    return invalid_argument("found '", text, "', expected the name of a claim, or claim/folder");
  return mount;
}

std::string without_references(std::string_view text) {
  std::string plain;
  for (char c : text) plain += c == '$' ? std::string("$$") : std::string(1, c);
  return plain;
}

void merge_over(Json& base, const Json& over, std::string_view name) {
  if (base.is_object() && over.is_object()) {
    for (const auto& [member, value] : over.items()) {
      if (value.is_null()) {
        base.erase(member);
      } else if (base.contains(member)) {
        merge_over(base[member], value, member);
      } else {
        base[member] = value;
      }
    }
  } else if (base.is_array() && over.is_array()) {
    merge_lists(base, over, name);
  } else {
    base = over;
  }
}

Json pod_object(const ServerSpec& server, const std::vector<std::string>& words,
                const PodSettings& settings) {
  auto [volumes, mounts] = volumes_of(settings);
  Json pod = {
      {"metadata", {{"labels", Json::object()}, {"annotations", Json::object()}}},
      {"spec",
       {{"automountServiceAccountToken", false},
        {"enableServiceLinks", false},
        {"terminationGracePeriodSeconds", seconds_of(settings.stop_timeout_ns)},
        {"securityContext", {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
        {"containers", Json::array({container_of(server, words, settings, std::move(mounts))})},
        {"volumes", std::move(volumes)}}}};
  merge_over(pod, settings.pod_template);
  // Whatever a template says: by these it is found again, and no pod is left that nobody but this process could end.
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  Json& metadata = pod["metadata"];
  for (const char* name : {"namespace", "generateName", "finalizers", "ownerReferences"})
    metadata.erase(name);
  metadata["name"] = pod_name(server.pool, server.id);
  metadata["labels"].update(labels_of(server, settings));
  metadata["annotations"][kServerIdAnnotation] = server.id;
  pod["spec"]["restartPolicy"] = "Never";
  return pod;
}

Json secret_object(const ServerSpec& server, const std::vector<std::string>& variables,
                   const std::string& pod_uid, const PodSettings& settings) {
  const std::string name = pod_name(server.pool, server.id);
  Json values = Json::object();
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    values[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  Json owner = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", name}, {"uid", pod_uid}};
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata",
           {{"name", name},
            {"labels", labels_of(server, settings)},
            {"ownerReferences", Json::array({std::move(owner)})}}},
          {"type", "Opaque"},
          {"immutable", true},
          {"stringData", std::move(values)}};
}

Result<Json> read_pod_template(std::string_view text, const std::string& file) {
  Json pod = parse_json(text);
  if (!pod.is_object()) return invalid_argument(file, ": expected a pod as an object of JSON");
  for (const char* name : {"metadata", "spec"}) {
    if (pod.contains(name) && !pod[name].is_object())
      return invalid_argument(file, ": '", name, "' is no object");
  }
  for (const char* name : {"labels", "annotations"}) {
    const Json& values = field_at(pod, {"metadata", name});
    if (!values.is_null() && !values.is_object())
      return invalid_argument(file, ": 'metadata.", name, "' is no object");
  }
  for (const auto& [name, value] : pod.items()) {
    if (name != "metadata" && name != "spec" && name != "apiVersion" && name != "kind")
      return invalid_argument(file, ": found '", name, "', expected 'metadata' and 'spec' of a pod");
  }
  return pod;
}

Json delete_options(const std::string& uid) {
  Json options = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"propagationPolicy", "Background"}};
  if (!uid.empty()) options["preconditions"] = {{"uid", uid}};
  return options;
}

}  // namespace atl::launchers
