//! A part of a campaign's rows: those whose number leaves the shard's index when divided by the number of shards. It is
//! named by hand, or by the environment of one task of a Slurm array or of an indexed job of Kubernetes.

use std::str::FromStr;

/// A part of a campaign's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

/// Why there is no such shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// It is not written as one.
    #[error("must be I/N with I from 0 to N - 1, such as 0/8")]
    Text,
    /// A variable is no number that it can have.
    #[error("{name}={value}: must be a whole number{allowed}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// An index without a number of shards.
    #[error("{index} is set and {count} is not: set it to the number of tasks, or give --shard I/N")]
    NoCount {
        /// The variable with the index.
        index: &'static str,
        /// The one with the number.
        count: &'static str,
    },
}

impl Shard {
    /// All rows.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// The shard that an environment names, by its variables: of Slurm (`SLURM_ARRAY_TASK_ID`, `_MIN`, `_COUNT`), else of
    /// Kubernetes (`JOB_COMPLETION_INDEX`; `JOB_COMPLETIONS` is the job's own to set, as Kubernetes does not).
    ///
    /// # Errors
    /// When a variable has another value than it can have, or the number of shards is missing.
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
        told: usize,
        index: Option<usize>,
        count: Option<usize>,
    ) -> Result<Self, ShardError> {
        let count = count.ok_or(ShardError::NoCount { index: name, count: count_name })?;
        let index = index.filter(|index| *index < count);
        let allowed = format!(" of one of {count} tasks in a row (array steps other than 1 are not taken)");
        let refused = ShardError::Variable { name, value: told.to_string(), allowed };
        index.map(|index| Self { index, count }).ok_or(refused)
    }

    /// Whether a row is its.
    #[must_use]
    pub fn has(&self, row: usize) -> bool {
        row % self.count == self.index
    }

    /// Whether it has all rows.
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
        let told = |variables: &[(&str, &str)]| of(variables).expect_err("refused").to_string();
        assert!(told(&[("JOB_COMPLETION_INDEX", "1")]).contains("JOB_COMPLETIONS"));
        assert!(told(&[("SLURM_ARRAY_TASK_ID", "x")]).contains("SLURM_ARRAY_TASK_ID=x"));
        let beyond = [("SLURM_ARRAY_TASK_ID", "9"), ("SLURM_ARRAY_TASK_MIN", "1"), ("SLURM_ARRAY_TASK_COUNT", "4")];
        assert!(told(&beyond).contains("one of 4"));
    }
}
