#include "control/socket/protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"

namespace nearfield::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A daemon that records its requests.
struct Daemon {
  std::vector<std::string> set;
  RecordRequest record;
  std::string frozen = "nothing";
  int stops = 0;

  Handlers handlers() {
    Actions actions;
    actions.status = [] { return json{{"epoch", 3}}; };
    actions.config = [] { return json{{"yaml", "version: 1\n"}}; };
    actions.set = [this](const std::vector<std::string>& overrides) {
      set = overrides;
      return json{{"epoch", 4}};
    };
    actions.reload = []() -> json { throw ConfigError("a.yaml:3: array.rows: wrong\nsecond"); };
    actions.record = [this](const RecordRequest& request) {
      record = request;
      return json::object();
    };
    actions.freeze = [this](const std::string& name) {
      frozen = name;
      return json::object();
    };
    actions.stop = [this] {
      ++stops;
      return json::object();
    };
    return make_handlers(actions);
  }
  json call(const std::string& line) {
    const std::string reply = answer(line, handlers());
    EXPECT_EQ(reply.find('\n'), reply.size() - 1) << reply;
    return json::parse(reply);
  }
  /// The message of a refusal with this code.
  std::string refused(const std::string& line, ExitCode code = ExitCode::kUsage) {
    const json reply = call(line);
    EXPECT_EQ(reply["ok"], false) << reply;
    EXPECT_EQ(reply["error"]["exit_code"], static_cast<int>(code)) << reply;
    return reply["error"]["message"];
  }
};

TEST(Protocol, AnswersWithTheAskersId) {
  Daemon daemon;
  for (const std::string id : {"7", "\"a\"", "null", "-1", "18446744073709551615"}) {
    const json reply = daemon.call(R"({"command": "status", "id": )" + id + "}");
    EXPECT_EQ(reply["id"], json::parse(id));
    EXPECT_EQ(reply["ok"], true);
    EXPECT_EQ(reply["result"]["epoch"], 3);
  }
  EXPECT_TRUE(daemon.call(R"({"command": "status"})")["id"].is_null());
  EXPECT_EQ(daemon.call(R"({"command": "nonsense", "id": 9})")["id"], 9);
}

TEST(Protocol, PassesSettingsOn) {
  Daemon daemon;
  EXPECT_EQ(daemon.call(R"({"command": "set", "settings": ["a.b=1", "c=[1, 2]"]})")["result"]["epoch"], 4);
  EXPECT_THAT(daemon.set, ElementsAre("a.b=1", "c=[1, 2]"));
}

TEST(Protocol, PassesRecordingsOn) {
  Daemon daemon;
  daemon.call(
      R"({"command": "record", "action": "arm", "bits": true, "images": false, "seconds": 2, "name": "run-1"})");
  EXPECT_EQ(daemon.record.action, RecordRequest::Action::kArm);
  EXPECT_EQ(daemon.record.bits, true);
  EXPECT_EQ(daemon.record.images, false);
  EXPECT_EQ(daemon.record.seconds, 2.0);
  EXPECT_EQ(daemon.record.name, "run-1");
  daemon.call(R"({"command": "record", "action": "arm", "notes": "pump 3\nafter the repair \u2713"})");
  EXPECT_EQ(daemon.record.notes, "pump 3\nafter the repair \u2713");
  daemon.call(R"({"command": "record", "action": "stop"})");
  EXPECT_EQ(daemon.record.action, RecordRequest::Action::kStop);
  EXPECT_EQ(daemon.record.bits, std::nullopt);
  EXPECT_EQ(daemon.record.name, "");
}

TEST(Protocol, PassesFreezesOn) {
  Daemon daemon;
  EXPECT_EQ(daemon.call(R"({"command": "freeze", "name": "second-look"})")["ok"], true);
  EXPECT_EQ(daemon.frozen, "second-look");
  EXPECT_EQ(daemon.call(R"({"command": "freeze"})")["ok"], true);
  EXPECT_EQ(daemon.frozen, "");
  EXPECT_THAT(daemon.refused(R"({"command": "freeze", "name": "../x"})"), HasSubstr("name: expected 1 to 100 letters"));
  EXPECT_THAT(daemon.refused(R"({"command": "freeze", "seconds": 1})"), HasSubstr("seconds: unknown field"));
}

TEST(Protocol, HandsTheDaemonsErrorsOn) {
  Daemon daemon;
  EXPECT_EQ(daemon.refused(R"({"command": "reload"})", ExitCode::kBadConfig), "a.yaml:3: array.rows: wrong\nsecond");
  Handlers broken;
  broken["status"] = [](const json&) -> json { throw std::runtime_error("oops \xff"); };
  const json reply = json::parse(answer(R"({"command": "status"})", broken));
  EXPECT_EQ(reply["error"]["exit_code"], static_cast<int>(ExitCode::kInternal));
  EXPECT_THAT(reply["error"]["message"].get<std::string>(), HasSubstr("internal error: oops"));
}

