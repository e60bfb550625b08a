#include "files/results_file.hpp"

#include <hdf5_hl.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "files/file_test_support.hpp"
#include "files/hdf5/h5_input.hpp"
#include "files/hdf5/h5_types.hpp"
#include "support/images.hpp"
#include "support/two_processors.hpp"

namespace nearfield {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// Datasets of a group with their types and shapes, such as "uint64 (2,)".
std::map<std::string, std::string> datasets_in(const std::filesystem::path& path, const char* group) {
  std::map<std::string, std::string> found;
  edit(path, [&](hid_t file) {
    H5G_info_t info{};
    ASSERT_GE(H5Gget_info_by_name(file, group, &info, H5P_DEFAULT), 0);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      std::array<char, 256> name{};
      H5Lget_name_by_idx(file, group, H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size(), H5P_DEFAULT);
      const h5::Object object(H5Oopen(file, (std::string(group) + "/" + name.data()).c_str(), H5P_DEFAULT));
      if (H5Iget_type(object.id()) != H5I_DATASET) {
        found[name.data()] = "group";
        continue;
      }
      const h5::Type type(H5Dget_type(object.id()));
      const h5::Space space(H5Dget_space(object.id()));
      h5::Shape shape(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.id())));
      H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr);
      found[name.data()] = h5::name_of_type(type.id()) + " " + h5::text_of(shape);
    }
  });
  return found;
}

void expect_same(const ResultFrame& found, const ResultFrame& expected, const ResultHeader& header) {
  EXPECT_EQ(found.frame.first_bit_time, expected.frame.first_bit_time);
  EXPECT_EQ(found.frame.timestamp_ns, expected.frame.timestamp_ns);
  EXPECT_EQ(found.frame.flags, expected.frame.flags);
  EXPECT_EQ(found.frame.missing_bit_times, expected.frame.missing_bit_times);
  ASSERT_EQ(found.frame.products.size(), header.products.size());
  for (std::size_t i = 0; i < header.products.size(); ++i) {
    ASSERT_EQ(found.frame.products[i].size(), header.bytes(header.products[i])) << i;
    EXPECT_EQ(
        std::memcmp(found.frame.products[i].data(), expected.frame.products[i].data(), found.frame.products[i].size()),
        0)
        << header.products[i].name;
  }
}

void expect_two_processors(const ResultsReader& reader, std::uint64_t images, std::uint64_t rows) {
  ASSERT_EQ(reader.processors(), 2U);
  ASSERT_EQ(reader.frames(0), images);
  ASSERT_EQ(reader.frames(1), rows);
  for (std::uint64_t number = 0; number < images; ++number) {
    expect_same(reader.read(0, number), images_frame(number), reader.header(0));
  }
  for (std::uint64_t number = 0; number < rows; ++number) {
    expect_same(reader.read(1, number), row_power_frame(number), reader.header(1));
  }
}

TEST(Results, OfTwoProcessorsComeBackTheSame) {
  const TempFolder folder;
  write_two_processors_to(folder / "r.h5", 17);
  EXPECT_THAT(folder.names(), ElementsAre("r.h5"));
  const ResultsReader reader(folder / "r.h5");
  expect_two_processors(reader, 17, 3);
  for (const auto& [index, expected] :
       {std::pair<std::size_t, ResultHeader>{0, result_header(images_of_two())}, {1, row_power_header()}}) {
    const ResultHeader& found = reader.header(index);
    EXPECT_EQ(found.processor, expected.processor);
    EXPECT_EQ(found.kind, expected.kind);
    EXPECT_EQ(found.config, expected.config);
    EXPECT_EQ(found.device, expected.device);
    EXPECT_EQ(found.front_end, expected.front_end);
    EXPECT_EQ(found.memory_hops, expected.memory_hops);
    EXPECT_EQ(found.axes, expected.axes);
    EXPECT_EQ(found.products, expected.products);
  }
  ASSERT_NE(images_of(reader.header(0)), nullptr);
  EXPECT_EQ(reader.header(0).kind, "pnah");
  EXPECT_EQ(images_of(reader.header(1)), nullptr);
  EXPECT_THAT(error_of([&] { (void)reader.read(1, 3); }),
              HasSubstr("/row_power/row_power: found 3 frames, expected a frame 3"));
}

