#include "launchers/kubernetes/settings.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "atoll/core/file_check.h"
#include "atoll/lib/http_request.h"

namespace atl::launchers {
namespace {

constexpr std::string_view kPlaces[] = {"repository", "host",     "http_port", "grpc_port",
                                        "id",         "instance", "pool",      "key"};
constexpr std::string_view kAtoll =
    "tritonserver --model-repository={repository} --model-control-mode=explicit "
    "--http-address={host} --http-port={http_port} --grpc-address={host} --grpc-port={grpc_port} "
    "--allow-metrics=false";

Result<ClusterAccess> read_access(const Options& options) {
  const std::string& server = options.get_string("server");
  const std::string& config = options.get_string("kubeconfig");
  if (!server.empty() && !config.empty())
    return invalid_argument("options 'server' and 'kubeconfig' exclude each other");
  if (!config.empty()) {
    Result<std::string> text = read_small_file(config);
    if (!text.ok()) return std::move(text).status().note("option 'kubeconfig'");
    Result<ClusterAccess> access =
        read_kubeconfig(text.value(), std::filesystem::absolute(config).parent_path());
    if (!access.ok()) return std::move(access).status().note(cat("option 'kubeconfig': ", config));
    return access;
  }
  if (server.empty()) {
    Result<ClusterAccess> access =
        in_cluster_access([](const char* name) { return std::getenv(name); }, kServiceAccountFolder);
    if (!access.ok()) return std::move(access).status().note("option 'server'");
    return access;
  }
  ClusterAccess access{server};
  while (access.server.ends_with('/')) access.server.pop_back();
  if (!is_http_url(access.server))
    return invalid_argument("option 'server' is '", server,
                            "', expected http://HOST:PORT or https://HOST:PORT");
  access.ca_file = options.get_string("ca_file");
  access.token_file = options.get_string("token_file");
  return access;
}

Result<PodSettings> read_pods(const Options& options) {
  PodSettings pods;
  pods.image = options.get_string("image");
  pods.images = options.get_map("images");
  if (pods.image.empty()) return invalid_argument("option 'image' is empty");
  for (const auto& [path, text] : options.get_map("claims")) {
    Result<ClaimMount> claim = read_claim(path, text);
    if (!claim.ok()) return std::move(claim).status().note("option 'claims'");
    pods.claims.push_back(std::move(claim).value());
  }
  pods.gpu_resource = options.get_string("gpu_resource");
  pods.http_port = static_cast<uint16_t>(options.get_int("http_port"));
  pods.grpc_port = static_cast<uint16_t>(options.get_int("grpc_port"));
  pods.stop_timeout_ns = options.get_duration_ns("stop_timeout");
  pods.start_timeout_ns = options.get_duration_ns("start_timeout");
  pods.dev_shm_bytes = options.get_bytes("dev_shm_size");
  if (const std::string& file = options.get_string("pod_template"); !file.empty()) {
    Result<std::string> text = read_small_file(file);
    Result<Json> pod = text.ok() ? read_pod_template(text.value(), file) : std::move(text).status();
    if (!pod.ok()) return std::move(pod).status().note("option 'pod_template'");
    pods.pod_template = std::move(pod).value();
  }
  return pods;
}

}  // namespace

void KubernetesSettings::check(OptionCheck& check) {
  check_runtimes(check, kPlaces);
  const std::string& directory = check.options().get_string("state_directory");
  if (!directory.empty()) check.passes("state_directory", check_creatable_folder(directory));
  check.whole(read(check.options()));
}

Result<KubernetesSettings> KubernetesSettings::read(const Options& options) {
  KubernetesSettings settings;
  settings.state_directory = options.get_string("state_directory");
  if (settings.state_directory.empty()) return invalid_argument("option 'state_directory' is empty");
  settings.state_directory = std::filesystem::absolute(settings.state_directory).lexically_normal();
  Result<ClusterAccess> access = read_access(options);
  if (!access.ok()) return std::move(access).status();
  settings.access = std::move(access).value();
  if (const std::string& chosen = options.get_string("namespace"); !chosen.empty())
    settings.access.name_space = chosen;
  if (settings.access.name_space.empty()) settings.access.name_space = "default";
  Result<PodSettings> pods = read_pods(options);
  if (!pods.ok()) return std::move(pods).status();
  settings.pods = std::move(pods).value();
  Result<std::map<std::string, InstanceCommand>> runtimes = read_runtimes(options, kAtoll, kPlaces);
  if (!runtimes.ok()) return std::move(runtimes).status();
  settings.runtimes = std::move(runtimes).value();
  settings.default_runtime = options.get_string("default_runtime");
  for (const auto& [runtime, image] : settings.pods.images) {
    if (image.empty() || !settings.runtimes.contains(runtime))
      return invalid_argument("option 'images': '", runtime,
                              "', expected one of 'runtimes' and the name of its image");
  }
  settings.shared_memory = options.get_bool("shared_memory");
  settings.keeper_lease = options.get_bool("keeper_lease");
  settings.queue_timeout_ns = options.get_duration_ns("queue_timeout");
  settings.call_timeout_ns = options.get_duration_ns("call_timeout");
  settings.watch_silence_ns = options.get_duration_ns("watch_silence");
  return settings;
}

}  // namespace atl::launchers
