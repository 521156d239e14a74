//! Shards of a campaign: a shard has the rows whose number modulo the number of shards is its index. It is given on the
//! command line, or by the environment of a task in a Slurm array or an indexed Kubernetes job.

use std::str::FromStr;

/// A subset of a campaign's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

/// Why a shard is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// The text is not of the form of a shard.
    #[error("must be I/N with I from 0 to N - 1, such as 0/8")]
    Text,
    /// A variable has a value that is not allowed.
    #[error("{name}={value}: must be a whole number{allowed}")]
    Variable {
        /// Name of the variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// An index is given without the number of shards.
    #[error("{index} is set and {count} is not: set it to the number of tasks, or give --shard I/N")]
    NoCount {
        /// Name of the variable with the index.
        index: &'static str,
        /// Name of the missing variable with the number of shards.
        count: &'static str,
    },
}

impl Shard {
    /// The shard with all rows.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// The shard given by environment variables: of Slurm (`SLURM_ARRAY_TASK_ID`, `_MIN`, `_COUNT`), else of Kubernetes
    /// (`JOB_COMPLETION_INDEX`, and `JOB_COMPLETIONS`, which the job must set itself, as Kubernetes does not). `None`
    /// if there are none.
    ///
    /// # Errors
    /// When a variable has a value that is not allowed, or the number of shards is missing.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ShardError> {
        let number = |name: &'static str| {
            variable(name).filter(|text| !text.is_empty()).map(|text| read(name, &text)).transpose()
        };
        if let Some(id) = number("SLURM_ARRAY_TASK_ID")? {
            let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
            let count = number("SLURM_ARRAY_TASK_COUNT")?;
            let names = ["SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"];
            return Self::of_task(names, id, id.checked_sub(first), count).map(Some);
        }
        let Some(index) = number("JOB_COMPLETION_INDEX")? else { return Ok(None) };
        let names = ["JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"];
        Self::of_task(names, index, Some(index), number("JOB_COMPLETIONS")?).map(Some)
    }

    fn of_task(
        [name, count_name]: [&'static str; 2],
        reported: usize,
        index: Option<usize>,
        count: Option<usize>,
    ) -> Result<Self, ShardError> {
        let count = count.ok_or(ShardError::NoCount { index: name, count: count_name })?;
        let index = index.filter(|index| *index < count);
        let allowed = format!(" of one of {count} tasks in a row (array steps other than 1 are not taken)");
        let refused = ShardError::Variable { name, value: reported.to_string(), allowed };
        index.map(|index| Self { index, count }).ok_or(refused)
    }

    /// Whether a row belongs to the shard.
    #[must_use]
    pub fn has(&self, row: usize) -> bool {
        row % self.count == self.index
    }

    /// Whether the shard has all rows.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.count == 1
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (index, count) = text.split_once('/').ok_or(ShardError::Text)?;
        let [index, count] = [index, count].map(|part| part.trim().parse::<usize>().map_err(|_| ShardError::Text));
        let (index, count) = (index?, count?);
        if index < count { Ok(Self { index, count }) } else { Err(ShardError::Text) }
    }
}

fn read(name: &'static str, text: &str) -> Result<usize, ShardError> {
    let refused = || ShardError::Variable { name, value: text.to_owned(), allowed: String::new() };
    text.trim().parse().map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::{Shard, ShardError};

    fn of(variables: &[(&str, &str)]) -> Result<Option<Shard>, ShardError> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Shard::of_environment(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn every_row_is_of_one_shard() {
        let shards: Vec<Shard> = (0..3).map(|i| format!("{i}/3").parse().expect("a shard")).collect();
        for row in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(row)).count(), 1, "{row}");
        }
        assert!(Shard::WHOLE.is_whole() && (0..20).all(|row| Shard::WHOLE.has(row)));
    }

    #[test]
    fn arrays_of_slurm_and_jobs_of_kubernetes_name_their_shards() {
        let slurm = [("SLURM_ARRAY_TASK_ID", "7"), ("SLURM_ARRAY_TASK_MIN", "5"), ("SLURM_ARRAY_TASK_COUNT", "4")];
        assert_eq!(of(&slurm), Ok(Some(Shard { index: 2, count: 4 })));
        assert_eq!(
            of(&[("JOB_COMPLETION_INDEX", "0"), ("JOB_COMPLETIONS", "8")]),
            Ok(Some(Shard { index: 0, count: 8 }))
        );
        assert_eq!(of(&[("JOB_COMPLETIONS", "8")]), Ok(None));
    }

    #[test]
    fn what_names_no_shard_is_refused() {
        for text in ["1", "2/2", "-1/2", "a/b", "1/0"] {
            assert_eq!(text.parse::<Shard>(), Err(ShardError::Text), "{text}");
        }
        let reported = |variables: &[(&str, &str)]| of(variables).expect_err("refused").to_string();
        assert!(reported(&[("JOB_COMPLETION_INDEX", "1")]).contains("JOB_COMPLETIONS"));
        assert!(reported(&[("SLURM_ARRAY_TASK_ID", "x")]).contains("SLURM_ARRAY_TASK_ID=x"));
        let beyond = [("SLURM_ARRAY_TASK_ID", "9"), ("SLURM_ARRAY_TASK_MIN", "1"), ("SLURM_ARRAY_TASK_COUNT", "4")];
        assert!(reported(&beyond).contains("one of 4"));
    }
}
