//! Reads a file's content from the summary at its end, without reading anything else.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::sync::Arc;

use mcap::sans_io::{SummaryReadEvent, SummaryReader, SummaryReaderOptions};
use mcap::{McapResult, Summary};
use selene_base::input::open_regular;

use super::RECORD_BYTES_MAX;
use super::contents::{BagFile, FileEnding};
use super::message::BagTopic;

/// The content of a file; `None` if it has no summary with message counts.
pub(super) fn contents(path: &Path) -> Option<BagFile> {
    let mut file = open_regular(path).ok()?;
    let bytes = file.metadata().ok()?.len();
    let Summary { stats, channels, chunk_indexes, .. } = read(&mut file, bytes).ok()??;
    let stats = stats?;
    if stats.message_count != stats.channel_message_counts.values().sum::<u64>() {
        return None;
    }
    let mut contents = BagFile { ending: FileEnding::Closed, ..BagFile::new(path, bytes) };
    for (id, channel) in &channels {
        let messages = stats.channel_message_counts.get(id).copied().unwrap_or_default();
        contents.add(&Arc::new(BagTopic::of(channel)), messages);
    }
    let span_ns = (stats.message_start_time, stats.message_end_time);
    contents.span_ns = (stats.message_count > 0).then_some(span_ns);
    let compressed = chunk_indexes.into_iter().map(|chunk| chunk.compression).filter(|with| !with.is_empty());
    contents.compression = compressed.collect();
    Some(contents)
}

/// The summary of a file of this size; `None` if it has none.
pub(super) fn read(file: &mut File, bytes: u64) -> McapResult<Option<Summary>> {
    let options = SummaryReaderOptions::default().with_file_size(bytes).with_record_length_limit(RECORD_BYTES_MAX);
    let mut reader = SummaryReader::new_with_options(options);
    while let Some(event) = reader.next_event() {
        match event? {
            SummaryReadEvent::ReadRequest(wanted) => {
                let read = file.read(reader.insert(wanted))?;
                reader.notify_read(read);
            }
            SummaryReadEvent::SeekRequest(to) => reader.notify_seeked(file.seek(to)?),
        }
    }
    Ok(reader.finish())
}
