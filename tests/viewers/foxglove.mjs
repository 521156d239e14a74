// Foxglove's own client and message reader on a running Selene: subscribes to every topic, decodes every message by its
// advertised schema until the run ends, and prints the number of messages of each topic as JSON.
//
//   node foxglove.mjs MODULES ADDRESS TOPIC...
//
// MODULES is a folder with the npm packages that tests/viewers.sh installs; of each TOPIC there must be a message.

import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [modules, address, ...expected] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), "package.json"));
const { FoxgloveClient } = load("@foxglove/ws-protocol");
const { parse } = load("@foxglove/rosmsg");
const { MessageReader } = load("@foxglove/rosmsg2-serialization");
const WebSocket = load("ws");

const client = new FoxgloveClient({ ws: new WebSocket(`ws://${address}`, [FoxgloveClient.SUPPORTED_SUBPROTOCOL]) });
const subscribed = new Map(); // subscription → { topic, reader, messages }
let time_ns = 0n;

function fail(what) {
  console.error(what);
  process.exit(1);
}

// What Foxglove's panels would stumble over in a message that can be decoded.
function check({ topic, schemaName }, message) {
  if (schemaName === "sensor_msgs/msg/Image" && message.data.length !== message.step * message.height) {
    fail(`${topic}: ${message.data.length} bytes in ${message.height} rows of ${message.step}`);
  }
  if (schemaName === "tf2_msgs/msg/TFMessage" && message.transforms.length === 0) {
    fail(`${topic}: no transform`);
  }
}

client.on("error", (error) => fail(`the connection failed: ${error.message ?? error}`));
client.on("status", ({ message }) => fail(`the server reports: ${message}`));
client.on("time", ({ timestamp }) => {
  if (timestamp < time_ns) fail(`time goes back from ${time_ns} to ${timestamp} ns`);
  time_ns = timestamp;
});
client.on("advertise", (channels) => {
  for (const channel of channels) {
    const reader = new MessageReader(parse(channel.schema, { ros2: true }));
    subscribed.set(client.subscribe(channel.id), { channel, reader, messages: 0 });
  }
});
client.on("message", ({ subscriptionId, data }) => {
  const topic = subscribed.get(subscriptionId);
  check(topic.channel, topic.reader.readMessage(data));
  topic.messages += 1;
});
client.on("close", () => {
  const counts = Object.fromEntries([...subscribed.values()].map(({ channel, messages }) => [channel.topic, messages]));
  console.log(JSON.stringify({ time_ns: Number(time_ns), topics: counts }));
  const missing = expected.filter((topic) => !counts[topic]);
  if (missing.length) fail(`no message of ${missing.join(", ")}`);
});
