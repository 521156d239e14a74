//! How the processes of one world talk: each keeps a TCP connection to each other one, so that nothing is lost
//! or changes its order, and a heartbeat waits for nothing but its bytes. Over DDS they only say that they are
//! there and where they listen.
//!
//! A frame is its length (u32, little-endian) and as many bytes: serde in postcard's format. The first frame of a
//! connection is the caller's [`Greeting`], and the called one answers with its own. After it the caller alone
//! writes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use selene_coherence::NodeError;
use selene_ros::selene_msgs;
use selene_sim::{Difference, EntityId, Fingerprint, Part, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A call or an answer that takes longer fails (wall time).
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// A process that cannot be called for so long is out of reach (wall time).
const REACH_WITHIN: Duration = Duration::from_secs(5);
/// Between two calls (wall time).
const CALL_AGAIN: Duration = Duration::from_millis(50);
/// Bytes of a greeting at most: strangers may call.
const GREETING_MAX: usize = 1 << 20;
/// Bytes of any other frame at most: the state of 80 km of ruts is smaller.
const FRAME_MAX: usize = 1 << 30;
/// Where ROS 2 processes find each other; a route to there is a route to them.
const DISCOVERY: (Ipv4Addr, u16) = (Ipv4Addr::new(239, 255, 0, 1), 7400);

/// Who a process is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) run: String,
    pub(super) process: String,
    pub(super) world: Fingerprint,
    /// Where in it the process begins.
    pub(super) begins: String,
    /// Whether it goes on without waiting for others.
    pub(super) is_free: bool,
}

impl Greeting {
    /// Why the two cannot be of one world.
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

/// What one process tells another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// What it did in a heartbeat.
    Part(ToldPart),
    /// What another process did last, for one that lacks it.
    Passed { process: String, part: ToldPart },
    /// Who is gone, and whose parts of a heartbeat it lacks.
    Gone(Gone),
    /// What it went on without from a heartbeat that the process which is told still makes: an answer to `Gone`.
    WentOn(Gone),
    /// The others went on without the process that is told.
    GivenUp,
    /// The world, for one that joins late, and who takes part in it beside that one.
    World { members: Vec<Taking>, state: Box<State> },
    /// It ends.
    Leaves,
}

/// What a process did in a heartbeat.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ToldPart {
    /// Processes that take part from this heartbeat on, told by the one that leads.
    pub(super) joined: Vec<Taking>,
    pub(super) part: Part,
}

/// Who is gone, as one process sees it in a heartbeat. It takes nothing from them from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gone {
    /// The heartbeat.
    pub(super) sequence: u64,
    /// Those who took part in it and are gone.
    pub(super) processes: BTreeSet<String>,
    /// Those of them whose part of it this process lacks.
    pub(super) lacking: BTreeSet<String>,
}

impl Gone {
    /// Whether who says this lacks all that is lacking in `other`, and takes nothing from anybody who is gone there.
    pub(super) fn covers(&self, other: &Self) -> bool {
        other.processes.is_subset(&self.processes) && other.lacking.is_subset(&self.lacking)
    }
}

/// A process that takes part, and the numbers of its rovers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Taking {
    pub(super) process: String,
    pub(super) rovers: BTreeSet<EntityId>,
}

