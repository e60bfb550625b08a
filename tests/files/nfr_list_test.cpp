#include "files/nfr/nfr_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "files/files.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "support/command.hpp"
#include "support/recorded_bits.hpp"

namespace nearfield::nfr {
namespace {

using testing::SizeIs;

class ListedRecordings : public testing::Test {
 protected:
  /// Written `minutes` ago.
  void write(const std::string& name, int minutes, const std::string& notes = "") {
    test::write_recording_of_bits(folder_ / name, test::kRecordedSettings, 15'000, notes);
    age(name, minutes);
  }
  void age(const std::string& name, int minutes) {
    std::filesystem::last_write_time(folder_ / name, now_ - std::chrono::minutes(minutes));
  }
  test::TemporaryFolder folder_;
  const std::filesystem::file_time_type now_ = std::filesystem::file_time_type::clock::now();
};

TEST_F(ListedRecordings, AreTheNewestFirstWithWhatTheirEndsSay) {
  write("old.nfr", 20);
  write("new.nfr", 1, "pump 3, after the repair");
  write("cut.nfr", 10);
  std::filesystem::resize_file(folder_ / "cut.nfr", 4000);
  age("cut.nfr", 10);
  std::ofstream(folder_ / "noise.nfr") << std::string(1000, 'x');
  age("noise.nfr", 30);
  std::ofstream(folder_ / "empty.nfr") << "";
  age("empty.nfr", 40);
  std::ofstream(folder_ / "other.h5") << "no recording";
  std::filesystem::create_symlink("new.nfr", folder_ / "link.nfr");
  const RecordingList list = list_recordings(folder_.path(), 10);
  ASSERT_THAT(list.recordings, SizeIs(5));
  EXPECT_TRUE(list.is_whole);
  const ListedRecording& newest = list.recordings[0];
  EXPECT_EQ(newest.path, folder_ / "new.nfr");
  EXPECT_EQ(newest.bytes, std::filesystem::file_size(folder_ / "new.nfr"));
  EXPECT_EQ(newest.notes, "pump 3, after the repair");
  EXPECT_EQ(newest.reason, "stopped");
  EXPECT_EQ(newest.seconds, 0.01);  // 15,000 bit-times at 1.5 MHz
  EXPECT_EQ(newest.began_tai_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(list.recordings[1].path, folder_ / "cut.nfr");
  EXPECT_TRUE(list.recordings[1].is_sound);
  EXPECT_FALSE(list.recordings[1].reason);
  EXPECT_EQ(list.recordings[2].notes, "");
  EXPECT_FALSE(list.recordings[3].is_sound);
  EXPECT_EQ(list.recordings[4].bytes, 0U);
}

TEST_F(ListedRecordings, NoMoreThanAskedForAreOpened) {
  for (int i = 0; i < 5; ++i) {
    write("take" + std::to_string(i) + ".nfr", 10 - i);
  }
  const RecordingList list = list_recordings(folder_.path(), 2);
  EXPECT_EQ(list.found, 5U);
  ASSERT_THAT(list.recordings, SizeIs(2));
  EXPECT_EQ(list.recordings[0].path, folder_ / "take4.nfr");
  EXPECT_EQ(list.recordings[1].path, folder_ / "take3.nfr");
  EXPECT_THAT(list_recordings(folder_ / "none", 2).recordings, SizeIs(0));
}

TEST_F(ListedRecordings, NotesAreInTheDescriptionWithoutControlCharacters) {
  write("a.nfr", 0, "first line\nsecond \x1b[31mline");
  std::vector<std::string> notes;
  for (const FileFact& fact : facts_of_file(folder_ / "a.nfr")) {
    if (fact.name == "notes") {
      notes.push_back(fact.text);
    }
  }
  EXPECT_EQ(notes, std::vector<std::string>{"first line second  [31mline"});
  EXPECT_EQ(Reader(std::filesystem::path(folder_ / "a.nfr")).info().notes, "first line\nsecond \x1b[31mline");
}

}  // namespace
}  // namespace nearfield::nfr
