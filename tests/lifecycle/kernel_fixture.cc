#include "kernel_fixture.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace atl::kernel {
namespace {

size_t entries(const char* folder) {
  auto begin = std::filesystem::directory_iterator(folder);
  return static_cast<size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

std::vector<std::string> mapped_plugins() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!kPluginsStayMapped && line.ends_with(".so") && line.find("/fixtures/") != std::string::npos) {
      files.insert(line.substr(line.find('/')));
    }
  }
  return {files.begin(), files.end()};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Footprint& f) {
  out << f.threads << " threads, " << f.descriptors << " descriptors, " << f.services << " services, "
      << f.subscriptions << " subscriptions, " << f.leases << " leases, mapped:";
  for (const std::string& file : f.mapped_fixtures) out << ' ' << file;
  return out;
}

KernelFixture::KernelFixture()
    : folder_(testing::TempDir() + "atoll_lifecycle_" + std::to_string(::getpid()) + "/"),
      kernel_(sink_, "0.0", 2) {
  std::filesystem::create_directories(folder_);
  LogConfig config;
  config.file = folder_ + "log";
  EXPECT_TRUE(sink_.configure(config).ok());
  test_ = kernel_.services().add_owner(
      "test", {}, {std::string(fixture::Probe::kInterfaceId), std::string(fixture::Watcher::kInterfaceId)});
}

KernelFixture::~KernelFixture() {
  shut_down();
  std::filesystem::remove_all(folder_);
}

Result<GenerationPlan> KernelFixture::plan(const Instances& instances) {
  std::string path = folder_ + "atoll.toml";
  {
    std::ofstream file(path);
    file << "[atoll]\nplugin_path = [\"" << plugin_path_ << "\"]\n";
    for (const auto& [name, body] : instances) file << "[plugin." << name << "]\n" << body << "\n";
  }
  runtime::Problems problems;
  auto manifest = read_manifest(path, {}, problems);
  if (!manifest.ok()) return std::move(manifest).status();
  return plan_generation(manifest.value(), {}, kernel_.loader(), std::move(problems));
}

Status KernelFixture::apply(const Instances& instances, int64_t drain_timeout_ns) {
  Result<GenerationPlan> planned = plan(instances);
  if (!planned.ok()) return std::move(planned).status();
  return kernel_.lifecycle().apply(std::move(planned).value(), drain_timeout_ns);
}

void KernelFixture::settle() {
  kernel_.loop().run_until([this] { return kernel_.lifecycle().idle(); });
  kernel_.loop().run_ready();
}

void KernelFixture::shut_down() {
  kernel_.lifecycle().shut_down(3600 * kNsPerSecond);
  settle();
}

Footprint KernelFixture::footprint() {
  kernel_.loop().run_ready();
  return {entries("/proc/self/task"),    entries("/proc/self/fd"),         mapped_plugins(),
          kernel_.services().services(), kernel_.events().subscriptions(), kernel_.services().leases()};
}

const Instance* KernelFixture::instance(const std::string& name) {
  for (const auto& instance : kernel_.lifecycle().instances()) {
    if (instance->name() == name) return instance.get();
  }
  return nullptr;
}

}  // namespace atl::kernel
