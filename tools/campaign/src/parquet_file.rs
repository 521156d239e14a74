//! The table as a Parquet file: one row group, flat nullable columns, numbers as DOUBLE and INT64, text as UTF-8.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::table::{ResultTable, Values};

impl ResultTable {
    /// The bytes of a Parquet file.
    ///
    /// # Errors
    /// When two columns have the same name, or memory runs out.
    pub fn parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let fields = self.columns.iter().map(|(name, values)| values.field(name).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("campaign").with_fields(fields).build()?;
        let mut bytes = Vec::new();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties)?;
        let mut group = writer.next_row_group()?;
        for (_, values) in &self.columns {
            if let Some(mut column) = group.next_column()? {
                values.write(&mut column)?;
                column.close()?;
            }
        }
        group.close()?;
        writer.close()?;
        Ok(bytes)
    }
}

impl Values {
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = match self {
            Self::Whole(_) => (Physical::INT64, None),
            Self::Number(_) => (Physical::DOUBLE, None),
            Self::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let builder = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        builder.with_repetition(Repetition::OPTIONAL).build()
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Whole(values) => {
                let there: Vec<i64> = values.iter().copied().flatten().collect();
                column.typed::<Int64Type>().write_batch(&there, Some(&levels(values)), None)?;
            }
            Self::Number(values) => {
                let there: Vec<f64> = values.iter().copied().flatten().collect();
                column.typed::<DoubleType>().write_batch(&there, Some(&levels(values)), None)?;
            }
            Self::Text(values) => {
                let there: Vec<ByteArray> = values.iter().flatten().map(|text| text.as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&there, Some(&levels(values)), None)?;
            }
        }
        Ok(())
    }
}

/// Definition levels: 1 where there is a value.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| i16::from(value.is_some())).collect()
}

#[cfg(test)]
mod tests {
    use crate::table::tests::table;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn what_is_written_is_read_back_by_the_same_library() {
        let path = std::env::temp_dir().join(format!("selene-table-{}.parquet", std::process::id()));
        std::fs::write(&path, table().parquet().expect("bytes")).expect("written");
        let reader = SerializedFileReader::new(std::fs::File::open(&path).expect("there")).expect("Parquet");
        let rows: Vec<_> =
            reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_string()).collect();
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(rows.len(), 3);
        assert!(rows[0].contains("distance_m: 0.25") && rows[0].contains("set.soil: \"lunar\""), "{}", rows[0]);
        assert!(rows[1].contains("distance_m: null") && rows[1].contains("reason: \"killed\""), "{}", rows[1]);
        assert!(rows[2].contains("seed: 4") && rows[2].contains("status: \"not_run\""), "{}", rows[2]);
    }
}
