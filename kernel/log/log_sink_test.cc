#include "kernel/log/log_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace atl::kernel {
namespace {

class FixedClock final : public Clock {
 public:
  virtual ~FixedClock() = default;
  int64_t now_ns() const noexcept override { return 0; }
  int64_t wall_ns() const noexcept override {
    return 1'795'241'588'000'456'789;
  }  // 2026-11-21 06:13:08.000456789
};

/// Reads one flat JSON object whose values are strings, strictly; null: it is none.
std::optional<std::map<std::string, std::string>> parse_json(std::string_view text) {
  size_t at = 0;
  auto take = [&](char c) { return at < text.size() && text[at] == c && ++at != 0; };
  auto read_string = [&]() -> std::optional<std::string> {
    std::string out;
    if (!take('"')) return std::nullopt;
    while (at < text.size() && text[at] != '"') {
      if (static_cast<unsigned char>(text[at]) < 0x20) return std::nullopt;
      if (!take('\\')) {
        out.push_back(text[at++]);
        continue;
      }
      size_t kind = at < text.size() ? std::string_view("\"\\nrt").find(text[at]) : std::string_view::npos;
      if (kind != std::string_view::npos) {
        out.push_back("\"\\\n\r\t"[kind]);
        ++at;
      } else if (take('u') && at + 4 <= text.size()) {
        out.push_back(static_cast<char>(std::stoi(std::string(text.substr(at, 4)), nullptr, 16)));
        at += 4;
      } else {
        return std::nullopt;
      }
    }
    return take('"') ? std::optional<std::string>(out) : std::nullopt;
  };
  std::map<std::string, std::string> out;
  if (!take('{')) return std::nullopt;
  do {
    auto key = read_string();
    if (!key || !take(':')) return std::nullopt;
    auto value = read_string();
    if (!value || !out.emplace(*key, *value).second) return std::nullopt;
  } while (take(','));
  return take('}') && at == text.size() ? std::optional(out) : std::nullopt;
}

class LogSinkTest : public testing::Test {
 protected:
  LogSinkTest() : sink_(&clock_) {
    std::string pattern = testing::TempDir() + "atoll_log_" + std::string(6, 'X');
    folder_ = mkdtemp(pattern.data());
    config_.file = folder_ + "/a.log";
  }
  ~LogSinkTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> lines(const std::string& path) {
    EXPECT_TRUE(sink_.flush());
    std::ifstream file(path);
    std::vector<std::string> out;
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }
  std::vector<std::string> lines() { return lines(config_.file); }

  FixedClock clock_;
  LogSink sink_;
  LogConfig config_;
  std::string folder_;
};

TEST_F(LogSinkTest, TextRecords) {
  config_.level = "trace";
  ASSERT_TRUE(sink_.configure(config_).ok());
  auto log = sink_.for_instance("grpc");
  log->info("message ", 5);
  log->write(LogLevel::kTrace, "t");
  log->debug("d");
  log->warning("w");
  log->error("e");
  EXPECT_THAT(lines(), testing::ElementsAre("2026-11-21T06:13:08.000456Z INFO  [grpc] message 5",
                                            "2026-11-21T06:13:08.000456Z TRACE [grpc] t",
                                            "2026-11-21T06:13:08.000456Z DEBUG [grpc] d",
                                            "2026-11-21T06:13:08.000456Z WARN  [grpc] w",
                                            "2026-11-21T06:13:08.000456Z ERROR [grpc] e"));
}

class KeptRecords final : public LogReceiver {
 public:
  void take(LogLevel level, std::string_view instance, std::string_view message,
            int64_t wall_ns) noexcept override {
    records.push_back(cat(static_cast<uint32_t>(level), " ", instance, " ", message, " ", wall_ns));
  }
  std::vector<std::string> records;
};

TEST_F(LogSinkTest, AReceiverGetsRecordsInPlaceOfTheFile) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  auto log = sink_.for_instance("grpc");
  log->info("before");
  auto receiver = std::make_shared<KeptRecords>();
  sink_.send_to(receiver);
  log->warning("two\nlines");
  log->debug("not shown");
  ASSERT_TRUE(sink_.configure(config_).ok());
  log->error("after a reload");
  sink_.send_to(nullptr);
  log->info("behind");
  EXPECT_EQ(receiver.use_count(), 1);
  const std::string time = std::to_string(clock_.wall_ns());
  EXPECT_THAT(receiver->records,
              testing::ElementsAre("3 grpc two\nlines " + time, "4 grpc after a reload " + time));
  EXPECT_THAT(lines(), testing::ElementsAre("2026-11-21T06:13:08.000456Z INFO  [grpc] before",
                                            "2026-11-21T06:13:08.000456Z INFO  [grpc] behind"));
}

