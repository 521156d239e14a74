//! Connections between the processes of one world: each has a TCP connection to every other one, so that nothing is
//! lost or reordered, and a heartbeat waits only for its bytes. Over DDS the processes only announce themselves and
//! their addresses.
//!
//! A frame is its length (u32, little-endian) and that many bytes. The first frame on a connection is the caller's
//! [`Hello`] as serde data in postcard's format, which the called process answers with its own. After that only the caller
//! writes: messages in the same format, compressed by zstd, after their length without compression (u32, little-endian).
//! Many bytes of a part are zeros.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use selene_coherence::NodeError;
use selene_ros::{own_address, selene_msgs};
use selene_sim::{Difference, EntityId, Fingerprint, Part, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use zstd::bulk::{Compressor, Decompressor};

/// Timeout of a call and of an answer (wall time).
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// A process that cannot be called for this long is out of reach (wall time).
const REACH_WITHIN: Duration = Duration::from_secs(5);
/// Pause between two calls (wall time).
const CALL_AGAIN: Duration = Duration::from_millis(50);
/// Maximum size of a greeting, bytes; small, since anybody may call.
const HELLO_MAX: usize = 1 << 20;
/// Maximum size of any other frame, bytes: the state of 80 km of ruts is smaller.
const FRAME_MAX: usize = 1 << 30;
/// Level of compression: more takes longer and saves little.
const ZSTD_LEVEL: i32 = 1;
thread_local! {
    // Kept, because making them takes longer than their work on a part.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(ZSTD_LEVEL).ok());
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::new().ok());
}

/// First message on a connection: identifies a process and its world.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) run: String,
    pub(super) process: String,
    pub(super) world: Fingerprint,
    /// Description of the state in which the process begins.
    pub(super) begins: String,
    /// Whether it goes on without waiting for others.
    pub(super) is_free: bool,
}

impl Hello {
    /// Why the two cannot share a world; `None` if they can.
    fn difference(&self, other: &Self) -> Option<Difference> {
        let begins = || Difference {
            part: "where it begins".to_owned(),
            ours: self.begins.clone(),
            theirs: other.begins.clone(),
        };
        let waits = || Difference {
            part: "whether it is --free".to_owned(),
            ours: self.is_free.to_string(),
            theirs: other.is_free.to_string(),
        };
        let world = self.world.difference(&other.world);
        let begins = world.or_else(|| (self.begins != other.begins).then(begins));
        begins.or_else(|| (self.is_free != other.is_free).then(waits))
    }
}

/// A message from one process to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PeerMessage {
    /// The sender's part of a heartbeat.
    Part(HeartbeatPart),
    /// The last part of another process, for a receiver that lacks it.
    Passed { process: String, part: HeartbeatPart },
    /// Which processes are gone, and whose parts of a heartbeat the sender lacks.
    LostProcesses(LostProcesses),
    /// Parts without which the sender has completed a heartbeat that the receiver still works on: an answer to `LostProcesses`.
    WentOn(LostProcesses),
    /// The other processes went on without the receiver.
    GivenUp,
    /// The world, for a receiver that joins late, and its members apart from the receiver.
    World { members: Vec<Participant>, state: Box<State> },
    /// The sender ends.
    Leaves,
}

/// One process's result of a heartbeat.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HeartbeatPart {
    /// Processes that take part from this heartbeat on; set by the leader.
    pub(super) joined: Vec<Participant>,
    pub(super) part: Part,
}

/// Which processes are gone, as one process sees it in a heartbeat. From then on it accepts nothing from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LostProcesses {
    /// Sequence number of the heartbeat.
    pub(super) sequence: u64,
    /// Members in that heartbeat that are gone.
    pub(super) processes: BTreeSet<String>,
    /// Those of them whose part of the heartbeat this process lacks.
    pub(super) lacking: BTreeSet<String>,
}

impl LostProcesses {
    /// Whether the process that states this lacks everything that is lacking in `other`, and ignores everybody who is
    /// gone there.
    pub(super) fn covers(&self, other: &Self) -> bool {
        other.processes.is_subset(&self.processes) && other.lacking.is_subset(&self.lacking)
    }
}

