#include "launchers/kubernetes/watch_event.h"

#include "launchers/kubernetes/api_refusal.h"

namespace atl::launchers {
WatchEvent read_watch_line(std::string_view line) {
  const Json event = parse_json(line);
  const std::string type = text_at(event, {"type"});
  const Json& object = field_at(event, {"object"});
  std::string version = text_at(object, {"metadata", "resourceVersion"});
  if (type == "ERROR") {
    const bool is_expired =
        number_at(object, {"code"}) == kHttpGone || text_at(object, {"reason"}) == "Expired";
    return {is_expired ? WatchKind::kExpired : WatchKind::kFailed, {}, {}, text_at(object, {"message"})};
  }
  if (type == "BOOKMARK") return {WatchKind::kBookmark, {}, std::move(version), {}};
  const bool is_deleted = type == "DELETED";
  if (!is_deleted && type != "ADDED" && type != "MODIFIED")
    return {WatchKind::kFailed, {}, {}, "a line of the watch cannot be read"};
  return {
      is_deleted ? WatchKind::kDeleted : WatchKind::kChanged, PodView::read(object), std::move(version), {}};
}

std::vector<WatchEvent> take_watch_events(std::string& text) {
  std::vector<WatchEvent> events;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) events.push_back(read_watch_line(line));
    begin = end + 1;
  }
  text.erase(0, begin);
  return events;
}

Result<PodPage> read_pod_page(std::string_view text) {
  const Json list = parse_json(text);
  const Json& items = field_at(list, {"items"});
  PodPage page;
  page.version = text_at(list, {"metadata", "resourceVersion"});
  page.continues = text_at(list, {"metadata", "continue"});
  if (page.version.empty() || (!items.is_array() && !items.is_null()))
    return unavailable("the cluster's list of pods cannot be read");
  for (const Json& item : items) page.pods.push_back(PodView::read(item));
  return page;
}

}  // namespace atl::launchers
