#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/system/threads.hpp"

namespace nearfield::ring {

/// The channels of an output, one per processor, each under a name that identifies its place. get(), route() and
/// free_unused() must not run concurrently; at() is for the engine's thread and may run concurrently with get() and
/// free_unused(); for_each() is for any thread. The mutex guards the set of channels; the engine's thread takes it when
/// an epoch begins.
template <class Channel>
class PerProcessor {
 public:
  /// The channel of this name, made by `make` if it does not exist. Throws what `make` throws.
  template <class Make>
  Channel& get(const std::string& name, const Make& make) {
    const auto found = entries_.find(name);
    if (found != entries_.end()) {
      return *found->second.channel;
    }
    auto channel = std::make_unique<Channel>(make());
    const std::lock_guard lock(mutex_);
    return *entries_.emplace(name, Entry{.channel = std::move(channel)}).first->second.channel;
  }

  /// Makes the processor of this index use the channel of this name, which must exist, from this epoch on.
  void route(std::size_t processor, const std::string& name, std::uint64_t epoch) {
    Entry& entry = entries_.at(name);
    routes_.resize(std::max(routes_.size(), processor + 1));
    routes_[processor] = entry.channel.get();
    entry.epoch = epoch_ = epoch;
  }

  /// Null for a processor that has not begun.
  [[nodiscard]] Channel* find(std::size_t processor) const {
    return processor < routes_.size() ? routes_[processor] : nullptr;
  }

  /// Throws std::logic_error for a processor that has not begun.
  [[nodiscard]] Channel& at(std::size_t processor) const {
    Channel* const channel = find(processor);
    if (channel == nullptr) {
      throw std::logic_error("a frame came before the first epoch of its processor");
    }
    return *channel;
  }

  /// Frees the channels that the newest epoch does not use, and calls `tidy` with the others while the mutex is held:
  /// for_each() waits for it.
  template <class Tidy>
  void free_unused(const Tidy& tidy) {
    std::vector<std::unique_ptr<Channel>> unused;  // freed without the lock: a channel may have a thread to wait for
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      if (entry->second.epoch == epoch_) {
        tidy(*entry->second.channel);
        ++entry;
      } else {
        std::replace(routes_.begin(), routes_.end(), entry->second.channel.get(), static_cast<Channel*>(nullptr));
        unused.push_back(std::move(entry->second.channel));
        entry = entries_.erase(entry);
      }
    }
  }

  template <class Work>
  void for_each(const Work& work) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      work(*entry.channel);
    }
  }

 private:
  struct Entry {
    std::unique_ptr<Channel> channel;
    std::uint64_t epoch = 0;  ///< last epoch that used it; 0: none yet
  };
  mutable InheritingMutex mutex_;
  std::map<std::string, Entry> entries_;
  std::vector<Channel*> routes_;  ///< [processor]
  std::uint64_t epoch_ = 0;
};

}  // namespace nearfield::ring
