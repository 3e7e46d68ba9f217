#include "launchers/kubernetes/watch_event.h"

#include <gtest/gtest.h>

namespace atl::launchers {
namespace {

TEST(WatchLine, IsAnEvent) {
  const WatchEvent added =
      read_watch_line(R"({"type":"ADDED","object":{"metadata":{"name":"p","resourceVersion":"5"}}})");
  EXPECT_EQ(added.kind, WatchKind::kChanged);
  EXPECT_EQ(added.pod.name, "p");
  EXPECT_EQ(added.version, "5");
  EXPECT_EQ(read_watch_line(R"({"type":"MODIFIED","object":{}})").kind, WatchKind::kChanged);
  EXPECT_EQ(read_watch_line(R"({"type":"DELETED","object":{"metadata":{"name":"p"}}})").kind,
            WatchKind::kDeleted);
  const WatchEvent bookmark =
      read_watch_line(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})");
  EXPECT_EQ(bookmark.kind, WatchKind::kBookmark);
  EXPECT_EQ(bookmark.version, "9");
}

TEST(WatchLine, MayBeTheEnd) {
  EXPECT_EQ(read_watch_line(R"({"type":"ERROR","object":{"code":410,"reason":"Gone"}})").kind,
            WatchKind::kExpired);
  EXPECT_EQ(read_watch_line(R"({"type":"ERROR","object":{"reason":"Expired"}})").kind, WatchKind::kExpired);
  const WatchEvent failed = read_watch_line(R"({"type":"ERROR","object":{"code":500,"message":"storage"}})");
  EXPECT_EQ(failed.kind, WatchKind::kFailed);
  EXPECT_EQ(failed.text, "storage");
  for (const char* line : {"x", "{", R"({"type":"NEW","object":{}})", "[]", R"({"type":1})"})
    EXPECT_EQ(read_watch_line(line).kind, WatchKind::kFailed) << line;
}

TEST(WatchEvents, AreTakenByWholeLines) {
  const std::string line = R"({"type":"ADDED","object":{"metadata":{"name":"p"}}})";
  std::string text;
  size_t events = 0;
  for (char c : line + "\n\n \r\n" + line + "\n" + line) {
    text += c;
    events += take_watch_events(text).size();
  }
  EXPECT_EQ(events, 2u);
  EXPECT_EQ(text, line) << "half a line stays";
}

TEST(PodPage, HasPodsVersionAndWhatComesNext) {
  const Result<PodPage> page = read_pod_page(
      R"({"metadata":{"resourceVersion":"12","continue":"abc"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page.value().pods.size(), 2u);
  EXPECT_EQ(page.value().version, "12");
  EXPECT_EQ(page.value().continues, "abc");
  EXPECT_TRUE(read_pod_page(R"({"metadata":{"resourceVersion":"1"},"items":null})").ok());
  for (const char* text : {"", "[]", "{}", R"({"metadata":{"resourceVersion":"1"},"items":7})"})
    EXPECT_EQ(read_pod_page(text).status().code(), Code::kUnavailable) << text;
}

}  // namespace
}  // namespace atl::launchers