TEST_F(LogSinkTest, FakeRecordStaysInItsLine) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  sink_.for_instance("http")->info("model 'x\n2026-11-21T06:13:08.000456Z ERROR [kernel] gone\x1b[2J\r'");
  EXPECT_THAT(lines(),
              testing::ElementsAre("2026-11-21T06:13:08.000456Z INFO  [http] model "
                                   "'x\\n2026-11-21T06:13:08.000456Z ERROR [kernel] gone\\x1b[2J\\r'"));
}

TEST_F(LogSinkTest, JsonRecordsParse) {
  config_.format = LogFormat::kJson;
  ASSERT_TRUE(sink_.configure(config_).ok());
  const std::string nasty = "\"},\n{\"a\\\":\"\x01\x1b[0m\t\xff";
  sink_.for_instance("grpc")->warning("plain");
  sink_.for_instance("grpc")->info(nasty);
  auto written = lines();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0],
            R"({"ts":"2026-11-21T06:13:08.000456Z","level":"warning","instance":"grpc","message":"plain"})");
  auto record = parse_json(written[1]);
  ASSERT_TRUE(record.has_value()) << written[1];
  EXPECT_EQ(record->at("message"), "\"},\n{\"a\\\":\"\x01\x1b[0m\t\xef\xbf\xbd");
  EXPECT_EQ(record->at("level"), "info");
  EXPECT_EQ(record->size(), 4u);
}

TEST_F(LogSinkTest, LevelChangesWhileInUse) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  auto log = sink_.for_instance("a");
  EXPECT_FALSE(log->enabled(LogLevel::kDebug));
  log->debug("not written");
  config_.level = "debug";
  ASSERT_TRUE(sink_.configure(config_).ok());
  EXPECT_TRUE(log->enabled(LogLevel::kDebug));
  log->debug("written");
  config_.level = "error";
  ASSERT_TRUE(sink_.configure(config_).ok());
  log->warning("not written");
  EXPECT_THAT(lines(), testing::ElementsAre(testing::EndsWith(" written")));
}

TEST_F(LogSinkTest, ConfigureOpensARotatedFileAgain) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  auto log = sink_.for_instance("a");
  log->info("one");
  std::filesystem::rename(config_.file, folder_ + "/old.log");
  ASSERT_TRUE(sink_.configure(config_).ok());
  log->info("two");
  EXPECT_THAT(lines(folder_ + "/old.log"), testing::ElementsAre(testing::EndsWith("one")));
  EXPECT_THAT(lines(), testing::ElementsAre(testing::EndsWith("two")));
  ASSERT_TRUE(sink_.configure(config_).ok());
  log->info("three");
  EXPECT_EQ(lines().size(), 2u) << "an existing file is appended to";
}

