#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

#include "core/system/threads.hpp"

namespace nearfield {

/// Calls work(index) once for each index below `count`, on at most `together` threads including this one. Rethrows here
/// what a call throws, once all threads have ended, and skips the indices not yet begun. It skips them, too, if this
/// thread is stopped, by Stopped (Stoppable).
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
  std::vector<std::future<void>> others;  // each waits for its thread in its destructor
  for (std::size_t i = 1; i < std::min(count, together); ++i) {
    others.push_back(std::async(std::launch::async, [&run] {
      give_signal_stack();  // the caller's thread is not changed: it may be that of a program that uses the library
      run();
    }));
  }
  run();
  for (std::future<void>& other : others) {
    other.get();
  }
}

}  // namespace nearfield