TEST(Results, SpectraBeginAt0HzAndImagesDoNot) {
  const TempFolder folder;
  ResultHeader spectra = row_power_header();
  spectra.axes[0].values = {0.0, 500.0};
  {
    ResultsWriter writer(folder / "r.h5");
    writer.begin(result_header(images_of_two()), {.frames = 1});
    writer.begin(spectra, {.processor = 1, .frames = 1});
    writer.write(images_frame(0).frame);
    writer.write(row_power_frame(0).frame);
    writer.finish();
  }
  EXPECT_EQ(ResultsReader(folder / "r.h5").header(1).axes, spectra.axes);
  const std::array<double, 2> negative = {-1.0, 500.0};
  const std::array<double, 2> zero = {0.0, 500.0};
  expect_refused(folder / "r.h5",
                 {{"below 0 Hz",
                   [&](hid_t f) {
                     put_dataset(f, "/row_power/frequencies_hz", H5T_NATIVE_DOUBLE, {2}, negative.data());
                     put_fixed_text(f, "/row_power/frequencies_hz", "axis", "frequency");
                     put_fixed_text(f, "/row_power/frequencies_hz", "unit", "Hz");
                   },
                   {"/row_power/frequencies_hz[0]: found -1, expected a finite frequency from 0 Hz on"}},
                  {"images at 0 Hz",
                   [&](hid_t f) { put_dataset(f, "/frequencies_hz", H5T_NATIVE_DOUBLE, {2}, zero.data()); },
                   {"/frequencies_hz[0]: found 0, expected a finite frequency above 0 Hz"}}},
                 [](const std::filesystem::path& path) { const ResultsReader reader(path); });
}

// Readers of files of images alone find what they always found.
TEST(Results, DatasetsOfTheFirstProcessorHaveTheirNamesTypesAndShapes) {
  const TempFolder folder;
  {
    ImagesHeader header = images_of_two();
    header.quantity = "active_intensity";
    header.unit = "W/m^2";
    header.points = {{.x_m = 0.0, .y_m = 0.005}};
    header.bands_hz = {{.low_hz = 400.0, .high_hz = 600.0}};
    ResultsWriter writer(folder / "r.h5");
    writer.begin(result_header(header), {.frames = 4});
    writer.begin(row_power_header(), {.processor = 1, .frames = 2});
    writer.write(ResultFrame(result_header(header)).frame);
    writer.finish();
  }
  EXPECT_EQ(datasets_in(folder / "r.h5", "/"),
            (std::map<std::string, std::string>{{"band", "float32 (1,)"},
                                                {"band_component", "float32 (2,)"},
                                                {"bands", "float32 (4, 1, 1, 2, 3)"},
                                                {"bands_hz", "float64 (1, 2)"},
                                                {"complex64", "group"},
                                                {"cutoff_rad_per_m", "float32 (4, 2)"},
                                                {"error_estimate", "float32 (4, 2)"},
                                                {"first_sample", "uint64 (4,)"},
                                                {"flags", "uint32 (4,)"},
                                                {"frames_written", "uint64 scalar"},
                                                {"frequencies_hz", "float64 (2,)"},
                                                {"images", "compound {r, i} (4, 1, 2, 2, 3)"},
                                                {"missing_bits", "uint64 (4,)"},
                                                {"valid_microphones", "uint32 (4,)"},
                                                {"missing_information", "float32 (4,)"},
                                                {"noise_pa", "float32 (4, 2)"},
                                                {"planes_m", "float64 (1,)"},
                                                {"point", "float32 (1,)"},
                                                {"point_component", "float32 (2,)"},
                                                {"points", "compound {r, i} (4, 1, 2, 1)"},
                                                {"points_xy_m", "float64 (1, 2)"},
                                                {"radiated_power_w", "float32 (4, 1, 2)"},
                                                {"row_power", "group"},
                                                {"slope", "float32 (4, 2)"},
                                                {"time", "float64 (4,)"},
                                                {"time_zero_ns", "int64 scalar"},
                                                {"timestamp_ns", "int64 (4,)"},
                                                {"x_m", "float64 (3,)"},
                                                {"y_m", "float64 (2,)"}}));
  EXPECT_EQ(datasets_in(folder / "r.h5", "/row_power"),
            (std::map<std::string, std::string>{{"azimuth_deg", "float64 (3,)"},
                                                {"beam", "compound {r, i} (2, 2, 3)"},
                                                {"first_sample", "uint64 (2,)"},
                                                {"flags", "uint32 (2,)"},
                                                {"found", "group"},
                                                {"frames_written", "uint64 scalar"},
                                                {"frequencies_hz", "float64 (2,)"},
                                                {"missing_bits", "uint64 (2,)"},
                                                {"valid_microphones", "uint32 (2,)"},
                                                {"missing_information", "float32 (2,)"},
                                                {"row_power", "float32 (2, 2, 2)"},
                                                {"time", "float64 (2,)"},
                                                {"time_zero_ns", "int64 scalar"},
                                                {"timestamp_ns", "int64 (2,)"},
                                                {"y_m", "float64 (2,)"}}));
  EXPECT_EQ(datasets_in(folder / "r.h5", "/row_power/found"),
            (std::map<std::string, std::string>{{"id", "uint32 (2, 3)"},
                                                {"level", "float32 (2, 3)"},
                                                {"row", "float32 (3,)"},
                                                {"rows", "uint64 (2,)"},
                                                {"seen", "uint64 (2, 3)"},
                                                {"time", "float64 (2,)"},
                                                {"x_m", "float64 (2, 3)"}}));
  const h5::InputFile file(folder / "r.h5");
  EXPECT_EQ(file.text_attribute("/", "quantity"), "active_intensity");
  EXPECT_EQ(file.text_attribute("/", "unit"), "W/m^2");
  EXPECT_EQ(file.text_attribute("/", "processors"), "surface,row_power");
  EXPECT_EQ(file.text_attribute("/images", "axes"), "z,frequency,y,x");
  EXPECT_EQ(file.text_attribute("/bands", "unit"), "W/m^2");
  EXPECT_EQ(file.text_attribute("/cutoff_rad_per_m", "form"), "figure");
  EXPECT_EQ(file.text_attribute("/row_power", "kind"), "mean_power");
  EXPECT_EQ(file.text_attribute("/row_power/row_power", "quantity"), "mean power of a row");
  EXPECT_EQ(file.text_attribute("/row_power/found/level", "unit"), "Pa");
}