/// A process that takes part, and the numbers of its rovers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Participant {
    pub(super) process: String,
    pub(super) rovers: BTreeSet<EntityId>,
}

/// A message or event from another process.
pub(super) enum PeerEvent {
    Member(selene_msgs::SharedMember),
    PeerMessage {
        process: String,
        reported: PeerMessage,
    },
    /// It has connected, and has the same world.
    Called {
        process: String,
    },
    /// A connection ended.
    Closed {
        process: String,
    },
    /// It cannot be connected to.
    OutOfReach {
        process: String,
        why: String,
    },
    OtherWorld {
        process: String,
        difference: Difference,
    },
    Unreadable {
        process: String,
        what: String,
    },
}

/// All connections of one process.
pub(super) struct Streams {
    runtime: Runtime,
    own: Arc<Hello>,
    addresses: Vec<String>,
    outgoing: BTreeMap<String, Outgoing>,
    arrived: Sender<PeerEvent>,
    /// Bytes of all frames written, including their lengths but not greetings.
    sent_bytes: Arc<AtomicU64>,
    work: ExchangeWork,
}

/// Wall time spent on what processes exchange: encoding, decoding and merging, without waiting and without the network.
#[derive(Clone, Default)]
pub(super) struct ExchangeWork {
    nanos: Arc<AtomicU64>,
}

impl ExchangeWork {
    /// Counts the time of some of that work.
    pub(super) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        let nanos = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        done
    }

    /// The time of all of it, s.
    pub(super) fn total_s(&self) -> f64 {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64()
    }
}

struct Outgoing {
    /// `None` once nothing more is sent.
    frames: Option<UnboundedSender<Frame>>,
    task: JoinHandle<()>,
}

/// A frame's bytes without its length.
#[derive(Clone)]
pub(super) struct Frame(Arc<[u8]>);

impl Frame {
    fn greeting(hello: &Hello) -> Self {
        Self(serialized(hello).into())
    }

    pub(super) fn of(message: &PeerMessage) -> Self {
        let bytes = serialized(message);
        // Compressing into memory cannot fail, and a message has less than 4 GiB.
        let compressed =
            COMPRESSOR.with_borrow_mut(|of| of.as_mut().and_then(|of| of.compress(&bytes).ok())).unwrap_or_default();
        Self([&(bytes.len() as u32).to_le_bytes()[..], &compressed].concat().into())
    }
}

fn serialized(data: &impl Serialize) -> Vec<u8> {
    // Serializing plain data cannot fail.
    postcard::to_allocvec(data).unwrap_or_default()
}

impl Streams {
    /// Listens on one address or on all, on a port that the system chooses.
    pub(super) fn open(own: Hello, at: Option<IpAddr>, arrived: Sender<PeerEvent>) -> Result<Self, NodeError> {
        let failed = |error: io::Error| NodeError::SharedListener { error };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("shared-world")
            .enable_all()
            .build()
            .map_err(failed)?;
        let anywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let listener = runtime.block_on(TcpListener::bind((at.unwrap_or(anywhere), 0))).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let (own, work) = (Arc::new(own), ExchangeWork::default());
        runtime.spawn(accept(listener, Arc::clone(&own), arrived.clone(), work.clone()));
        let hosts = at.map_or_else(own_addresses, |host| vec![host]);
        let addresses = hosts.into_iter().map(|host| SocketAddr::new(host, port).to_string()).collect();
        let sent_bytes = Arc::default();
        Ok(Self { runtime, own, addresses, outgoing: BTreeMap::new(), arrived, sent_bytes, work })
    }

