/// Points in time as RFC 3339 writes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"

namespace atl {

/// How many digits of a second's fraction a text has.
enum class SecondDigits { kMilliseconds = 3, kMicroseconds = 6 };

/// "2027-01-31T12:00:00.250Z" for nanoseconds since 1970, cut to the digits asked for. A time before 1970 is written as 1970's first
/// moment.
inline std::string write_rfc3339(int64_t wall_ns, SecondDigits digits) {
  wall_ns = std::max<int64_t>(wall_ns, 0);
  const std::time_t seconds = wall_ns / kNsPerSecond;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const int64_t unit_ns = digits == SecondDigits::kMilliseconds ? kNsPerMs : kNsPerUs;
  std::snprintf(text + size, sizeof text - size, ".%0*dZ", static_cast<int>(digits),
                static_cast<int>(wall_ns % kNsPerSecond / unit_ns));
  return text;
}

/// The seconds since 1970 that "2027-01-31T12:00:00Z" or "2027-01-31T12:00:00.5+01:00" stand for, without the fraction. Years from
/// 1970 to 9999. Nothing: the text is no such time.
inline std::optional<int64_t> read_rfc3339(std::string_view text) noexcept {
  const auto number = [&](size_t at, size_t digits, int least, int most) {
    int value = 0;
    for (size_t i = at; i < at + digits; ++i) {
      if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value >= least && value <= most ? value : -1;
  };
  const auto is = [&](size_t at, std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos;
  };
  std::tm time{};
  const int year = number(0, 4, 1970, 9999), month = number(5, 2, 1, 12);
  time.tm_mday = number(8, 2, 1, 31);
  time.tm_hour = number(11, 2, 0, 23);
  time.tm_min = number(14, 2, 0, 59);
  time.tm_sec = number(17, 2, 0, 60);
  if (year < 0 || month < 0 || time.tm_mday < 0 || time.tm_hour < 0 || time.tm_min < 0 || time.tm_sec < 0)
    return {};
  if (!is(4, "-") || !is(7, "-") || !is(10, "Tt") || !is(13, ":") || !is(16, ":")) return {};
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  size_t at = 19;
  if (is(at, ".")) {
    const size_t digits = at + 1;
    for (++at; is(at, "0123456789"); ++at) {
    }
    if (at == digits) return {};
  }
  int64_t offset_s = 0;
  if (is(at, "Zz")) {
    ++at;
  } else if (is(at, "+-") && is(at + 3, ":")) {
    const int hours = number(at + 1, 2, 0, 23), minutes = number(at + 4, 2, 0, 59);
    if (hours < 0 || minutes < 0) return {};
    offset_s = (text[at] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    at += 6;
  } else {
    return {};
  }
  const int day = time.tm_mday;
  const int64_t seconds = ::timegm(&time);
  // The 31st of a month that has 30 days is no day.
  if (at != text.size() || time.tm_mday != day) return {};
  return seconds - offset_s;
}

}  // namespace atl