/// What came in.
pub(super) enum Arrived {
    Member(selene_msgs::SharedMember),
    Told {
        process: String,
        told: Told,
    },
    /// It has called, and is of this world.
    Called {
        process: String,
    },
    /// A connection ended.
    Closed {
        process: String,
    },
    /// It cannot be called.
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

/// The connections of one process.
pub(super) struct Streams {
    runtime: Runtime,
    own: Arc<Greeting>,
    addresses: Vec<String>,
    outgoing: BTreeMap<String, Outgoing>,
    arrived: Sender<Arrived>,
    /// Bytes of all frames that were written, with their lengths; greetings are not counted.
    told_bytes: Arc<AtomicU64>,
}

struct Outgoing {
    /// None once nothing more is told.
    frames: Option<UnboundedSender<Frame>>,
    task: JoinHandle<()>,
}

/// A frame's bytes without its length.
#[derive(Clone)]
pub(super) struct Frame(Arc<[u8]>);

impl Frame {
    pub(super) fn of(told: &impl Serialize) -> Self {
        // Plain data can always be written.
        Self(postcard::to_allocvec(told).unwrap_or_default().into())
    }
}

impl Streams {
    /// Listens at one address or at all, on a port that the system chooses.
    pub(super) fn open(own: Greeting, at: Option<IpAddr>, arrived: Sender<Arrived>) -> Result<Self, NodeError> {
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
        let own = Arc::new(own);
        runtime.spawn(accept(listener, Arc::clone(&own), arrived.clone()));
        let hosts = at.map_or_else(own_addresses, |host| vec![host]);
        let addresses = hosts.into_iter().map(|host| SocketAddr::new(host, port).to_string()).collect();
        let told_bytes = Arc::default();
        Ok(Self { runtime, own, addresses, outgoing: BTreeMap::new(), arrived, told_bytes })
    }

    /// Where it listens.
    pub(super) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Calls a process that was not called before; it is told `first` first.
    pub(super) fn connect(&mut self, process: &str, addresses: &[String], first: impl IntoIterator<Item = Frame>) {
        if self.outgoing.contains_key(process) {
            return;
        }
        let (frames, to_write) = unbounded_channel();
        // The receiver lives until the task begins.
        first.into_iter().for_each(|frame| drop(frames.send(frame)));
        let call = Call { own: Arc::clone(&self.own), process: process.to_owned(), addresses: addresses.to_vec() };
        let task = self.runtime.spawn(write_all(call, to_write, self.arrived.clone(), Arc::clone(&self.told_bytes)));
        self.outgoing.insert(process.to_owned(), Outgoing { frames: Some(frames), task });
    }

    /// Bytes that all others together have been told.
    pub(super) fn told_bytes(&self) -> u64 {
        self.told_bytes.load(Ordering::Relaxed)
    }

    /// Tells everybody.
    pub(super) fn tell_all(&self, frame: &Frame) {
        // Who is gone is told nothing: its closed connection is reported.
        let open = self.outgoing.values().filter_map(|to| to.frames.as_ref());
        open.for_each(|frames| drop(frames.send(frame.clone())));
    }

    /// Tells one process.
    pub(super) fn tell(&self, process: &str, frame: Frame) {
        if let Some(frames) = self.outgoing.get(process).and_then(|to| to.frames.as_ref()) {
            drop(frames.send(frame));
        }
    }

    /// Tells a process nothing more: what it does not take would be kept for ever.
    pub(super) fn hang_up(&mut self, process: &str) {
        if let Some(to) = self.outgoing.get_mut(process) {
            to.frames = None;
        }
    }

    /// Waits until everybody who can be reached has been told everything.
    pub(super) fn close(&mut self) {
        let tasks: Vec<_> = std::mem::take(&mut self.outgoing).into_values().map(|to| to.task).collect();
        let all = async {
            for task in tasks {
                // A task that panicked has told what it could.
                let _ = task.await;
            }
        };
        // Who does not take it within this time never will.
        let _ = self.runtime.block_on(async { timeout(ANSWER_WITHIN, all).await });
    }
}

/// The addresses by which others may know this machine: itself, and the one towards other ROS 2 machines.
fn own_addresses() -> Vec<IpAddr> {
    let towards_others = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        // Of a datagram socket this sends nothing; it only chooses the route.
        socket.connect(DISCOVERY).ok()?;
        socket.local_addr().ok().map(|address| address.ip())
    };
    [Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), towards_others()].into_iter().flatten().collect()
}

async fn accept(listener: TcpListener, own: Arc<Greeting>, arrived: Sender<Arrived>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(read_all(stream, Arc::clone(&own), arrived.clone()));
            }
            Err(error) => {
                tracing::warn!("another process of this world cannot be taken in: {error}");
                sleep(CALL_AGAIN).await;
            }
        }
    }
}