    /// The addresses on which it listens.
    pub(super) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Connects to a process unless that was done before; sends it `first` first.
    pub(super) fn connect(&mut self, process: &str, addresses: &[String], first: impl IntoIterator<Item = Frame>) {
        if self.outgoing.contains_key(process) {
            return;
        }
        let (frames, to_write) = unbounded_channel();
        // The receiver lives until the task begins.
        first.into_iter().for_each(|frame| drop(frames.send(frame)));
        let call = Call { own: Arc::clone(&self.own), process: process.to_owned(), addresses: addresses.to_vec() };
        let task = self.runtime.spawn(write_all(call, to_write, self.arrived.clone(), Arc::clone(&self.sent_bytes)));
        self.outgoing.insert(process.to_owned(), Outgoing { frames: Some(frames), task });
    }

    /// Bytes sent to all others together.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent_bytes.load(Ordering::Relaxed)
    }

    /// Time spent on what is exchanged.
    pub(super) fn work(&self) -> &ExchangeWork {
        &self.work
    }

    /// Sends a frame to every process.
    pub(super) fn send_all(&self, frame: &Frame) {
        // Sending to a process that is gone fails; its closed connection is reported separately.
        let open = self.outgoing.values().filter_map(|to| to.frames.as_ref());
        open.for_each(|frames| drop(frames.send(frame.clone())));
    }

    /// Sends a frame to one process.
    pub(super) fn send_message(&self, process: &str, frame: Frame) {
        if let Some(frames) = self.outgoing.get(process).and_then(|to| to.frames.as_ref()) {
            drop(frames.send(frame));
        }
    }

    /// Stops sending to a process: frames that it does not read would be kept for ever.
    pub(super) fn hang_up(&mut self, process: &str) {
        if let Some(to) = self.outgoing.get_mut(process) {
            to.frames = None;
        }
    }

    /// Waits until every process that can be reached has received everything.
    pub(super) fn close(&mut self) {
        let tasks: Vec<_> = std::mem::take(&mut self.outgoing).into_values().map(|to| to.task).collect();
        let all = async {
            for task in tasks {
                // A task that panicked has sent what it could.
                let _ = task.await;
            }
        };
        // A process that does not read within this time never will.
        let _ = self.runtime.block_on(async { timeout(ANSWER_WITHIN, all).await });
    }
}

/// Addresses at which this machine can be reached: loopback, and that of the route to other ROS 2 machines.
fn own_addresses() -> Vec<IpAddr> {
    [Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), own_address()].into_iter().flatten().collect()
}

async fn accept(listener: TcpListener, own: Arc<Hello>, arrived: Sender<PeerEvent>, work: ExchangeWork) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(read_all(stream, Arc::clone(&own), arrived.clone(), work.clone()));
            }
            Err(error) => {
                tracing::warn!("another process of this world cannot be taken in: {error}");
                sleep(CALL_AGAIN).await;
            }
        }
    }
}

/// Receives all messages of a caller.
async fn read_all(mut stream: TcpStream, own: Arc<Hello>, arrived: Sender<PeerEvent>, work: ExchangeWork) {
    // A stranger, or a process with another protocol.
    let Ok(Ok(caller)) = timeout(ANSWER_WITHIN, answer(&mut stream, &own)).await else { return };
    let (difference, process) = (own.difference(&caller), caller.process);
    if let Some(difference) = difference {
        // Sending fails only when the node has ended, here and below.
        return drop(arrived.send(PeerEvent::OtherWorld { process, difference }));
    }
    drop(arrived.send(PeerEvent::Called { process: process.clone() }));
    loop {
        let read = read_bytes(&mut stream, FRAME_MAX).await;
        let next = match read.and_then(|bytes| work.time(|| message(&bytes))) {
            Ok(reported) => PeerEvent::PeerMessage { process: process.clone(), reported },
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return drop(arrived.send(PeerEvent::Unreadable { process, what: error.to_string() }));
            }
            Err(_) => return drop(arrived.send(PeerEvent::Closed { process })),
        };
        if arrived.send(next).is_err() {
            return;
        }
    }
}

async fn answer(stream: &mut TcpStream, own: &Hello) -> io::Result<Hello> {
    let caller = read_hello(stream).await?;
    if caller.run != own.run {
        return Err(io::Error::other("of another run"));
    }
    write_frame(stream, &Frame::greeting(own)).await?;
    Ok(caller)
}

