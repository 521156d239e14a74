//! What a file's indexes say of it against what it holds: the index behind each chunk, and at the end the index of
//! the chunks and the statistics.

use std::collections::BTreeMap;

use mcap::records::{ChunkIndex, MessageIndex, Statistics};

/// Log time and place in the chunk of each message, by channel.
type Places = BTreeMap<u16, Vec<(u64, u64)>>;

/// What is known of a file while it is read.
#[derive(Default)]
pub(super) struct Audit {
    /// Place and length of each chunk.
    chunks: Vec<(u64, u64)>,
    /// What the index behind the last chunk must tell yet; none where that chunk is damaged.
    unindexed: Option<Places>,
    /// Whether anything told of the last chunk.
    is_indexed: bool,
    messages: BTreeMap<u16, u64>,
    told_chunks: Vec<(u64, u64)>,
    statistics: Option<Statistics>,
    faults: Vec<String>,
}

impl Audit {
    /// A chunk begins; its messages follow, unless it is damaged.
    pub(super) fn begin_chunk(&mut self, place: u64, bytes: u64, is_sound: bool) {
        self.end_chunk();
        self.chunks.push((place, bytes));
        self.unindexed = is_sound.then(Places::new);
    }

    /// A message, with its place in its chunk.
    pub(super) fn message(&mut self, channel: u16, log_ns: u64, place: u64) {
        *self.messages.entry(channel).or_default() += 1;
        if let Some(unindexed) = &mut self.unindexed {
            unindexed.entry(channel).or_default().push((log_ns, place));
        }
    }

    /// An index behind a chunk.
    pub(super) fn message_index(&mut self, index: &MessageIndex) {
        self.is_indexed = true;
        let Some(unindexed) = &mut self.unindexed else { return };
        let mut held = unindexed.remove(&index.channel_id).unwrap_or_default();
        let mut told: Vec<_> = index.records.iter().map(|entry| (entry.log_time, entry.offset)).collect();
        held.sort_unstable();
        told.sort_unstable();
        if held != told {
            let (channel, place) = (index.channel_id, self.chunk_place());
            let what = format!("the index of the chunk at byte {place} differs from its messages on channel {channel}");
            self.faults.push(what);
        }
    }

    /// The index of a chunk, at the end of the file.
    pub(super) fn chunk_index(&mut self, index: &ChunkIndex) {
        self.told_chunks.push((index.chunk_start_offset, index.chunk_length));
    }

    /// The statistics at the end of the file.
    pub(super) fn statistics(&mut self, statistics: Statistics) {
        self.statistics = Some(statistics);
    }

    /// All that differs in a file that has an index.
    pub(super) fn end(mut self) -> Vec<String> {
        self.end_chunk();
        self.told_chunks.sort_unstable();
        if !self.told_chunks.is_empty() && self.told_chunks != self.chunks {
            let (told, held) = (self.told_chunks.len(), self.chunks.len());
            self.faults.push(format!("its index tells of {told} chunks that are not the {held} it has"));
        }
        if let Some(statistics) = self.statistics.take() {
            self.compare(&statistics);
        }
        self.faults
    }

    fn end_chunk(&mut self) {
        let left = self.unindexed.take().unwrap_or_default();
        if self.is_indexed && !left.is_empty() {
            let (place, channels) = (self.chunk_place(), left.len());
            self.faults.push(format!("the index of the chunk at byte {place} leaves out {channels} channels"));
        }
        self.is_indexed = false;
    }

    fn compare(&mut self, told: &Statistics) {
        let held: u64 = self.messages.values().sum();
        if told.message_count != held {
            self.faults.push(format!("its statistics tell of {} messages, {held} can be read", told.message_count));
        }
        if told.chunk_count as usize != self.chunks.len() {
            let chunks = self.chunks.len();
            self.faults.push(format!("its statistics tell of {} chunks, there are {chunks}", told.chunk_count));
        }
        let mut counted = told.channel_message_counts.clone();
        counted.retain(|_, messages| *messages > 0);
        if counted != self.messages && told.message_count == held {
            self.faults.push("its statistics give messages to other topics than those that have them".to_owned());
        }
    }

    fn chunk_place(&self) -> u64 {
        self.chunks.last().map_or(0, |(place, _)| *place)
    }
}
