// Sends or receives the load of docs/performance.md, "Sending images, clouds and IMU readings", with Cyclone DDS:
// 1280×720 mono16 at 30 Hz, clouds of 64 × 1024 points at 10 Hz and IMU readings at 400 Hz.
//   load send|receive SECONDS reliable|best
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "dds/dds.h"
#include "load.h"

enum { IMAGES, CLOUDS, IMU, TOPICS };
// Ticks of 1/1200 s between two messages.
static const int EVERY[TOPICS] = {40, 120, 3};
static const double TICKS_PER_S = 1200;
static const char *const TOPIC[TOPICS] = {"rt/load/image", "rt/load/points", "rt/load/imu"};
#define LATENCIES_MAX 4000000

static double processor_s(void) {
  struct rusage r;
  getrusage(RUSAGE_SELF, &r);
  return r.ru_utime.tv_sec + r.ru_stime.tv_sec + 1e-6 * (r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static dds_qos_t *qos(int reliable) {
  dds_qos_t *q = dds_create_qos();
  dds_qset_reliability(q, reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(1));
  dds_qset_history(q, DDS_HISTORY_KEEP_LAST, reliable ? 10 : 5);
  const dds_data_representation_id_t xcdr1 = DDS_DATA_REPRESENTATION_XCDR1;
  dds_qset_data_representation(q, 1, &xcdr1);
  return q;
}

// A writer or reader of each topic; ends the program if one cannot be made.
static void open_topics(dds_entity_t participant, int sends, int reliable, dds_entity_t endpoints[TOPICS]) {
  const dds_topic_descriptor_t *types[TOPICS] = {
      &sensor_msgs_msg_dds__Image__desc, &sensor_msgs_msg_dds__PointCloud2__desc, &sensor_msgs_msg_dds__Imu__desc};
  for (int i = 0; i < TOPICS; i++) {
    dds_entity_t topic = dds_create_topic(participant, types[i], TOPIC[i], NULL, NULL);
    endpoints[i] = sends ? dds_create_writer(participant, topic, qos(reliable), NULL)
                         : dds_create_reader(participant, topic, qos(reliable), NULL);
    if (topic < 0 || endpoints[i] < 0) {
      fprintf(stderr, "topic %s cannot be opened\n", TOPIC[i]);
      exit(1);
    }
  }
}

static void *filled(size_t bytes) { return memset(malloc(bytes), 7, bytes); }

static void sleep_until(struct timespec begin, double after_s) {
  long ns = begin.tv_nsec + (long)(after_s * 1e9) % 1000000000L;
  struct timespec at = {begin.tv_sec + (long)after_s + ns / 1000000000L, ns % 1000000000L};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void send_load(const dds_entity_t writers[TOPICS], double seconds) {
  sensor_msgs_msg_dds__Image_ image = {.width = 1280, .height = 720, .step = 2560, .encoding = "mono16"};
  image.header.frame_id = "";
  image.data._length = image.data._maximum = 1280 * 720 * 2;
  image.data._buffer = filled(image.data._length);
  sensor_msgs_msg_dds__PointCloud2_ cloud = {.width = 1024, .height = 64, .point_step = 22, .row_step = 22 * 1024};
  cloud.header.frame_id = "";
  cloud.data._length = cloud.data._maximum = 64 * 1024 * 22;
  cloud.data._buffer = filled(cloud.data._length);
  sensor_msgs_msg_dds__Imu_ imu = {0};
  imu.header.frame_id = "";
  const void *messages[TOPICS] = {&image, &cloud, &imu};
  long sent[TOPICS] = {0};
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  double before_s = processor_s();
  for (long tick = 0; tick / TICKS_PER_S <= seconds; tick++) {
    sleep_until(begin, tick / TICKS_PER_S);
    for (int i = 0; i < TOPICS; i++) {
      if (tick % EVERY[i] == 0) {
        dds_write(writers[i], messages[i]);
        sent[i]++;
      }
    }
  }
  printf("sent %ld images, %ld clouds, %ld IMU readings; %.3f of a core\n", sent[IMAGES], sent[CLOUDS], sent[IMU],
         (processor_s() - before_s) / seconds);
  dds_sleepfor(DDS_SECS(1));
}

static double *latency_ms[TOPICS];
static size_t received[TOPICS];

static void take(dds_entity_t reader, int topic) {
  void *samples[16] = {0};
  dds_sample_info_t infos[16];
  int count;
  while ((count = dds_take(reader, samples, infos, 16, 16)) > 0) {
    dds_time_t now = dds_time();
    for (int i = 0; i < count; i++) {
      if (infos[i].valid_data && received[topic] < LATENCIES_MAX) {
        latency_ms[topic][received[topic]++] = (now - infos[i].source_timestamp) * 1e-6;
      }
    }
    dds_return_loan(reader, samples, count);
  }
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(int topic) {
  size_t count = received[topic];
  double *ms = latency_ms[topic];
  if (count == 0) {
    printf("%s: none\n", TOPIC[topic]);
    return;
  }
  qsort(ms, count, sizeof *ms, ascending);
  printf("%s: %zu received, latency p50 %.3f p99 %.3f max %.3f ms\n", TOPIC[topic], count, ms[count / 2],
         ms[(size_t)(count * 0.99)], ms[count - 1]);
}

static void receive_load(dds_entity_t participant, const dds_entity_t readers[TOPICS], double seconds) {
  dds_entity_t waits = dds_create_waitset(participant);
  for (int i = 0; i < TOPICS; i++) {
    latency_ms[i] = malloc(sizeof(double) * LATENCIES_MAX);
    dds_waitset_attach(waits, dds_create_readcondition(readers[i], DDS_ANY_STATE), i);
  }
  dds_time_t end = dds_time() + (dds_time_t)(seconds * 1e9);
  while (dds_time() < end) {
    dds_attach_t woken[TOPICS];
    dds_waitset_wait(waits, woken, TOPICS, DDS_MSECS(200));
    for (int i = 0; i < TOPICS; i++) take(readers[i], i);
  }
  for (int i = 0; i < TOPICS; i++) report(i);
}

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: load send|receive SECONDS reliable|best\n");
    return 2;
  }
  int sends = !strcmp(arguments[1], "send"), reliable = !strcmp(arguments[3], "reliable");
  const char *domain = getenv("ROS_DOMAIN_ID");
  dds_entity_t participant = dds_create_participant(domain ? atoi(domain) : 0, NULL, NULL);
  dds_entity_t endpoints[TOPICS];
  open_topics(participant, sends, reliable, endpoints);
  if (sends) send_load(endpoints, atof(arguments[2]));
  else receive_load(participant, endpoints, atof(arguments[2]));
  return 0;
}
