//! Compares a file's indexes with its content: the index after each chunk, and at the end the index of chunks and the
//! statistics.

use std::collections::BTreeMap;

use mcap::records::{ChunkIndex, MessageIndex, Statistics};

/// Log time and offset in the chunk of each message, by channel.
type Places = BTreeMap<u16, Vec<(u64, u64)>>;

/// What is known of a file while it is read.
#[derive(Default)]
pub(super) struct Audit {
    /// Offset and length of each chunk.
    chunks: Vec<(u64, u64)>,
    /// Messages of the last chunk that its index has not listed yet; `None` if that chunk is damaged.
    unindexed: Option<Places>,
    /// Whether the last chunk has an index.
    is_indexed: bool,
    messages: BTreeMap<u16, u64>,
    reported_chunks: Vec<(u64, u64)>,
    statistics: Option<Statistics>,
    faults: Vec<String>,
}

impl Audit {
    /// Begins a chunk at offset `place`; its messages follow, unless it is damaged.
    pub(super) fn begin_chunk(&mut self, place: u64, bytes: u64, is_sound: bool) {
        self.end_chunk();
        self.chunks.push((place, bytes));
        self.unindexed = is_sound.then(Places::new);
    }

    /// Adds a message at offset `place` in its chunk.
    pub(super) fn message(&mut self, channel: u16, log_ns: u64, place: u64) {
        *self.messages.entry(channel).or_default() += 1;
        if let Some(unindexed) = &mut self.unindexed {
            unindexed.entry(channel).or_default().push((log_ns, place));
        }
    }

    /// Compares the index after a chunk with its messages on one channel.
    pub(super) fn message_index(&mut self, index: &MessageIndex) {
        self.is_indexed = true;
        let Some(unindexed) = &mut self.unindexed else { return };
        let mut held = unindexed.remove(&index.channel_id).unwrap_or_default();
        let mut reported: Vec<_> = index.records.iter().map(|entry| (entry.log_time, entry.offset)).collect();
        held.sort_unstable();
        reported.sort_unstable();
        if held != reported {
            let (channel, place) = (index.channel_id, self.chunk_place());
            let what = format!("the index of the chunk at byte {place} differs from its messages on channel {channel}");
            self.faults.push(what);
        }
    }

    /// Adds a chunk listed in the index at the end of the file.
    pub(super) fn chunk_index(&mut self, index: &ChunkIndex) {
        self.reported_chunks.push((index.chunk_start_offset, index.chunk_length));
    }

    /// Takes in the statistics at the end of the file.
    pub(super) fn statistics(&mut self, statistics: Statistics) {
        self.statistics = Some(statistics);
    }

    /// All differences found in a file that has an index.
    pub(super) fn end(mut self) -> Vec<String> {
        self.end_chunk();
        self.reported_chunks.sort_unstable();
        if !self.reported_chunks.is_empty() && self.reported_chunks != self.chunks {
            let (reported, held) = (self.reported_chunks.len(), self.chunks.len());
            self.faults.push(format!("its index lists {reported} chunks that are not the {held} it has"));
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

    fn compare(&mut self, reported: &Statistics) {
        let held: u64 = self.messages.values().sum();
        if reported.message_count != held {
            self.faults.push(format!("its statistics count {} messages, {held} can be read", reported.message_count));
        }
        if reported.chunk_count as usize != self.chunks.len() {
            let chunks = self.chunks.len();
            self.faults.push(format!("its statistics count {} chunks, there are {chunks}", reported.chunk_count));
        }
        let mut counted = reported.channel_message_counts.clone();
        counted.retain(|_, messages| *messages > 0);
        if counted != self.messages && reported.message_count == held {
            self.faults.push("its statistics give messages to other topics than those that have them".to_owned());
        }
    }

    fn chunk_place(&self) -> u64 {
        self.chunks.last().map_or(0, |(place, _)| *place)
    }
}
