//! Reads the records of one chunk: all of them, or none if its checksum or its compression shows that it is damaged.

use mcap::records::{ChunkHeader, Record, op};
use mcap::sans_io::{LinearReadEvent, LinearReader, LinearReaderOptions};
use mcap::{McapError, McapResult, parse_record};

use super::RECORD_BYTES_MAX;

/// Size of opcode and length before each record.
pub(super) const PREFIX_BYTES: usize = 9;

/// The content of a chunk.
pub(super) struct Chunk {
    /// The records, each with its offset in the uncompressed chunk.
    pub(super) records: Vec<(u64, Record<'static>)>,
    /// Name of its compression; empty without compression.
    pub(super) compression: String,
}

/// Reads the body of a chunk's record.
pub(super) fn read(body: &[u8]) -> McapResult<Chunk> {
    let Record::Chunk { header: ChunkHeader { compression, .. }, .. } = parse_record(op::CHUNK, body)? else {
        return Err(McapError::UnexpectedEoc);
    };
    let mut reader = LinearReader::new_with_options(
        LinearReaderOptions::default()
            .with_skip_start_magic(true)
            .with_skip_end_magic(true)
            .with_prevalidate_chunk_crcs(true)
            .with_record_length_limit(RECORD_BYTES_MAX),
    );
    feed(&mut reader, body);
    let (mut records, mut place) = (Vec::new(), 0);
    while let Some(event) = reader.next_event() {
        match event? {
            // All bytes are fed: a further request comes at the end, or in the middle of a truncated record.
            LinearReadEvent::ReadRequest(_) => reader.notify_read(0),
            LinearReadEvent::Record { opcode, data } => {
                let bytes = (PREFIX_BYTES + data.len()) as u64;
                records.push((place, parse_record(opcode, data)?.into_owned()));
                place += bytes;
            }
        }
    }
    Ok(Chunk { records, compression })
}

/// Feeds the chunk to the reader as a record of a file.
fn feed(reader: &mut LinearReader, body: &[u8]) {
    let bytes = PREFIX_BYTES + body.len();
    let (prefix, rest) = reader.insert(bytes).split_at_mut(PREFIX_BYTES);
    prefix[0] = op::CHUNK;
    prefix[1..].copy_from_slice(&(body.len() as u64).to_le_bytes());
    rest.copy_from_slice(body);
    reader.notify_read(bytes);
}