TEST(Protocol, RefusesWrongFields) {
  Daemon daemon;
  EXPECT_THAT(
      daemon.refused(R"({"command": "statsu"})"),
      HasSubstr(
          "command: expected one of config, freeze, record, reload, set, status, stop, found \"statsu\"; did you mean "
          "status?"));
  EXPECT_THAT(daemon.refused(R"({})"), HasSubstr("command: expected one of"));
  EXPECT_THAT(daemon.refused(R"({"command": ["status"]})"), HasSubstr("command: expected one of"));
  EXPECT_THAT(daemon.refused(R"({"command": "status", "id": 1.5})"), HasSubstr("id: expected an integer"));
  EXPECT_THAT(daemon.refused(R"({"command": "status", "id": ")" + std::string(200, 'x') + "\"}"), HasSubstr("id: "));
  EXPECT_THAT(daemon.refused(R"({"command": "stop", "now": true})"), HasSubstr("now: unknown field"));
  EXPECT_EQ(daemon.stops, 0);
  EXPECT_THAT(daemon.refused(R"({"command": "set", "setings": []})"), HasSubstr("did you mean settings?"));
  for (const char* settings : {"[]", "\"a=1\"", "[1]", "null", "{}"}) {
    EXPECT_THAT(daemon.refused(R"({"command": "set", "settings": )" + std::string(settings) + "}"),
                HasSubstr("settings: expected 1 to 256 texts KEY=VALUE, found"));
  }
  const auto record = [&](const std::string& fields) {
    return daemon.refused(R"({"command": "record", )" + fields + "}");
  };
  EXPECT_THAT(record(R"("action": "go")"), HasSubstr("action: expected one of start, stop, arm, trigger, found"));
  EXPECT_THAT(record(R"("action": 1)"), HasSubstr("action: expected one of"));
  EXPECT_THAT(record(R"("action": "stop", "seconds": 1)"), HasSubstr("seconds: unknown field"));
  EXPECT_THAT(record(R"("action": "start", "bits": 1)"), HasSubstr("bits: expected true or false, found 1"));
  EXPECT_THAT(record(R"("action": "start", "bits": false, "images": false)"), HasSubstr("at least one"));
  for (const char* seconds : {"0", "-1", "1e8", "\"5\"", "null"}) {
    EXPECT_THAT(record(R"("action": "start", "seconds": )" + std::string(seconds)), HasSubstr("seconds: expected"));
  }
  for (const char* name : {"../x", "a/b", "", ".hidden", "-rf", "--", "a b", "a\\u0000b"}) {
    EXPECT_THAT(record(R"("action": "start", "name": ")" + std::string(name) + "\""), HasSubstr("name: expected"));
  }
  const std::string notes = "notes: expected a text of at most 4096 bytes of UTF-8, found ";
  EXPECT_THAT(record(R"("action": "arm", "notes": 1)"), HasSubstr(notes + "1"));
  EXPECT_THAT(record(R"("action": "arm", "notes": ")" + std::string(4097, 'x') + "\""),
              HasSubstr(notes + "4097 bytes"));
  EXPECT_THAT(record(R"("action": "stop", "notes": "x")"), HasSubstr("notes: unknown field"));
}

TEST(Protocol, SurvivesWhatIsNoRequest) {
  Daemon daemon;
  for (const std::string& line : {std::string(), std::string("x"), std::string("[]"), std::string("\"\xff\""),
                                  std::string("{\"command\": \"status\xc3\"}"), std::string("1e999"),
                                  std::string("{\"command\": 1e999}"), std::string("{} {}"), std::string("\0{}", 3),
                                  std::string("{\"command\": \"status\", \"id\": 1e400}"), std::string("null")}) {
    EXPECT_THAT(daemon.refused(line), HasSubstr("request: expected")) << testing::PrintToString(line);
  }
  EXPECT_THAT(daemon.refused(std::string(kMostRequestBytes, '[')), HasSubstr("at most 16 levels"));
  std::string deep;
  for (int i = 0; i < 10000; ++i) {
    deep += "{\"a\":";
  }
  EXPECT_THAT(daemon.refused(deep), HasSubstr("at most 16 levels"));
  EXPECT_LT(daemon.refused("[\"" + std::string(60000, 'x') + "\"]").size(), 300U);
}

}  // namespace
}  // namespace nearfield::control
