#include "memory/shared/bus_error_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstring>
#include <vector>

#include "atoll/testing/shared_memory_object.h"

namespace atl::memory {
namespace {

using test::page;
using test::TestObject;

/// The default action in force, whatever the runtime of a sanitizer had set.
class BusErrorGuardTest : public ::testing::Test {
 protected:
  BusErrorGuardTest() {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGBUS, &action, &before_);
  }
  ~BusErrorGuardTest() override { sigaction(SIGBUS, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

/// Installed for the length of a scope.
struct Installed {
  Installed() { EXPECT_TRUE(BusErrorGuard::install().ok()); }
  ~Installed() { BusErrorGuard::uninstall(); }
};

void (*current_handler())(int, siginfo_t*, void*) {
  struct sigaction current = {};
  sigaction(SIGBUS, nullptr, &current);
  return current.sa_sigaction;
}

volatile uint8_t* as_volatile(std::byte* data) { return reinterpret_cast<volatile uint8_t*>(data); }

TEST_F(BusErrorGuardTest, AVanishedPageReadsAsZerosAndTakesWrites) {
  Installed installed;
  TestObject object(3 * page());
  object.data()[2 * page()] = std::byte{7};
  auto* watch = BusErrorGuard::watch(object.data(), 3 * page());
  ASSERT_NE(watch, nullptr);
  EXPECT_FALSE(BusErrorGuard::broken(watch));
  object.resize(page());
  EXPECT_FALSE(BusErrorGuard::broken(watch)) << "nobody has touched it";
  EXPECT_EQ(+as_volatile(object.data())[2 * page()], 0);
  EXPECT_TRUE(BusErrorGuard::broken(watch));
  as_volatile(object.data())[3 * page() - 1] = 1;
  EXPECT_EQ(+as_volatile(object.data())[3 * page() - 1], 1);
  // In front of the fault the pages are still the object's, and a page that has gone is replaced in turn.
  EXPECT_EQ(+as_volatile(object.data())[page()], 0);
  object.data()[0] = std::byte{9};
  std::byte first{};
  EXPECT_EQ(pread(object.fd(), &first, 1, 0), 1);
  EXPECT_EQ(first, std::byte{9});
  struct stat about = {};
  fstat(object.fd(), &about);
  EXPECT_EQ(static_cast<uint64_t>(about.st_size), page()) << "writes do not bring the object back";
  BusErrorGuard::forget(watch);
}

TEST_F(BusErrorGuardTest, OtherMappingsStayWhole) {
  Installed installed;
  TestObject good(page());
  TestObject bad(page());
  auto* good_watch = BusErrorGuard::watch(good.data(), page());
  auto* bad_watch = BusErrorGuard::watch(bad.data(), page());
  bad.resize(0);
  as_volatile(bad.data())[0] = 1;
  EXPECT_TRUE(BusErrorGuard::broken(bad_watch));
  EXPECT_FALSE(BusErrorGuard::broken(good_watch));
  BusErrorGuard::forget(good_watch);
  BusErrorGuard::forget(bad_watch);
  auto* again = BusErrorGuard::watch(good.data(), page());
  EXPECT_FALSE(BusErrorGuard::broken(again)) << "a watch that is used again is whole";
  BusErrorGuard::forget(again);
}

using BusErrorGuardDeathTest = BusErrorGuardTest;

TEST_F(BusErrorGuardDeathTest, AFaultElsewhereEndsTheProcessAsEver) {
  TestObject object(page());
  object.resize(0);
  EXPECT_EXIT(
      {
        Installed installed;
        as_volatile(object.data())[0] = 1;
      },
      ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(
      {
        Installed installed;
        auto* watch = BusErrorGuard::watch(object.data(), page());
        BusErrorGuard::forget(watch);
        as_volatile(object.data())[0] = 1;
      },
      ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_IGN);  // a fault cannot be ignored
        Installed installed;
        as_volatile(object.data())[0] = 1;
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(BusErrorGuardDeathTest, ASignalThatIsSentEndsTheProcessAsEver) {
  EXPECT_EXIT(
      {
        Installed installed;
        raise(SIGBUS);
        raise(SIGBUS);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(BusErrorGuardTest, ASentSignalIsNoFaultWhateverAddressItNames) {
  signal(SIGBUS, SIG_IGN);
  Installed installed;
  TestObject object(page());
  auto* watch = BusErrorGuard::watch(object.data(), page());
  siginfo_t info = {};
  info.si_signo = SIGBUS;
  info.si_code = SI_QUEUE;
  info.si_addr = object.data();
  EXPECT_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, &info), 0);
  EXPECT_FALSE(BusErrorGuard::broken(watch));
  BusErrorGuard::forget(watch);
}

volatile int plain_calls = 0;
volatile int fault_calls = 0;
void* volatile fault_address = nullptr;
extern "C" void plain_handler(int) { plain_calls = plain_calls + 1; }
/// Somebody else's handler, which mends faults in its own way.
extern "C" void mending_handler(int, siginfo_t* info, void*) {
  fault_calls = fault_calls + 1;
  fault_address = info->si_addr;
  const uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr) & ~(uintptr_t{page()} - 1);
  syscall(SYS_mmap, at, page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
}

void set_handler(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

TEST_F(BusErrorGuardTest, FaultsElsewhereGoToTheHandlerBefore) {
  set_handler(&mending_handler);
  Installed installed;
  TestObject object(page());
  object.resize(0);
  fault_calls = 0;
  as_volatile(object.data())[5] = 1;
  EXPECT_EQ(+fault_calls, 1);
  void* address = fault_address;
  EXPECT_EQ(address, object.data() + 5);
}

TEST_F(BusErrorGuardTest, SentSignalsGoToThePlainHandlerBefore) {
  signal(SIGBUS, &plain_handler);
  Installed installed;
  plain_calls = 0;
  raise(SIGBUS);
  EXPECT_EQ(+plain_calls, 1);
}

TEST_F(BusErrorGuardTest, TheHandlerBeforeComesBackWithTheLastUninstall) {
  set_handler(&mending_handler);
  ASSERT_TRUE(BusErrorGuard::install().ok());
  auto* guard = current_handler();
  EXPECT_NE(guard, &mending_handler);
  ASSERT_TRUE(BusErrorGuard::install().ok());
  BusErrorGuard::uninstall();
  EXPECT_EQ(current_handler(), guard);
  BusErrorGuard::uninstall();
  EXPECT_EQ(current_handler(), &mending_handler);
  BusErrorGuard::uninstall();
  EXPECT_EQ(current_handler(), &mending_handler) << "one more changes nothing";
}

void (*below)(int, siginfo_t*, void*) = nullptr;
extern "C" void forwarding_handler(int number, siginfo_t* info, void* context) {
  below(number, info, context);
}

TEST_F(BusErrorGuardTest, AHandlerPutOnTopStaysAndIsNotChainedTwice) {
  set_handler(&mending_handler);
  ASSERT_TRUE(BusErrorGuard::install().ok());
  below = current_handler();
  set_handler(&forwarding_handler);
  BusErrorGuard::uninstall();
  EXPECT_EQ(current_handler(), &forwarding_handler);
  // Installed again it is still below: a fault elsewhere must not go round in a circle.
  Installed installed;
  EXPECT_EQ(current_handler(), &forwarding_handler);
  TestObject object(2 * page());
  auto* watch = BusErrorGuard::watch(object.data(), page());
  object.resize(0);
  as_volatile(object.data())[0] = 1;
  EXPECT_TRUE(BusErrorGuard::broken(watch));
  fault_calls = 0;
  as_volatile(object.data())[page()] = 1;
  EXPECT_EQ(+fault_calls, 1);
  BusErrorGuard::forget(watch);
  set_handler(below);  // the one on top goes
}

TEST_F(BusErrorGuardTest, WatchesAreLimited) {
  std::vector<BusErrorGuard::Watch*> watches;
  auto at = [](size_t i) { return reinterpret_cast<void*>((i + 1) * page()); };
  for (size_t i = 0; i < BusErrorGuard::kWatches; ++i) {
    watches.push_back(BusErrorGuard::watch(at(i), page()));
    ASSERT_NE(watches.back(), nullptr) << i;
  }
  EXPECT_EQ(BusErrorGuard::watch(at(BusErrorGuard::kWatches), page()), nullptr);
  BusErrorGuard::forget(watches[1000]);
  EXPECT_EQ(BusErrorGuard::watch(at(1), page()), watches[1000]);
  for (auto* watch : watches) BusErrorGuard::forget(watch);
}

}  // namespace
}  // namespace atl::memory
