/// What `atoll --list` shows of plugins.
#pragma once

#include <functional>
#include <span>

#include "atoll/abi/plugin.h"
#include "atoll/core/status.h"
#include "kernel/log/log_sink.h"
#include "kernel/server/server.h"

namespace atl::kernel {

/// Hands `render` the descriptors of every plugin in the plugin path and of every `file` in the manifest,
/// ordered by name; they are valid during the call. Errors: those that could not be opened, one line each;
/// the others are rendered.
Status list_plugins(const ServerArguments& arguments, LogSink& log,
                    const std::function<void(std::span<const atoll_plugin_v1_t* const>)>& render);

}  // namespace atl::kernel