/// A dataset of times, in ns, with -1 for what is not a number.
std::vector<double> times_ns(const h5::InputFile& file, const std::string& place) {
  std::vector<double> times = file.values<double>(place, {{"frames"}});
  for (double& time : times) {
    time = std::isnan(time) ? -1.0 : std::round(time * 1e9);
  }
  return times;
}

std::int64_t integer_in(const h5::InputFile& file, const std::string& place) {
  return file.values<std::int64_t>(place, {}).front();
}

/// Frames of both processors at given times; the third of the first one is never written.
void write_at_times(const std::filesystem::path& path, std::optional<std::int64_t> zero_ns) {
  ResultsWriter writer(path);
  writer.begin(result_header(images_of_two()), {.frames = 3, .time_zero_ns = zero_ns});
  writer.begin(row_power_header(), {.processor = 1, .frames = 2, .time_zero_ns = zero_ns});
  const auto write = [&](ResultFrame result, std::size_t processor, std::int64_t timestamp_ns) {
    result.frame.processor = processor;
    result.frame.timestamp_ns = timestamp_ns;
    writer.write(result.frame);
  };
  constexpr std::int64_t kFirstNs = 1'700'000'000'000'000'123;  // no double has these last digits
  write(images_frame(0), 0, kFirstNs);
  write(images_frame(1), 0, kFirstNs + 682'667);
  write(row_power_frame(0), 1, kFirstNs + 100);
  write(row_power_frame(1), 1, kFirstNs + 2'730'667);
  writer.finish();
}

TEST(Results, TimesCountFromTheRecordingsStart) {
  const TempFolder folder;
  constexpr std::int64_t kStartNs = 1'700'000'000'000'000'000;
  write_at_times(folder / "r.h5", kStartNs);
  const h5::InputFile file(folder / "r.h5");
  EXPECT_EQ(integer_in(file, "/time_zero_ns"), kStartNs);
  EXPECT_EQ(integer_in(file, "/row_power/time_zero_ns"), kStartNs);
  EXPECT_THAT(times_ns(file, "/time"), ElementsAre(123.0, 682'790.0, -1.0));
  EXPECT_THAT(times_ns(file, "/row_power/time"), ElementsAre(223.0, 2'730'790.0));
  EXPECT_THAT(times_ns(file, "/row_power/found/time"), ElementsAre(223.0, 2'730'790.0));
  EXPECT_EQ(file.text_attribute("/time", "units"), "s");
}

TEST(Results, WithoutAStartTimesCountFromTheFirstFrame) {
  const TempFolder folder;
  write_at_times(folder / "r.h5", std::nullopt);
  const h5::InputFile file(folder / "r.h5");
  EXPECT_EQ(integer_in(file, "/time_zero_ns"), 1'700'000'000'000'000'123);
  EXPECT_EQ(integer_in(file, "/row_power/time_zero_ns"), 1'700'000'000'000'000'123);
  EXPECT_THAT(times_ns(file, "/time"), ElementsAre(0.0, 682'667.0, -1.0));
  EXPECT_THAT(times_ns(file, "/row_power/time"), ElementsAre(100.0, 2'730'667.0));
}

// The scales of every axis, as HDF5's own library finds them.
TEST(Results, EveryAxisHasItsScale) {
  const TempFolder folder;
  write_two_processors_to(folder / "r.h5", 17);
  edit(folder / "r.h5", [](hid_t file) {
    const auto scales_of = [&](const char* place) {
      const h5::Dataset dataset(H5Dopen2(file, place, H5P_DEFAULT));
      const h5::Space space(H5Dget_space(dataset.id()));
      std::vector<std::string> names;
      const auto add = [](hid_t, unsigned, hid_t scale, void* all) -> herr_t {
        std::array<char, 256> name{};
        H5Iget_name(scale, name.data(), name.size());
        static_cast<std::vector<std::string>*>(all)->emplace_back(name.data());
        return 0;
      };
      for (int axis = 0; axis < H5Sget_simple_extent_ndims(space.id()); ++axis) {
        H5DSiterate_scales(dataset.id(), static_cast<unsigned>(axis), nullptr, add, &names);
      }
      return names;
    };
    EXPECT_THAT(scales_of("/images"), ElementsAre("/time", "/planes_m", "/frequencies_hz", "/y_m", "/x_m"));
    EXPECT_THAT(scales_of("/noise_pa"), ElementsAre("/time", "/frequencies_hz"));
    EXPECT_THAT(scales_of("/flags"), ElementsAre("/time"));
    EXPECT_THAT(scales_of("/row_power/row_power"),
                ElementsAre("/row_power/time", "/row_power/frequencies_hz", "/row_power/y_m"));
    EXPECT_THAT(scales_of("/row_power/found/level"), ElementsAre("/row_power/found/time", "/row_power/found/row"));
  });
}

/// Takes away all that describes: the attributes of the datasets, and those of the root that files never had before.
void strip_descriptions(const std::filesystem::path& path) {
  edit(path, [](hid_t file) {
    for (const char* name : {"axis_datasets", "kind", "processor", "processors", "products"}) {
      ASSERT_GE(H5Adelete(file, name), 0);
    }
    H5G_info_t info{};
    H5Gget_info(file, &info);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const h5::Object object(H5Oopen_by_idx(file, "/", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT));
      while (H5Aget_num_attrs(object.id()) > 0) {
        ASSERT_GE(H5Adelete_by_idx(object.id(), ".", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT), 0);
      }
    }
  });
}

TEST(Results, OfFilesWithoutDescriptionsAreThoseOfImages) {
  const TempFolder folder;
  ImagesHeader header = images_of_two();
  header.quantity = "active_intensity";
  header.points = {{.x_m = 0.0, .y_m = 0.005}};
  header.bands_hz = {{.low_hz = 400.0, .high_hz = 600.0}};
  {
    ResultsWriter writer(folder / "old.h5");
    writer.begin(result_header(header), {.frames = 2});
    writer.write(ResultFrame(result_header(header)).frame);
    writer.finish();
  }
  strip_descriptions(folder / "old.h5");
  const ResultsReader reader(folder / "old.h5");
  ASSERT_EQ(reader.processors(), 1U);
  EXPECT_EQ(reader.header(0).axes, result_header(header).axes);
  EXPECT_EQ(reader.header(0).products, result_header(header).products);
  EXPECT_EQ(reader.header(0).processor, kFirstProcessor);
  EXPECT_EQ(reader.header(0).kind, "");
  EXPECT_EQ(images_of(reader.header(0))->quantity, "active_intensity");
  EXPECT_EQ(reader.frames(0), 1U);
  EXPECT_EQ(reader.room(0), 2U);
  EXPECT_EQ(ImagesReader(folder / "old.h5").read(0).points.size(), 2U);
}

// The first files had no estimate of the error.
TEST(Results, FiguresThatOldFilesLackAreNan) {
  const TempFolder folder;
  write_two_processors_to(folder / "old.h5", 1);
  strip_descriptions(folder / "old.h5");
  edit(folder / "old.h5", [](hid_t file) { H5Ldelete(file, "/error_estimate", H5P_DEFAULT); });
  EXPECT_EQ(ResultsReader(folder / "old.h5").header(0).product("error_estimate"), nullptr);
  const ImageFrame frame = ImagesReader(folder / "old.h5").read(0);
  ASSERT_EQ(frame.error_estimate.size(), 2U);
  EXPECT_TRUE(std::isnan(frame.error_estimate[1]));
  EXPECT_EQ(frame.slope[1], 2.0F);
  edit(folder / "old.h5", [](hid_t file) { H5Ldelete(file, "/slope", H5P_DEFAULT); });
  EXPECT_THAT(error_of([&] { const ResultsReader reader(folder / "old.h5"); }),
              HasSubstr("/slope: found nothing, expected a dataset [1 frames, 2 frequencies] of float32"));
}

// A processor at every eighth hop is written less often than the first one, and both survive a kill.
TEST(Results, OfTwoProcessorsSurviveAKill) {
  const TempFolder folder;
  for (const std::uint64_t told : {1U, 9U, 100U}) {
    SCOPED_TRACE(told);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ResultsWriter writer(folder / "r.h5");
      constexpr std::uint64_t kRoom = 1'000'000;
      writer.begin(result_header(images_of_two()), {.processor = 0, .frames = kRoom});
      writer.begin(row_power_header(), {.processor = 1, .frames = kRoom / kEvery});
      for (std::uint64_t hop = 0; hop < kRoom; ++hop) {
        writer.write(images_frame(hop).frame);
        if (hop % kEvery == 0) {
          writer.write(row_power_frame(hop / kEvery).frame);
        }
        if (::write(ends[1], "x", 1) != 1) {
          break;
        }
      }
      ::_exit(1);
    }
    std::array<char, 1> mark{};
    for (std::uint64_t count = 0; count < told; ++count) {
      ASSERT_EQ(::read(ends[0], mark.data(), 1), 1);
    }
    ::kill(child, SIGKILL);  // somewhere within a later frame
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_THAT(folder.names(), ElementsAre("r.h5.partial"));
    const ResultsReader reader(folder / "r.h5.partial");
    ASSERT_GE(reader.frames(0), told);
    ASSERT_GE(reader.frames(1), (told + kEvery - 1) / kEvery);
    EXPECT_EQ(reader.room(1), 125'000U);
    expect_two_processors(reader, reader.frames(0), reader.frames(1));
  }
}

TEST(Results, UnfinishedKeepTheirFrames) {
  const TempFolder folder;
  {
    ResultsWriter writer(folder / "r.h5");
    writer.begin(result_header(images_of_two()), {.processor = 0, .frames = 3});
    writer.begin(row_power_header(), {.processor = 1, .frames = 2});
    EXPECT_THAT(in_child([&] { const ResultsReader reader(folder / "r.h5.partial"); }).error,
                HasSubstr("/frames_written: found 0 of 3, expected at least one frame"));
  }
  EXPECT_THAT(folder.names(), IsEmpty()) << "without a frame";
  {
    ResultsWriter writer(folder / "r.h5");
    writer.begin(result_header(images_of_two()), {.processor = 0, .frames = 3});
    writer.begin(row_power_header(), {.processor = 1, .frames = 2});
    writer.write(images_frame(0).frame);
  }
  expect_two_processors(ResultsReader(folder / "r.h5.partial"), 1, 0);
}

TEST(Results, AProcessorWithoutImagesCanBeTheFirst) {
  const TempFolder folder;
  {
    ResultsWriter writer(folder / "r.h5");
    writer.begin(row_power_header(), {.frames = 1});
    ResultFrame frame = row_power_frame(2);
    frame.frame.processor = 0;
    writer.write(frame.frame);
    writer.finish();
  }
  const ResultsReader reader(folder / "r.h5");
  EXPECT_EQ(reader.header(0).products, row_power_header().products);
  expect_same(reader.read(0, 0), row_power_frame(2), reader.header(0));
  EXPECT_THAT(error_of([&] { const ImagesReader images(folder / "r.h5"); }),
              HasSubstr("r.h5: /: found results of \"row_power\", expected images or points"));
}

TEST(ResultsWriter, RefusesWhatItCannotHold) {
  const TempFolder folder;
  const auto error_of_begin = [&](ResultHeader header) {
    ResultsWriter writer(folder / "r.h5");
    writer.begin(result_header(images_of_two()), {.processor = 0, .frames = 1});
    return error_of([&] { writer.begin(header, {.processor = 1, .frames = 1}); });
  };
  ResultHeader header = row_power_header();
  header.processor = "images";
  EXPECT_THAT(error_of_begin(header), HasSubstr("processor \"images\": its results would lie in /images of the images "
                                                "file, which is taken; expected another name"));
  header.processor = "a/b";
  EXPECT_THAT(error_of_begin(header), HasSubstr("expected a name without '/' and ','"));
  header = row_power_header();
  header.products[0].name = "flags";
  EXPECT_THAT(error_of_begin(header), HasSubstr("/row_power/flags"));
  header = row_power_header();
  header.products[0].axes[0] = "elevation";
  EXPECT_THAT(error_of_begin(header), HasSubstr("product row_power has no axis \"elevation\""));
  header = row_power_header();
  header.products[2].columns[0].name = "rows";
  EXPECT_THAT(error_of_begin(header), HasSubstr("/row_power/found/rows"));

  ResultsWriter writer(folder / "r.h5");
  writer.begin(row_power_header(), {.frames = 1});
  EXPECT_THAT(error_of([&] { writer.begin(row_power_header(), {.frames = 1}); }), HasSubstr("begins twice"));
  ResultFrame frame = row_power_frame(0);
  frame.frame.processor = 0;
  put<std::uint64_t>(frame.product(2), 0, {4});
  EXPECT_THAT(error_of([&] { writer.write(frame.frame); }), HasSubstr("rows of found, at most: found 3"));
  put<std::uint64_t>(frame.product(2), 0, {3});
  writer.write(frame.frame);
  EXPECT_THAT(error_of([&] { writer.write(frame.frame); }), HasSubstr("row_power: no room for a frame beyond 1"));
}

TEST(Results, IllFilesAreRefused) {
  const TempFolder folder;
  write_two_processors_to(folder / "good.h5", 9);
  const std::vector<std::uint64_t> rows{1, 99};
  const std::vector<double> azimuths{1.0, 2.0, std::nan("")};
  expect_refused(
      folder / "good.h5",
      {{"no group", [](hid_t f) { H5Ldelete(f, "/row_power", H5P_DEFAULT); }, {"/row_power: found nothing"}},
       {"a processor twice",
        [](hid_t f) { put_fixed_text(f, "/", "processors", "surface,surface"); },
        {"attribute processors: found \"surface,surface\", expected different names"}},
       {"no product",
        [](hid_t f) { H5Ldelete(f, "/row_power/row_power", H5P_DEFAULT); },
        {"/row_power/row_power: found nothing, expected it with the attribute form"}},
       {"a form",
        [](hid_t f) { put_fixed_text(f, "/row_power/beam", "form", "map"); },
        {"/row_power/beam, attribute form: found \"map\", expected array, figure or table"}},
       {"an axis that is not there",
        [](hid_t f) { put_fixed_text(f, "/row_power/beam", "axes", "frequency,elevation"); },
        {"/row_power/beam, attribute axes: found \"elevation\", expected one of the processor's axes"}},
       {"an axis of another length",
        [](hid_t f) { put_fixed_text(f, "/row_power/beam", "axes", "frequency,y"); },
        {"/row_power/beam: found (2, 2, 3), that is 3 rows, expected [2 frames, 2 frequencies, 2 rows]"}},
       {"a value of an axis",
        [&](hid_t f) {
          put_dataset(f, "/row_power/azimuth_deg", H5T_NATIVE_DOUBLE, {3}, azimuths.data());
          put_fixed_text(f, "/row_power/azimuth_deg", "axis", "azimuth");
          put_fixed_text(f, "/row_power/azimuth_deg", "unit", "deg");
        },
        {"/row_power/azimuth_deg[2]: found nan, expected a finite number"}},
       {"more rows than there are",
        [&](hid_t f) { put_dataset(f, "/row_power/found/rows", H5T_NATIVE_UINT64, {2}, rows.data()); },
        {"/row_power/found/rows[1]: found 99, expected at most 3"}},
       {"a column of another length",
        [](hid_t f) {
          put_dataset(f, "/row_power/found/seen", H5T_NATIVE_UINT64, {2, 4});
          put_fixed_text(f, "/row_power/found/seen", "unit", "1");
        },
        {"/row_power/found/seen: found (2, 4), that is 4 rows, expected [2 frames, 3 rows]"}},
       {"a column of texts",
        [](hid_t f) {
          put_dataset(f, "/row_power/found/seen", h5::text_type(H5T_CSET_UTF8, 4).id(), {2, 3});
          put_fixed_text(f, "/row_power/found/seen", "unit", "1");
        },
        {"/row_power/found/seen: found string, expected complex, float32"}},
       {"frames of another number",
        [](hid_t f) { put_dataset(f, "/row_power/flags", H5T_NATIVE_UINT32, {9}); },
        {"/row_power/flags: found (9,), that is 9 frames, expected [2 frames]"}},
       {"images over other axes",
        [](hid_t f) { put_fixed_text(f, "/images", "axes", "frequency,z,y,x"); },
        {"/images: found complex64 over [frequency, z, y, x], expected complex64 over [z, frequency, y, x]"}}},
      [](const std::filesystem::path& path) {
        const ResultsReader reader(path);
        for (std::uint64_t frame = 0; frame < reader.frames(1); ++frame) {
          (void)reader.read(1, frame);
        }
      });
}

// A file says how many microphones its frames are made of, which were masked, and what was missing with them.
TEST(ResultsFile, SaysWhichMicrophonesWereUsed) {
  const TempFolder folder;
  {
    ResultsWriter writer(folder / "r.h5");
    writer.begin(row_power_header(), {.frames = 3, .microphones = 64, .masked = {12}});
    for (std::uint64_t number = 0; number < 2; ++number) {
      ResultFrame made = row_power_frame(number);
      made.frame.processor = 0;
      made.frame.valid_microphones = number == 0 ? 63 : 61;
      made.frame.missing_information = 0.25F * static_cast<float>(number);
      if (number == 1) {
        writer.mask({.first_bit_time = made.frame.first_bit_time, .channels = {3, 12}});
      }
      writer.write(made.frame);
    }
    writer.finish();
  }
  {  // closed again before the file is edited
    const ResultsReader reader(folder / "r.h5");
    const std::optional<MicrophoneUse> use = reader.microphones(0);
    ASSERT_TRUE(use.has_value());
    EXPECT_EQ(text_of(*use), "61 to 63 of 64 used; 2 masked (3, 12), 1 not finite, 25 % of the information missing");
    EXPECT_EQ(reader.read(0, 1).frame.valid_microphones, 61U);
    EXPECT_EQ(reader.read(0, 1).frame.missing_information, 0.25F);
  }
  EXPECT_THAT(text_of(facts_of_file(folder / "r.h5")), HasSubstr("microphones 61 to 63 of 64 used; 2 masked (3, 12)"));
  edit(folder / "r.h5", [](hid_t file) { H5Adelete(file, "masked_microphones"); });
  EXPECT_EQ(ResultsReader(folder / "r.h5").microphones(0)->masked, std::vector<int>({3, 12})) << "found bad";
  edit(folder / "r.h5", [](hid_t file) { H5Adelete(file, "found_bad_microphones"); });
  edit(folder / "r.h5", [](hid_t file) { H5LTset_attribute_string(file, "/", "masked_microphones", "3,x"); });
  EXPECT_THROW((void)ResultsReader(folder / "r.h5").microphones(0), DataError);
  edit(folder / "r.h5", [](hid_t file) { H5Ldelete(file, "/missing_information", H5P_DEFAULT); });
  EXPECT_FALSE(ResultsReader(folder / "r.h5").microphones(0).has_value()) << "an older file";
}

}  // namespace
}  // namespace nearfield
