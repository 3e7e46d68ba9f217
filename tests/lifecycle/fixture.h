/// The interface between the fixture plugins and the tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace atl::fixture {

/// Fails the Nth lifecycle call of the fixtures that share it. The test owns it and hands its address to the
/// fixtures as the option `faults`, so that plugin and test need no other common code.
struct Faults {
  std::atomic<int64_t> calls_until_failure{0};  ///< 0: none fails
  std::atomic<int64_t> calls{0};                ///< create and start calls so far

  bool fails_now() noexcept {
    calls.fetch_add(1);
    return calls_until_failure.load() != 0 && calls_until_failure.fetch_sub(1) == 1;
  }
};

/// What every fixture that provides something provides.
class Probe {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.fixture/1";
  /// FIXTURE_BUILD of the file.
  virtual int64_t build() const noexcept = 0;
  virtual int64_t size() const noexcept = 0;
  /// Services of other fixtures that this one holds.
  virtual int64_t held() const noexcept = 0;
  virtual void let_go() noexcept = 0;
  /// Acquires every provider of kInterfaceId that there is. \returns held().
  virtual int64_t acquire_all() noexcept = 0;
  /// ServiceChanged events seen.
  virtual int64_t changes() const noexcept = 0;
  virtual bool replaced_running_instance() const noexcept = 0;

 protected:
  ~Probe() = default;
};

/// The same under other ids, so that chains and a cycle of fixtures can be built.
class Watcher : public Probe {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.fixture_watcher/1";

 protected:
  ~Watcher() = default;
};
class CycleA : public Watcher {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.cycle_a/1";

 protected:
  ~CycleA() = default;
};
class CycleB : public CycleA {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.cycle_b/1";

 protected:
  ~CycleB() = default;
};

/// Nobody provides these.
struct Absent {
  static constexpr std::string_view kInterfaceId = "atoll.absent/1";
};
struct Missing {
  static constexpr std::string_view kInterfaceId = "atoll.missing/2";
};

}  // namespace atl::fixture
