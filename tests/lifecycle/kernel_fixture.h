/// A kernel in the test's own process, with fixture plugins.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fixture.h"
#include "kernel/server/kernel.h"

namespace atl::kernel {

/// What a failed change must leave as it was.
struct Footprint {
  size_t threads = 0;
  size_t descriptors = 0;
  std::vector<std::string> mapped_fixtures;  // none in sanitizer builds, where plugins stay mapped by design
  size_t services = 0;
  size_t subscriptions = 0;
  size_t leases = 0;
  friend bool operator==(const Footprint&, const Footprint&) = default;
};
std::ostream& operator<<(std::ostream& out, const Footprint& footprint);

class KernelFixture : public testing::Test {
 protected:
  using Instances = std::map<std::string, std::string>;  // name -> body of its table

  KernelFixture();
  ~KernelFixture() override;

  Result<GenerationPlan> plan(const Instances& instances);
  /// Plans and applies, with a drain timeout that no test reaches.
  Status apply(const Instances& instances, int64_t drain_timeout_ns = 3600 * kNsPerSecond);
  /// Runs the loop until nothing retires any more.
  void settle();
  void shut_down();
  Footprint footprint();
  const Instance* instance(const std::string& name);
  /// The probe of an instance, as it provides Interface; the lease is given back at once, so nobody waits for
  /// the test.
  template <class Interface = fixture::Probe>
  fixture::Probe* probe(const std::string& name) {
    auto lease = kernel_.services().acquire(test_, Interface::kInterfaceId, name);
    if (!lease.ok()) return nullptr;
    kernel_.services().release(lease->token);
    return static_cast<Interface*>(lease->implementation);
  }
  std::string faults_option() { return "\nfaults = " + std::to_string(reinterpret_cast<intptr_t>(&faults_)); }

  std::string folder_;
  std::string plugin_path_ = ATOLL_FIXTURE_PLUGINS;
  fixture::Faults faults_;
  LogSink sink_;
  Kernel kernel_;
  OwnerId test_;
};

}  // namespace atl::kernel
