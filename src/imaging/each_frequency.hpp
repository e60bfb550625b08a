#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

#include "core/stoppable.hpp"

namespace nearfield {

/// Calls work(index) once for each index below `count`, on at most `together` threads, this one among them. What one
/// call throws is thrown here, once all threads have ended; indices that nobody has begun are left out then. So are
/// they where this thread is stopped, by Stopped (Stoppable).
template <class Work>
void for_each_frequency(std::size_t count, std::size_t together, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&, token = Stoppable::token()] {
    const Stoppable stoppable(token);
    try {
      for (std::size_t index = next++; index < count; index = next++) {
        Stoppable::end_if_stopped();
        work(index);
      }
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> others;  // each waits for its thread where it is destroyed
  for (std::size_t i = 1; i < std::min(count, together); ++i) {
    others.push_back(std::async(std::launch::async, run));
  }
  run();
  for (std::future<void>& other : others) {
    other.get();
  }
}

}  // namespace nearfield
