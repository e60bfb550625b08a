#include "files/unknown_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>

namespace nearfield {
namespace {

struct KnownStart {
  std::string_view bytes;
  std::string_view hint;
};

constexpr std::string_view kByPython = "nearfield.write_time_data of the Python package writes HDF5 of arrays";

constexpr std::array<KnownStart, 6> kStarts{
    {{"MDF ", "it is MDF: nearfield.read_mdf4 of the Python package reads it"},
     {"UnFinMF ", "it is MDF that was not finished: finish it with the program that wrote it"},
     {"\x93NUMPY", "it is an array of NumPy: nearfield.write_time_data of the Python package writes HDF5 of it"},
     {"TDSm", "it is TDMS: npTDMS reads it, and nearfield.write_time_data of the Python package writes HDF5 of it"},
     {"PK\x03\x04", "it is a ZIP archive, such as .npz or .xlsx: unpack it first"},
     {"\x1f\x8b", "it is packed by gzip: unpack it first"}}};

/// WAV, AIFF, FLAC, Ogg and Core Audio, by their first four bytes.
bool starts_like_sound(std::string_view start) {
  constexpr std::array<std::string_view, 9> kSound = {"RIFF", "RIFX", "RF64", "FORM", "fLaC",
                                                      "OggS", "caff", "riff", ".snd"};
  return std::find(kSound.begin(), kSound.end(), start.substr(0, 4)) != kSound.end();
}

/// Level 4 has no head: a type of decimal digits MOPT, rows, columns, a flag of complex numbers, and a name's length.
bool starts_like_matlab4(std::string_view start) {
  std::array<std::int32_t, 5> head{};
  if (start.size() < sizeof head) {
    return false;
  }
  std::memcpy(head.data(), start.data(), sizeof head);
  const auto [type, rows, columns, is_complex, name_bytes] = head;
  return type >= 0 && type < 100 && type % 10 <= 2 && type / 10 <= 5 && rows > 0 && columns > 0 &&
         (is_complex == 0 || is_complex == 1) && name_bytes > 1 && name_bytes <= 64;
}

bool is_text(std::string_view start) {
  return !start.empty() && std::all_of(start.begin(), start.end(),
                                       [](unsigned char c) { return c >= ' ' || c == '\t' || c == '\r' || c == '\n'; });
}

std::string hint_on(std::string_view start, const std::string& path) {
  for (const KnownStart& known : kStarts) {
    if (start.starts_with(known.bytes)) {
      return std::string(known.hint);
    }
  }
  if (starts_like_sound(start)) {
    return fmt::format("it is a sound file: \"nearfield encode {} -o CAPTURE.h5\" makes a capture of it", path);
  }
  if (starts_like_matlab4(start)) {
    return "it seems to be a MATLAB file of level 4: save it with -v6, -v7 or -v7.3";
  }
  if (is_text(start)) {
    return fmt::format("it is text, such as CSV: {}", kByPython);
  }
  return start.empty() ? "it is empty" : std::string(kByPython);
}

}  // namespace

std::string hint_on_unknown_format(const std::filesystem::path& path) {
  std::array<char, 128> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return hint_on({bytes.data(), static_cast<std::size_t>(file.gcount())}, path.string());
}

}  // namespace nearfield
