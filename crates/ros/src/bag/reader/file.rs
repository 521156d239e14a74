//! Reads one MCAP file from its beginning to its end, record by record.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use mcap::read::ChannelAccumulator;
use mcap::records::{MessageHeader, Record, op};
use mcap::sans_io::{LinearReadEvent, LinearReader, LinearReaderOptions};
use mcap::{MAGIC, McapError, parse_record};
use selene_base::InputError;
use selene_base::input::open_regular;

use super::RECORD_BYTES_MAX;
use super::chunk::{self, Chunk, PREFIX_BYTES};
use super::contents::{BagFile, FileEnding};
use super::index::Audit;
use super::message::{BagDamage, BagMessage, BagTopic};
use super::summary;
use crate::cdr::Encoded;

/// Minimum and maximum number of bytes read from the disk at once, whatever size a record claims.
const READ_BYTES: (usize, usize) = (64 << 10, 1 << 20);

/// A file that is being read.
pub(super) struct FileReader {
    /// The file, or why it cannot be opened.
    source: Result<File, String>,
    records: LinearReader,
    /// Offset of the next record.
    place: u64,
    has_ended: bool,
    content: Content,
}

/// What has been read of the file so far.
struct Content {
    known: BagFile,
    channels: ChannelAccumulator<'static>,
    topics: BTreeMap<u16, Arc<BagTopic>>,
    audit: Audit,
    /// Messages of the last chunk that are still to be returned.
    ready: VecDeque<BagMessage>,
    /// Whether the summary has begun, which repeats earlier records.
    is_summary: bool,
    has_summary: bool,
}

impl FileReader {
    /// Opens a file; a failure is returned in place of its messages.
    pub(super) fn open(path: &Path) -> Self {
        let read_error = |source| InputError::Read { path: path.to_owned(), source };
        let opened = open_regular(path).and_then(|mut file| {
            let bytes = file.metadata().map_err(read_error)?.len();
            // Channels are repeated at the end, since the chunk that first defines them may be damaged.
            let summary = summary::read(&mut file, bytes).ok().flatten();
            file.rewind().map_err(read_error)?;
            Ok((file, bytes, summary.as_ref().map(ChannelAccumulator::from_summary).unwrap_or_default()))
        });
        let (source, bytes, channels) = match opened {
            Ok((file, bytes, channels)) => (Ok(file), bytes, channels),
            Err(error) => (Err(without_path(error)), 0, ChannelAccumulator::default()),
        };
        Self {
            source,
            records: LinearReader::new_with_options(
                LinearReaderOptions::default().with_emit_chunks(true).with_record_length_limit(RECORD_BYTES_MAX),
            ),
            place: MAGIC.len() as u64,
            has_ended: false,
            content: Content {
                known: BagFile::new(path, bytes),
                channels,
                topics: BTreeMap::new(),
                audit: Audit::default(),
                ready: VecDeque::new(),
                is_summary: false,
                has_summary: false,
            },
        }
    }

    /// The next message, or the next part that cannot be read.
    pub(super) fn next_message(&mut self) -> Option<Result<BagMessage, BagDamage>> {
        loop {
            if let Some(message) = self.content.ready.pop_front() {
                return Some(Ok(message));
            }
            if self.has_ended {
                return None;
            }
            if let Err(what) = self.step() {
                return Some(Err(BagDamage { file: self.content.known.path.clone(), what }));
            }
        }
    }

    /// The file's content, as far as it was read.
    pub(super) fn into_contents(self) -> BagFile {
        self.content.known
    }

    /// Reads the next record.
    fn step(&mut self) -> Result<(), String> {
        let event = match self.records.next_event() {
            Some(Ok(event)) => event,
            Some(Err(error)) => return self.break_off(&error),
            None => {
                self.end();
                return Ok(());
            }
        };
        match event {
            LinearReadEvent::ReadRequest(wanted) => self.feed(wanted),
            LinearReadEvent::Record { opcode, data } => {
                let place = self.place;
                self.place += (PREFIX_BYTES + data.len()) as u64;
                self.content.take(opcode, data, place)
            }
        }
    }

    fn feed(&mut self, wanted: usize) -> Result<(), String> {
        let (least, most) = READ_BYTES;
        let space = self.records.insert(wanted.clamp(least, most));
        let read = match &mut self.source {
            Ok(file) => read(file, space).map_err(|error| format!("cannot be read on: {error}")),
            Err(why) => Err(why.clone()),
        };
        self.has_ended = read.is_err();
        self.records.notify_read(read?);
        Ok(())
    }