/// The process to connect to.
struct Call {
    own: Arc<Hello>,
    process: String,
    addresses: Vec<String>,
}

impl Call {
    /// Calls repeatedly until the process answers.
    async fn reach(&self) -> Result<(TcpStream, Hello), String> {
        let begun = Instant::now();
        loop {
            let mut why = String::new();
            for address in &self.addresses {
                match timeout(ANSWER_WITHIN, self.greet(address)).await {
                    Ok(Ok(answered)) => return Ok(answered),
                    Ok(Err(error)) => why = format!("{address}: {error}"),
                    Err(_) => why = format!("{address}: no answer"),
                }
            }
            if begun.elapsed() >= REACH_WITHIN {
                return Err(why);
            }
            sleep(CALL_AGAIN).await;
        }
    }

    async fn greet(&self, address: &str) -> io::Result<(TcpStream, Hello)> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        write_frame(&mut stream, &Frame::greeting(&self.own)).await?;
        let answered = read_hello(&mut stream).await?;
        // The same port on another machine may belong to another program.
        let is_the_one = answered.run == self.own.run && answered.process == self.process;
        if is_the_one { Ok((stream, answered)) } else { Err(io::Error::other("another process answers")) }
    }
}

/// Sends a process all its messages, in order.
async fn write_all(
    call: Call,
    mut frames: UnboundedReceiver<Frame>,
    arrived: Sender<PeerEvent>,
    sent_bytes: Arc<AtomicU64>,
) {
    let (mut stream, answered) = match call.reach().await {
        Ok(answered) => answered,
        Err(why) => return drop(arrived.send(PeerEvent::OutOfReach { process: call.process, why })),
    };
    // Both processes notice a difference, whoever calls first; the other may already have ended.
    if let Some(difference) = call.own.difference(&answered) {
        return drop(arrived.send(PeerEvent::OtherWorld { process: call.process, difference }));
    }
    while let Some(frame) = frames.recv().await {
        // Messages sent before come first: the end of the peer's own connection reports that it is gone.
        if write_frame(&mut stream, &frame).await.is_err() {
            return;
        }
        sent_bytes.fetch_add((size_of::<u32>() + frame.0.len()) as u64, Ordering::Relaxed);
    }
    // Dropping the stream closes it even if this fails.
    let _ = stream.shutdown().await;
}

async fn write_frame(stream: &mut TcpStream, Frame(bytes): &Frame) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    // Small frames are written at once, so that the network sends them in one piece.
    if bytes.len() <= 1024 {
        return stream.write_all(&[&length.to_le_bytes()[..], bytes].concat()).await;
    }
    stream.write_all(&length.to_le_bytes()).await?;
    stream.write_all(bytes).await
}

/// Reads a greeting; `InvalidData` if this version cannot.
async fn read_hello(stream: &mut TcpStream) -> io::Result<Hello> {
    decode(&read_bytes(stream, HELLO_MAX).await?)
}

async fn read_bytes(stream: &mut TcpStream, bytes_max: usize) -> io::Result<Vec<u8>> {
    let length = stream.read_u32_le().await? as usize;
    if length > bytes_max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut bytes = Vec::new();
    if stream.take(length as u64).read_to_end(&mut bytes).await? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// The message in the bytes of a frame; `InvalidData` if this version cannot read it.
fn message(frame: &[u8]) -> io::Result<PeerMessage> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let (length, compressed) = frame.split_first_chunk().ok_or_else(|| invalid("a frame without a length"))?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > FRAME_MAX {
        return Err(invalid(&format!("a message of {length} bytes")));
    }
    let bytes = DECOMPRESSOR.with_borrow_mut(|of| of.as_mut().map(|of| of.decompress(compressed, length)));
    let bytes = bytes.ok_or_else(|| invalid("no memory"))?.map_err(|error| invalid(&error.to_string()))?;
    if bytes.len() != length {
        return Err(invalid(&format!("a message of {} bytes that claims {length}", bytes.len())));
    }
    decode(&bytes)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