/// Takes in all that a caller tells.
async fn read_all(mut stream: TcpStream, own: Arc<Greeting>, arrived: Sender<Arrived>) {
    // A stranger, or one that speaks another language.
    let Ok(Ok(caller)) = timeout(ANSWER_WITHIN, answer(&mut stream, &own)).await else { return };
    let (difference, process) = (own.difference(&caller), caller.process);
    if let Some(difference) = difference {
        // Nobody takes it in once the node has ended, here and below.
        return drop(arrived.send(Arrived::OtherWorld { process, difference }));
    }
    drop(arrived.send(Arrived::Called { process: process.clone() }));
    loop {
        let next = match read_frame::<Told>(&mut stream, FRAME_MAX).await {
            Ok(told) => Arrived::Told { process: process.clone(), told },
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return drop(arrived.send(Arrived::Unreadable { process, what: error.to_string() }));
            }
            Err(_) => return drop(arrived.send(Arrived::Closed { process })),
        };
        if arrived.send(next).is_err() {
            return;
        }
    }
}

async fn answer(stream: &mut TcpStream, own: &Greeting) -> io::Result<Greeting> {
    let caller: Greeting = read_frame(stream, GREETING_MAX).await?;
    if caller.run != own.run {
        return Err(io::Error::other("of another run"));
    }
    write_frame(stream, &Frame::of(own)).await?;
    Ok(caller)
}

/// Whom to call.
struct Call {
    own: Arc<Greeting>,
    process: String,
    addresses: Vec<String>,
}

impl Call {
    /// Calls until somebody answers.
    async fn reach(&self) -> Result<(TcpStream, Greeting), String> {
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

    async fn greet(&self, address: &str) -> io::Result<(TcpStream, Greeting)> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        write_frame(&mut stream, &Frame::of(&*self.own)).await?;
        let answered: Greeting = read_frame(&mut stream, GREETING_MAX).await?;
        // Another machine's port of this number is somebody else's.
        let is_the_one = answered.run == self.own.run && answered.process == self.process;
        if is_the_one { Ok((stream, answered)) } else { Err(io::Error::other("another process answers")) }
    }
}

/// Tells a process all that is to be told, in order.
async fn write_all(
    call: Call,
    mut frames: UnboundedReceiver<Frame>,
    arrived: Sender<Arrived>,
    told_bytes: Arc<AtomicU64>,
) {
    let (mut stream, answered) = match call.reach().await {
        Ok(answered) => answered,
        Err(why) => return drop(arrived.send(Arrived::OutOfReach { process: call.process, why })),
    };
    // Whichever of the two calls first: both find out, though the other may have ended by then.
    if let Some(difference) = call.own.difference(&answered) {
        return drop(arrived.send(Arrived::OtherWorld { process: call.process, difference }));
    }
    while let Some(frame) = frames.recv().await {
        // What it told until then comes first: the end of the connection that it made tells that it is gone.
        if write_frame(&mut stream, &frame).await.is_err() {
            return;
        }
        told_bytes.fetch_add((size_of::<u32>() + frame.0.len()) as u64, Ordering::Relaxed);
    }
    // The end of the stream is told when it is dropped in any case.
    let _ = stream.shutdown().await;
}

async fn write_frame(stream: &mut TcpStream, Frame(bytes): &Frame) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    // One write for small frames: the network sends it in one piece.
    if bytes.len() <= 1024 {
        return stream.write_all(&[&length.to_le_bytes()[..], bytes].concat()).await;
    }
    stream.write_all(&length.to_le_bytes()).await?;
    stream.write_all(bytes).await
}

/// The next frame; `InvalidData` where its bytes are none that this version writes.
async fn read_frame<T: DeserializeOwned>(stream: &mut TcpStream, bytes_max: usize) -> io::Result<T> {
    let length = stream.read_u32_le().await? as usize;
    if length > bytes_max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut bytes = Vec::new();
    if stream.take(length as u64).read_to_end(&mut bytes).await? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
