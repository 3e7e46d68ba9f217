#include "atoll/testing/conformance/log_control.h"
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/temporary_directory.h"
#include "kernel/log/log_sink.h"

namespace atl::test {
namespace {

/// A sink that writes to a file, and the log of one instance.
class FileLog final : public LogControlUnderTest {
 public:
  FileLog() {
    kernel::LogConfig config;
    config.file = (folder_.path() / "a.log").string();
    EXPECT_TRUE(is_ok(sink_.configure(config)));
  }
  LogControl& control() override { return sink_; }
  Log& log() override { return *log_; }

 private:
  TemporaryDirectory folder_;
  kernel::LogSink sink_;
  std::unique_ptr<kernel::InstanceLog> log_ = sink_.for_instance("test");
};

/// A sink whose records are lost: nothing can be written to a device that is full.
class FullLog final : public MetricSourceUnderTest {
 public:
  FullLog() {
    kernel::LogConfig config;
    config.file = "/dev/full";
    EXPECT_TRUE(is_ok(sink_.configure(config)));
  }
  MetricSource& source() override { return sink_; }
  void use() override {
    sink_.write(LogLevel::kError, "test", "a record");
    EXPECT_TRUE(sink_.flush());
  }

 private:
  kernel::LogSink sink_;
};

INSTANTIATE_TEST_SUITE_P(LogSink, LogControlConformance,
                         ::testing::Values(LogControlProvider{
                             "sink", [] { return std::make_shared<FileLog>(); }, {}}));
INSTANTIATE_TEST_SUITE_P(LogSink, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "sink", [] { return std::make_shared<FullLog>(); }, {}}));

}  // namespace
}  // namespace atl::test