    fn break_off(&mut self, error: &McapError) -> Result<(), String> {
        self.has_ended = true;
        let place = self.place;
        Err(match error {
            McapError::UnexpectedEof => {
                format!("breaks off in the record that begins at byte {place}; all chunks before it are read")
            }
            McapError::BadMagic => "is no MCAP file, or its end is missing".to_owned(),
            other => format!("is damaged at byte {place} ({other}); what follows is not read"),
        })
    }

    /// Called when all records are read.
    fn end(&mut self) {
        self.has_ended = true;
        let Content { known, audit, has_summary, .. } = &mut self.content;
        let audit = std::mem::take(audit);
        if *has_summary {
            known.ending = FileEnding::Closed;
            known.faults.extend(audit.end());
        } else {
            known.ending = FileEnding::NoIndex;
        }
    }
}

/// Why a file cannot be opened, for an error that names the file itself.
fn without_path(error: InputError) -> String {
    match error {
        InputError::Read { source, .. } => format!("cannot be opened: {source}"),
        InputError::Content { what, .. } => what,
    }
}

/// Reads once, and again if a signal interrupts it.
fn read(file: &mut File, space: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match file.read(space) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

impl Content {
    fn take(&mut self, opcode: u8, data: &[u8], place: u64) -> Result<(), String> {
        if opcode == op::CHUNK {
            return self.take_chunk(data, place);
        }
        let record = parse_record(opcode, data);
        let taken = record.map_err(|error| error.to_string()).and_then(|record| self.take_record(record, 0));
        taken.map_err(|what| format!("the record at byte {place} is left out: {what}"))
    }

    fn take_chunk(&mut self, body: &[u8], place: u64) -> Result<(), String> {
        let chunk = chunk::read(body);
        self.audit.begin_chunk(place, (PREFIX_BYTES + body.len()) as u64, chunk.is_ok());
        let damaged = |what: String| format!("the chunk at byte {place} is damaged and left out: {what}");
        let Chunk { records, compression } = chunk.map_err(|error| damaged(error.to_string()))?;
        if !compression.is_empty() {
            self.known.compression.insert(compression);
        }
        records.into_iter().try_for_each(|(place, record)| self.take_record(record, place)).map_err(damaged)
    }

    fn take_record(&mut self, record: Record<'_>, place: u64) -> Result<(), String> {
        match record {
            Record::Schema { header, data } if !self.is_summary => {
                let data = Cow::Owned(data.into_owned());
                self.channels.add_schema(header, data).map_err(|error| error.to_string())?;
            }
            Record::Channel(channel) if !self.is_summary => {
                let id = channel.id;
                self.channels.add_channel(channel).map_err(|error| error.to_string())?;
                self.know(id);
            }
            Record::Message { header, data } => return self.take_message(&header, &data, place),
            Record::MessageIndex(index) => self.audit.message_index(&index),
            Record::ChunkIndex(index) => self.audit.chunk_index(&index),
            Record::Statistics(statistics) => self.audit.statistics(statistics),
            Record::DataEnd(_) => self.is_summary = true,
            Record::Footer(footer) => self.has_summary = footer.summary_start != 0,
            _ => {}
        }
        Ok(())
    }

    /// The topic of a channel, added on its first use.
    fn know(&mut self, id: u16) -> Option<Arc<BagTopic>> {
        if let Some(topic) = self.topics.get(&id) {
            return Some(Arc::clone(topic));
        }
        let topic = Arc::new(BagTopic::of(self.channels.get(id)?.as_ref()));
        self.known.add(&topic, 0);
        self.topics.insert(id, Arc::clone(&topic));
        Some(topic)
    }

    fn take_message(&mut self, header: &MessageHeader, data: &[u8], place: u64) -> Result<(), String> {
        let MessageHeader { channel_id, sequence, log_time, publish_time } = *header;
        let unknown = || format!("a message is of channel {channel_id}, which is declared nowhere");
        let topic = self.know(channel_id).ok_or_else(unknown)?;
        self.audit.message(channel_id, log_time, place);
        self.known.add(&topic, 1);
        self.known.extend_to(log_time);
        self.ready.push_back(BagMessage {
            topic,
            sequence,
            log_ns: log_time,
            publish_ns: publish_time,
            encoded: Encoded::from_bytes(data),
        });
        Ok(())
    }
}