TEST_F(LogSinkTest, FailedConfigureChangesNothing) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  LogConfig bad = config_;
  bad.level = "error";
  bad.file = folder_;  // a folder cannot be opened for writing
  Status status = sink_.configure(bad);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.text(),
              testing::HasSubstr("log file '" + folder_ + "' cannot be opened for appending: "));
  bad = config_;
  bad.level = "loud";
  EXPECT_EQ(sink_.configure(bad).text(),
            "log level: found 'loud', expected trace, debug, info, warning or error");
  sink_.for_instance("a")->info("still here");
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(LogSinkTest, LongMessagesAreCut) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  sink_.for_instance("a")->info(std::string(1'000'000, 'x'));
  auto written = lines();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].size(), std::string("2026-11-21T06:13:08.000456Z INFO  [a] ").size() + 32 * 1024 + 3);
}

TEST_F(LogSinkTest, FullDiskIsCountedAndSurvived) {
  if (!std::filesystem::exists("/dev/full")) FAIL() << "this machine has no /dev/full";
  LogConfig full = config_;
  full.file = "/dev/full";
  ASSERT_TRUE(sink_.configure(full).ok());
  auto log = sink_.for_instance("a");
  log->info("lost");
  log->info("lost too");
  EXPECT_TRUE(sink_.flush());
  EXPECT_EQ(sink_.dropped_records(), 2u);
  ASSERT_TRUE(sink_.configure(config_).ok());
  log->info("kept");
  EXPECT_EQ(sink_.dropped_records(), 2u);
  EXPECT_THAT(lines(), testing::ElementsAre(testing::EndsWith("kept")));
}

TEST_F(LogSinkTest, NobodyWaitsForAPipeThatIsNotRead) {
  config_.file = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(config_.file.c_str(), 0600), 0);
  int reader = ::open(config_.file.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(sink_.configure(config_).ok());
  auto log = sink_.for_instance("a");
  const std::string text(32 * 1024, 'x');
  while (sink_.dropped_records() == 0) log->info(text);
  LogSettings settings = sink_.settings();
  EXPECT_TRUE(sink_.update(settings).ok());
  const uint64_t dropped = sink_.dropped_records();

  // The reader comes back: what was queued arrives, and a line tells of the rest.
  std::string read;
  std::thread reading([&] {
    std::string piece(1 << 16, '\0');
    while (read.find("the last") == std::string::npos) {
      ssize_t size = ::read(reader, piece.data(), piece.size());
      if (size > 0) read.append(piece, 0, static_cast<size_t>(size));
      if (size <= 0) std::this_thread::yield();
    }
  });
  while (!sink_.flush()) {
  }
  log->info("the last");
  reading.join();
  EXPECT_THAT(read, testing::HasSubstr(cat("WARN  [kernel] ", dropped, " log records were dropped: ")));
  EXPECT_EQ(sink_.dropped_records(), dropped);
  ::close(reader);
}

TEST_F(LogSinkTest, StandardErrorIsTheDefault) {
  testing::internal::CaptureStderr();
  LogSink sink(&clock_);
  sink.for_instance("kernel")->info("hello");
  EXPECT_TRUE(sink.flush());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "2026-11-21T06:13:08.000456Z INFO  [kernel] hello\n");
}

TEST_F(LogSinkTest, ThreadsWriteWholeRecordsWhileItIsReconfigured) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  constexpr int kThreads = 4, kRecords = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto log = sink_.for_instance(cat("t", t));
      for (int i = 0; i < kRecords; ++i) log->info("record ", i, " end");
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(sink_.configure(config_).ok());
  for (auto& thread : threads) thread.join();
  auto written = lines();
  EXPECT_EQ(written.size(), static_cast<size_t>(kThreads * kRecords));
  for (const auto& line : written) {
    EXPECT_THAT(line, testing::MatchesRegex("2026-11-21T06:13:08.000456Z INFO  .t[0-9]. record [0-9]+ end"));
  }
}

