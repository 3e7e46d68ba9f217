/// What the program around the server has made visible to everybody.
#pragma once

namespace atl::embedded {

/// Whether plugins would find the program's own protobuf or gRPC, maybe of another version, instead of theirs, and may be
/// told to look for their own first. They may not where the program has an allocator of its own: what is allocated by one
/// would be freed by the other.
bool must_prefer_own_symbols() noexcept;

}  // namespace atl::embedded
