#include "repositories/common/following_repository.h"

#include <utility>

namespace atl::filesystem {

FollowingRepository::FollowingRepository(RepositorySettings settings)
    : now_(std::make_shared<FilesystemRepository>(std::move(settings))) {}

void FollowingRepository::follow(RepositorySettings settings) {
  auto next = std::make_shared<FilesystemRepository>(std::move(settings));
  next->succeed(*now());
  std::scoped_lock lock(mutex_);
  now_.swap(next);
}

}  // namespace atl::filesystem
