#include "files/hdf5/h5_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "core/error.hpp"
#include "core/system/file_descriptor.hpp"
#include "files/hdf5/h5.hpp"

namespace nearfield::h5 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr rlim_t kMostProcessor_s = 2;
constexpr std::chrono::seconds kTimeout{30};

using Read = std::function<std::optional<std::string>()>;

/// Called in the child: a crash ends it at once without a core dump or handler, and it ends with its parent.
void prepare_for_the_worst() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) {
    std::signal(signal, SIG_DFL);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit processor{kMostProcessor_s, kMostProcessor_s};
  setrlimit(RLIMIT_CPU, &processor);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void write_all(int descriptor, const void* from, std::size_t bytes) {
  const auto* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t count = write(descriptor, next, bytes);
    if (count < 0 && errno != EINTR) {
      _exit(1);
    }
    next += count < 0 ? 0 : count;
    bytes -= count < 0 ? 0 : static_cast<std::size_t>(count);
  }
}

/// Sends the text's length, then the text, through the pipe; nothing at all when there is no text.
[[noreturn]] void run_child(const Read& read, int output) {
  prepare_for_the_worst();
  try {
    if (const std::optional<std::string> text = read()) {
      const std::uint64_t length = text->size();
      write_all(output, &length, sizeof length);
      write_all(output, text->data(), text->size());
    }
  } catch (...) {  // write nothing: the parent treats this as an error
  }
  _exit(0);
}

/// Reads until the child closes the pipe; nothing when it takes too long or sends too much.
std::optional<std::string> received(int input, std::size_t most_bytes) {
  const auto end = Clock::now() + kTimeout;
  std::string bytes;
  while (bytes.size() <= most_bytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting{input, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0) {
      return std::nullopt;
    }
    char chunk[4096];
    const ssize_t count = ready < 0 ? -1 : ::read(input, chunk, sizeof chunk);
    if (count < 0 && errno != EINTR) {
      return std::nullopt;
    }
    if (count == 0) {
      return bytes;
    }
    bytes.append(chunk, count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

struct Call {
  const Read& read;
  std::size_t most_bytes = 0;
  std::optional<std::string> text = std::nullopt;
  int error = 0;
};

void make_call(Call& call) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    call.error = errno;
    return;
  }
  const FileDescriptor input(ends[0]);
  FileDescriptor output(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    run_child(call.read, output.get());
  }
  call.error = child < 0 ? errno : 0;
  output = FileDescriptor();
  if (child < 0) {
    return;
  }
  const std::optional<std::string> bytes = received(input.get(), call.most_bytes + sizeof(std::uint64_t));
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  std::uint64_t length = 0;
  if (bytes && bytes->size() >= sizeof length) {
    std::memcpy(&length, bytes->data(), sizeof length);
    if (length == bytes->size() - sizeof length) {
      call.text = bytes->substr(sizeof length);
    }
  }
}

herr_t call_back(unsigned /*depth*/, const H5E_error2_t* /*error*/, void* call) {
  make_call(*static_cast<Call*>(call));
  return 0;
}

/// HDF5 has one lock for all threads. If another thread holds it during a fork, it is never released in the child. So
/// this thread takes it: walking an error stack with one entry calls back inside the lock, which is recursive.
void make_call_inside_the_lock(Call& call) {
  const hid_t list = H5Ecreate_stack();
  H5Epush2(list, "", "", 0, H5E_ERR_CLS, H5E_NONE_MAJOR, H5E_NONE_MINOR, " ");
  H5Ewalk2(list, H5E_WALK_UPWARD, call_back, &call);
  H5Eclose_stack(list);
}

}  // namespace

std::optional<std::string> text_from_child(const Read& read, std::size_t most_bytes) {
  quiet();
  Call call{.read = read, .most_bytes = most_bytes};
  make_call_inside_the_lock(call);
  if (call.error != 0) {
    throw IoError(fmt::format("no process for reading a string: {}", std::strerror(call.error)));
  }
  return call.text;
}

}  // namespace nearfield::h5
