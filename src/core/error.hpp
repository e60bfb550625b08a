#pragma once
#include <stdexcept>
#include <string>

namespace nearfield {

/// Process exit codes, after sysexits.h.
enum class ExitCode : int {
  kOk = 0,
  kDiffers = 1,        ///< nearfield compare: differs by more than the given tolerance, like diff and cmp
  kUsage = 64,         ///< wrong command line
  kBadData = 65,       ///< an input file that is not what it should be
  kNoInput = 66,       ///< an input file that is missing or unreadable
  kNoDevice = 69,      ///< no OpenCL device, or the device failed
  kInternal = 70,      ///< a defect in Nearfield itself
  kIo = 74,            ///< an output could not be written
  kHungFrame = 75,     ///< nearfieldd: a frame took longer than its deadline
  kNoPermission = 77,  ///< the peer does not let this user in
  kBadConfig = 78,     ///< a wrong setting
  kInterrupted = 130,  ///< stopped by the user, as a shell reports SIGINT
};

/// Base of every error Nearfield throws on purpose. The message names the place, what was found and what was expected.
class Error : public std::runtime_error {
 public:
  Error(ExitCode exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] ExitCode exit_code() const noexcept { return exit_code_; }

 private:
  ExitCode exit_code_;
};

/// A wrong setting, in a file or on the command line. May list several, one a line.
class ConfigError : public Error {
 public:
  explicit ConfigError(const std::string& message) : Error(ExitCode::kBadConfig, message) {}
};

/// The content of an input file is wrong.
class DataError : public Error {
 public:
  explicit DataError(const std::string& message) : Error(ExitCode::kBadData, message) {}
};

/// There is no OpenCL device, or it failed.
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& message) : Error(ExitCode::kNoDevice, message) {}
};

/// Reading or writing failed.
class IoError : public Error {
 public:
  explicit IoError(const std::string& message) : Error(ExitCode::kIo, message) {}

 protected:
  using Error::Error;
};

/// An input file does not exist or may not be read.
class NoInputError : public IoError {
 public:
  explicit NoInputError(const std::string& message) : IoError(ExitCode::kNoInput, message) {}
};

/// The command line is wrong.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

}  // namespace nearfield
