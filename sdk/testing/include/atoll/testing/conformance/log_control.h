/// Conformance of "atoll.log_control/1".
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "atoll/core/log.h"
#include "atoll/core/log_control.h"
#include "atoll/testing/conformance/conformance.h"

namespace atl::test {

/// A control and the log that it changes.
class LogControlUnderTest {
 public:
  virtual ~LogControlUnderTest() = default;
  virtual LogControl& control() = 0;
  virtual Log& log() = 0;
};

struct LogControlProvider {
  std::string name;
  std::function<std::shared_ptr<LogControlUnderTest>()> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const LogControlProvider& provider, std::ostream* out) { *out << provider.name; }
};

class LogControlConformance : public Conformance<LogControlProvider> {
 protected:
  void SetUp() override {
    made_ = GetParam().make();
    ASSERT_NE(made_, nullptr);
  }
  LogControl& control() const { return made_->control(); }
  /// All of the settings, as one text that can be compared.
  static std::string text(const LogSettings& settings) {
    return cat("file '", settings.file, "' info ", settings.info, " warning ", settings.warning, " error ",
               settings.error, " verbose ", settings.verbose_level, " format ", settings.format);
  }
  std::string shown() const { return text(control().settings()); }
  /// The levels that the log shows are those of its settings.
  void expect_levels(const LogSettings& settings) const {
    const Log& log = made_->log();
    EXPECT_EQ(log.enabled(LogLevel::kError), settings.error) << text(settings);
    EXPECT_EQ(log.enabled(LogLevel::kWarning), settings.warning) << text(settings);
    EXPECT_EQ(log.enabled(LogLevel::kInfo), settings.info) << text(settings);
    EXPECT_EQ(log.enabled(LogLevel::kDebug), settings.verbose_level > 0) << text(settings);
    EXPECT_EQ(log.enabled(LogLevel::kTrace), settings.verbose_level > 1) << text(settings);
  }
  /// A refused update changes nothing, not even what could have been.
  void expect_refused(const LogSettings& settings, Code code) {
    const LogSettings before = control().settings();
    EXPECT_TRUE(is_failure(control().update(settings), code)) << text(settings);
    EXPECT_EQ(shown(), text(before));
    expect_levels(before);
  }

  std::shared_ptr<LogControlUnderTest> made_;
};

TEST_P(LogControlConformance, TheSettingsAreThoseThatCount) {
  check([&] { expect_levels(control().settings()); });
}

TEST_P(LogControlConformance, EveryLevelIsSwitchedAlone) {
  check([&] {
    LogSettings settings = control().settings();
    for (uint32_t bits = 0; bits < 32; ++bits) {
      settings.info = (bits & 1) != 0;
      settings.warning = (bits & 2) != 0;
      settings.error = (bits & 4) != 0;
      settings.verbose_level = bits >> 3;
      ASSERT_TRUE(is_ok(control().update(settings)));
      EXPECT_EQ(shown(), text(settings));
      expect_levels(settings);
    }
  });
}

TEST_P(LogControlConformance, TheFormatIsOneOfTwo) {
  check([&] {
    LogSettings settings = control().settings();
    for (const char* format : {"ISO8601", "default", "ISO8601"}) {
      settings.format = format;
      ASSERT_TRUE(is_ok(control().update(settings))) << format;
      EXPECT_EQ(control().settings().format, format);
    }
    settings.error = !settings.error;
    settings.verbose_level = 7;
    for (const char* format : {"", "iso8601", "Default", "json", "ISO8601 "}) {
      settings.format = format;
      expect_refused(settings, Code::kInvalidArgument);
    }
  });
}

TEST_P(LogControlConformance, TheFileIsTheManifests) {
  check([&] {
    LogSettings settings = control().settings();
    const std::string present = settings.file;
    settings.info = !settings.info;
    for (const std::string& file : {present + "x", std::string("/tmp/other.log"), std::string("/")}) {
      settings.file = file;
      expect_refused(settings, Code::kUnimplemented);
    }
    settings.file = present;
    EXPECT_TRUE(is_ok(control().update(settings)));
    EXPECT_EQ(shown(), text(settings));
  });
}

TEST_P(LogControlConformance, NobodySeesHalfAnUpdate) {
  check([&] {
    constexpr int kWriters = 3, kUpdates = 100;
    LogSettings quiet = control().settings(), loud = quiet;
    quiet.info = quiet.warning = quiet.error = false;
    quiet.verbose_level = 0;
    quiet.format = "default";
    loud.info = loud.warning = loud.error = true;
    loud.verbose_level = 2;
    loud.format = "ISO8601";
    ASSERT_TRUE(is_ok(control().update(quiet)));
    std::atomic<int> wrong = 0, writing = kWriters;
    std::vector<std::thread> threads;
    for (int i = 0; i < kWriters; ++i) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < kUpdates; ++n) {
          wrong += !control().update((n + i) % 2 == 0 ? loud : quiet).ok();
          made_->log().write(LogLevel::kInfo, "a record meanwhile");
          std::this_thread::yield();
        }
        --writing;
      });
    }
    while (writing != 0) {
      const std::string seen = shown();
      wrong += seen != text(quiet) && seen != text(loud);
      std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    expect_levels(control().settings());
  });
}

}  // namespace atl::test
