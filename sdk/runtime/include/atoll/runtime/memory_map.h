/// What /proc/self/maps says, because dlclose() returning 0 says nothing.
#pragma once

#include <optional>
#include <string>

namespace atl::runtime {

/// A mapped file as the memory map names it ("fd:01 1234"), which on stacked file systems differs from
/// stat()'s answer.
using MappedFile = std::string;

/// The file behind an address; nothing if it is not mapped from a file.
std::optional<MappedFile> mapped_file_at(const void* address);
bool is_mapped(const MappedFile& file);

}  // namespace atl::runtime
