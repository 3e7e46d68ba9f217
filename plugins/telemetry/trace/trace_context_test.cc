#include "telemetry/trace/trace_context.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "atoll/lib/hex.h"

namespace atl::tracing {
namespace {

constexpr std::string_view kGood = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string with(size_t position, std::string_view text) {
  std::string changed(kGood);
  return changed.replace(position, text.size(), text);
}

TEST(TraceContext, ReadsAndWritesTheSame) {
  auto context = parse_traceparent(kGood);
  ASSERT_TRUE(context);
  EXPECT_EQ(hex(context->trace_id), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(hex(context->span_id), "b7ad6b7169203331");
  EXPECT_EQ(format_traceparent(*context), kGood);
  EXPECT_TRUE(parse_traceparent(with(53, "00"))) << "the caller's own sampling is its own affair";
}

TEST(TraceContext, RefusesWhatIsNone) {
  for (const std::string& wrong :
       {std::string(), std::string(kGood.substr(1)), std::string(kGood.substr(0, 54)), with(0, "ff"),
        with(0, "0g"), with(2, "_"), with(35, "_"), with(52, "_"), with(3, "0AF7"), with(40, " "),
        with(53, "zz"), with(3, "00000000000000000000000000000000"), with(36, "0000000000000000"),
        std::string(kGood) + "-x", std::string(1000, '0')}) {
    EXPECT_FALSE(parse_traceparent(wrong)) << wrong;
  }
}

TEST(TraceContext, LaterVersionsMayHaveMore) {
  EXPECT_TRUE(parse_traceparent(with(0, "01")));
  EXPECT_TRUE(parse_traceparent(with(0, "01") + "-what-comes"));
  EXPECT_FALSE(parse_traceparent(with(0, "01") + "what-comes"));
}

TEST(TraceContext, StatesThatAreHandedOn) {
  EXPECT_EQ(checked_tracestate("rojo=00f067aa0ba902b7,congo=t61"), "rojo=00f067aa0ba902b7,congo=t61");
  EXPECT_EQ(checked_tracestate(std::string(512, 'a')).size(), 512u);
  EXPECT_EQ(checked_tracestate(std::string(513, 'a')), "");
  EXPECT_EQ(checked_tracestate("a=\n"), "");
  EXPECT_EQ(checked_tracestate("a=\xff"), "");
}

TEST(IdSource, IdsDoNotRepeat) {
  IdSource ids({5, 6});
  std::vector<std::thread> threads;
  std::vector<std::vector<std::string>> made(4);
  for (auto& mine : made) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        mine.push_back(hex(ids.trace_id()));
        mine.push_back(hex(ids.span_id()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (auto& mine : made) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 16000u);
  EXPECT_NE(hex(IdSource::from_system().trace_id()), hex(IdSource::from_system().trace_id()));
}

}  // namespace
}  // namespace atl::tracing