TEST_F(LogSinkTest, SettingsFollowTheManifestsLevel) {
  struct Row {
    const char* level;
    bool info, warning;
    uint32_t verbose;
  };
  for (const Row& row : {Row{"trace", true, true, 2}, Row{"debug", true, true, 1}, Row{"info", true, true, 0},
                         Row{"warning", false, true, 0}, Row{"error", false, false, 0}}) {
    config_.level = row.level;
    ASSERT_TRUE(sink_.configure(config_).ok());
    LogSettings now = sink_.settings();
    EXPECT_EQ(now.info, row.info) << row.level;
    EXPECT_EQ(now.warning, row.warning) << row.level;
    EXPECT_TRUE(now.error);
    EXPECT_EQ(now.verbose_level, row.verbose) << row.level;
    EXPECT_EQ(now.file, config_.file);
    EXPECT_EQ(now.format, "default");
  }
}

TEST_F(LogSinkTest, WhatClientsHaveSetStaysWhereTheManifestSaysTheSame) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  LogSettings settings = sink_.settings();
  settings.warning = false;
  settings.format = "ISO8601";
  ASSERT_TRUE(sink_.update(settings).ok());
  config_.file = folder_ + "/b.log";
  ASSERT_TRUE(sink_.configure(config_).ok());
  EXPECT_FALSE(sink_.settings().warning);
  EXPECT_EQ(sink_.settings().format, "ISO8601");
  EXPECT_EQ(sink_.settings().file, config_.file);
  EXPECT_FALSE(sink_.enabled(LogLevel::kWarning));
  config_.level = "debug";
  ASSERT_TRUE(sink_.configure(config_).ok());
  EXPECT_TRUE(sink_.settings().warning);
  EXPECT_EQ(sink_.settings().format, "ISO8601");
}

TEST_F(LogSinkTest, UpdateSwitchesEachLevelAlone) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  LogSettings wanted = sink_.settings();
  wanted.info = wanted.error = false;
  wanted.verbose_level = 1;
  ASSERT_TRUE(sink_.update(wanted).ok());
  EXPECT_FALSE(sink_.enabled(LogLevel::kTrace));
  EXPECT_TRUE(sink_.enabled(LogLevel::kDebug));
  EXPECT_FALSE(sink_.enabled(LogLevel::kInfo));
  EXPECT_TRUE(sink_.enabled(LogLevel::kWarning));
  EXPECT_FALSE(sink_.enabled(LogLevel::kError));
  wanted.verbose_level = 7;
  ASSERT_TRUE(sink_.update(wanted).ok());
  EXPECT_TRUE(sink_.enabled(LogLevel::kTrace));
  EXPECT_EQ(sink_.settings().verbose_level, 7u);
}

TEST_F(LogSinkTest, UpdateRefusesWhatItCannotDo) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  LogSettings wanted = sink_.settings();
  wanted.info = false;
  wanted.format = "xml";
  EXPECT_EQ(sink_.update(wanted).code(), Code::kInvalidArgument);
  wanted.format = "default";
  wanted.file = "/elsewhere";
  EXPECT_EQ(sink_.update(wanted).code(), Code::kUnimplemented);
  EXPECT_TRUE(sink_.settings().info);
}

TEST_F(LogSinkTest, Iso8601ShowsWholeSeconds) {
  ASSERT_TRUE(sink_.configure(config_).ok());
  LogSettings wanted = sink_.settings();
  wanted.format = "ISO8601";
  ASSERT_TRUE(sink_.update(wanted).ok());
  sink_.for_instance("kernel")->info("hello");
  EXPECT_EQ(lines().back(), "2026-11-21T06:13:08Z INFO  [kernel] hello");
  config_.time_format = "ISO8601";
  ASSERT_TRUE(sink_.configure(config_).ok());
  EXPECT_EQ(sink_.settings().format, "ISO8601");
  sink_.for_instance("kernel")->info("again");
  EXPECT_EQ(lines().back(), "2026-11-21T06:13:08Z INFO  [kernel] again");
}

}  // namespace
}  // namespace atl::kernel
