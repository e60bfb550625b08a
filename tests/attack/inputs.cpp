#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "files/files.hpp"
#include "files/hdf5/h5.hpp"
#include "recording/recorder.hpp"
#include "recording/recording_support.hpp"
#include "support/images.hpp"
#include "support/recordings.hpp"

/// Writes one small file of each kind that Nearfield reads, for mutate.py: `attack_inputs FOLDER`. Each HDF5 file is
/// there twice, KIND.h5 as Nearfield writes it and KIND_heap.h5 with texts of variable length, as h5py writes them.
namespace nearfield::test {
namespace {

constexpr std::uint64_t kBitTimes = 8192;  // two windows of 128 samples

void write_small_images(const std::filesystem::path& path) {
  const ImagesHeader header = small_header();
  ImagesWriter writer(path, header, 2);
  for (int index = 0; index < 2; ++index) {
    ImageFrame frame;
    frame.cutoff_rad_per_m = frame.slope = frame.noise_pa = frame.error_estimate = {1.0F, 2.0F};
    frame.images.resize(header.values_per_frame(), {1.0F, 0.5F});
    frame.points.resize(header.planes_m.size() * header.frequencies_hz.size() * header.points.size(), {1.0F, 0.0F});
    writer.write(frame);
  }
  writer.finish();
}

void write_recording(const std::filesystem::path& path) {
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = path.string();
  Recorder recorder(options);
  recorder.begin(result_header(small_header()), {.epoch = 1});
  recorder.start();
  recorder.wait_for_requests();
  push_bits(recorder, 1024, kBitTimes / 2);
  push_bits(recorder, 1024 + kBitTimes / 2 + 64, kBitTimes / 2);
  for (std::uint64_t hop = 0; hop < 3; ++hop) {
    recorder.write(TestFrame(hop).frame);
  }
  recorder.stop();
  recorder.wait_for_requests();
}

herr_t add_name(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// Rewrites the texts of one object.
void move_texts_to_the_heap(hid_t file, const char* object) {
  if (H5Oexists_by_name(file, object, H5P_DEFAULT) <= 0) {
    return;
  }
  const h5::Object owner(H5Oopen(file, object, H5P_DEFAULT));
  std::vector<std::string> names;
  H5Aiterate2(owner.id(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_name, &names);
  for (const std::string& name : names) {
    h5::Attribute attribute(H5Aopen(owner.id(), name.c_str(), H5P_DEFAULT));
    const h5::Type type(H5Aget_type(attribute.id()));
    if (H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0) {
      continue;
    }
    std::string text(H5Tget_size(type.id()) + 1, '\0');
    H5Aread(attribute.id(), type.id(), text.data());
    attribute.close();
    H5Adelete(owner.id(), name.c_str());
    const h5::Type variable = h5::text_type(H5T_CSET_UTF8);
    const h5::Space scalar(H5Screate(H5S_SCALAR));
    const h5::Attribute moved(
        H5Acreate2(owner.id(), name.c_str(), variable.id(), scalar.id(), H5P_DEFAULT, H5P_DEFAULT));
    const char* start = text.c_str();
    H5Awrite(moved.id(), variable.id(), &start);
  }
}

void write_heap_variant(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  const h5::Properties access = h5::file_access();
  const h5::File file(H5Fopen(to.c_str(), H5F_ACC_RDWR, access.id()));
  for (const char* object : {"/", "/bitstream", "/spectra", "/time_data", "/images", "/geometry"}) {
    move_texts_to_the_heap(file.id(), object);
  }
}

void write_all(const std::filesystem::path& folder) {
  write_random_capture(folder / "capture.h5", kBitTimes);
  write_spectra(folder / "spectra.h5", monopole_spectra(2, {1464.84375}));
  write_time_data(folder / "time_data.h5", 46875.0, 64, std::vector<float>(64 * 256, 0.25F));
  write_small_images(folder / "images.h5");
  write_calibration(folder / "calibration.h5", {.geometry = small_array(),
                                                .frequencies_hz = {1000.0, 2000.0},
                                                .gains = std::vector<std::complex<float>>(128, {1.0F, 0.0F})});
  for (const char* kind : {"capture", "spectra", "time_data", "images", "calibration"}) {
    write_heap_variant(folder / fmt::format("{}.h5", kind), folder / fmt::format("{}_heap.h5", kind));
  }
  write_recording(folder / "recording.nfr");
}

}  // namespace
}  // namespace nearfield::test

int main(int argc, char** argv) {
  try {
    if (argc != 2) {
      fmt::print(stderr, "usage: attack_inputs FOLDER\n");
      return 64;
    }
    nearfield::test::write_all(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "attack_inputs: {}\n", error.what());
    return 74;
  }
}
