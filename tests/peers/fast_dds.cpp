// A Fast DDS participant with its default profile, as rmw_fastrtps has it: what `ros2 topic echo`, `ros2 topic hz`
// and `ros2 topic pub --once` do on a machine that was installed and not tuned.
//
//   fast_dds listen DOMAIN SECONDS (TOPIC TYPE best_effort|reliable)...
//     prints a line a topic: its name, samples received, samples sent between the first and the last of them
//   fast_dds once DOMAIN TOPIC TYPE VALUE
//     waits for a subscriber, publishes a float64, stays a tenth of a second and is gone
//
// Payloads are CDR bytes as they come; nothing here knows the types.

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
using eprosima::fastrtps::rtps::SerializedPayload_t;
using std::chrono::steady_clock;

namespace {

using Bytes = std::vector<uint8_t>;

class AnyType : public TopicDataType {
public:
  explicit AnyType(const std::string &name) {
    setName(name.c_str());
    m_typeSize = 32u << 20;
    m_isGetKeyDefined = false;
    auto_fill_type_object(false);
    auto_fill_type_information(false);
  }
  bool serialize(void *data, SerializedPayload_t *payload) override {
    const auto &bytes = *static_cast<Bytes *>(data);
    std::memcpy(payload->data, bytes.data(), bytes.size());
    payload->length = static_cast<uint32_t>(bytes.size());
    return true;
  }
  bool deserialize(SerializedPayload_t *payload, void *data) override {
    static_cast<Bytes *>(data)->assign(payload->data, payload->data + payload->length);
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void *data) override {
    return [data] { return static_cast<uint32_t>(static_cast<Bytes *>(data)->size()); };
  }
  void *createData() override { return new Bytes; }
  void deleteData(void *data) override { delete static_cast<Bytes *>(data); }
  bool getKey(void *, InstanceHandle_t *, bool) override { return false; }
};

// The listener only says that there is something, as rmw_fastrtps does; another thread takes it.
class Ear : public DataReaderListener {
public:
  std::string topic;
  DataReader *reader = nullptr;
  long long received = 0, first = 0, last = 0;

  void on_data_available(DataReader *) override { something_came = true; }

  void take() {
    if (!something_came.exchange(false)) return;
    Bytes bytes;
    SampleInfo info;
    while (reader->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK) {
      if (!info.valid_data) continue;
      const auto number = static_cast<long long>(info.sample_identity.sequence_number().to64long());
      if (received++ == 0) first = number;
      last = std::max(last, number);
    }
  }

private:
  std::atomic<bool> something_came{false};
};

class Match : public DataWriterListener {
public:
  std::atomic<bool> is_there{false};
  void on_publication_matched(DataWriter *, const PublicationMatchedStatus &status) override {
    is_there = status.current_count > 0;
  }
};

DomainParticipant *join(const char *domain) {
  return DomainParticipantFactory::get_instance()->create_participant(std::atoi(domain), PARTICIPANT_QOS_DEFAULT);
}

Topic *topic_of(DomainParticipant *participant, const char *name, const char *type_name) {
  TypeSupport type(new AnyType(type_name));
  participant->register_type(type);
  return participant->create_topic(name, type_name, TOPIC_QOS_DEFAULT);
}

int listen(int count, char **args) {
  auto *participant = join(args[0]);
  auto *subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
  std::vector<std::unique_ptr<Ear>> ears;
  for (int i = 2; i + 2 < count; i += 3) {
    const bool is_reliable = std::strcmp(args[i + 2], "reliable") == 0;
    DataReaderQos qos = DATAREADER_QOS_DEFAULT;
    qos.reliability().kind = is_reliable ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    qos.history().kind = KEEP_LAST_HISTORY_QOS;
    qos.history().depth = is_reliable ? 10 : 5;
    qos.endpoint().history_memory_policy = PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    auto ear = std::make_unique<Ear>();
    ear->topic = args[i];
    ear->reader = subscriber->create_datareader(topic_of(participant, args[i], args[i + 1]), qos, ear.get());
    ears.push_back(std::move(ear));
  }
  const auto end = steady_clock::now() + std::chrono::duration<double>(std::atof(args[1]));
  while (steady_clock::now() < end) {
    for (auto &ear : ears) ear->take();
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  for (auto &ear : ears) {
    std::printf("%s %lld %lld\n", ear->topic.c_str(), ear->received, ear->received ? ear->last - ear->first + 1 : 0);
  }
  std::fflush(stdout);
  // Gone without a goodbye, as a process that was killed.
  std::_Exit(0);
}

int once(char **args) {
  auto *participant = join(args[0]);
  auto *publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
  DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
  qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
  qos.history().kind = KEEP_LAST_HISTORY_QOS;
  qos.history().depth = 10;
  qos.endpoint().history_memory_policy = PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  Match match;
  auto *writer = publisher->create_datawriter(topic_of(participant, args[1], args[2]), qos, &match);
  while (!match.is_there) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Bytes message(12);
  message[1] = 1;  // little-endian CDR
  const double value = std::atof(args[3]);
  std::memcpy(&message[4], &value, sizeof value);
  writer->write(&message);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::_Exit(0);
}

}  // namespace

int main(int count, char **args) {
  if (count > 3 && std::strcmp(args[1], "listen") == 0) return listen(count - 2, args + 2);
  if (count == 6 && std::strcmp(args[1], "once") == 0) return once(args + 2);
  std::fprintf(stderr, "usage: see the top of fast_dds.cpp\n");
  return 2;
}
