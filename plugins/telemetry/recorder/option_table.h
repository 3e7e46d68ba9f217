/// The plugin's options as the kernel sees them.
#pragma once

#include "atoll/core/option_table.h"

namespace atl::recorder {

inline constexpr OptionTable kOptions{
    // Not "file", which is the kernel's own key of every instance: the path of the plugin's shared object.
    option_string("recording_file", "")
        .state()
        .help(
            "Path of the recording; full files are renamed to <recording_file>.1, <recording_file>.2 and so on. Empty: nothing "
            "is recorded."),
    option_bool("responses", true)
        .help("Whether responses are recorded, so that a replay can compare its own with them."),
    option_bool("tensors", true)
        .help("Whether the bytes of tensors are recorded; without them only sizes and times are, and nothing "
              "can be replayed."),
    option_float("sample", 1.0)
        .range(0, 1)
        .help("Share of requests that is recorded; of a sequence or a stream all requests are, or none."),
    option_string_list("models").help("Models whose requests are recorded. Empty: all."),
    option_string_list("tenants").help(
        "Tenants whose requests are recorded. Empty: those of all, and those without one."),
    option_bytes("max_bytes", "1GiB")
        .range("4KiB", "1TiB")
        .help(
            "Most bytes of one file; then the next one begins, or, where 'max_files' is 1, the recording ends."),
    option_int("max_files", 4)
        .range(1, 1000)
        .help("Most files of the recording; the oldest one is removed for a new one."),
    option_bytes("max_pending_size", "64MiB")
        .range("64KiB", "64GiB")
        .help("Bytes of requests and responses that wait to be written at most; further ones are left out of "
              "the recording and counted."),
};

}  // namespace atl::recorder
