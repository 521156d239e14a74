//! The records of one chunk: all of them, or none where its checksum or its compression says that it is damaged.

use mcap::records::{ChunkHeader, Record, op};
use mcap::sans_io::{LinearReadEvent, LinearReader, LinearReaderOptions};
use mcap::{McapError, McapResult, parse_record};

use super::RECORD_BYTES_MAX;

/// Opcode and length before each record.
pub(super) const PREFIX_BYTES: usize = 9;

/// What a chunk holds.
pub(super) struct Chunk {
    /// Records with their places in the chunk when it is not compressed.
    pub(super) records: Vec<(u64, Record<'static>)>,
    /// What it is compressed with; empty for not at all.
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
            // All is fed: whoever wants more is at the end, or in the middle of a record that is cut.
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

/// Hands the chunk over as a record of a file.
fn feed(reader: &mut LinearReader, body: &[u8]) {
    let bytes = PREFIX_BYTES + body.len();
    let (prefix, rest) = reader.insert(bytes).split_at_mut(PREFIX_BYTES);
    prefix[0] = op::CHUNK;
    prefix[1..].copy_from_slice(&(body.len() as u64).to_le_bytes());
    rest.copy_from_slice(body);
    reader.notify_read(bytes);
}
