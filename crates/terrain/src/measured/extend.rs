//! Continues a partly known field: a surface that takes the known values and is as flat as possible elsewhere
//! (Laplace's equation), solved from coarse to fine with a few relaxations at each size.

/// Number of relaxations at each size.
const RELAXATIONS: usize = 6;

/// A square field of heights, some of them known.
pub(crate) struct Field {
    pub(crate) posts: usize,
    pub(crate) heights_m: Vec<f32>,
    pub(crate) is_known: Vec<bool>,
}

impl Field {
    /// Fills the unknown heights.
    pub(crate) fn fill(&mut self) {
        if self.posts > 2 && self.is_known.contains(&false) {
            let mut coarse = self.coarser();
            coarse.fill();
            self.take_unknown_from(&coarse);
        }
        for _ in 0..RELAXATIONS {
            self.relax();
        }
    }

    /// A field of every second post; a post is known where any post around it is, and takes their mean.
    fn coarser(&self) -> Self {
        let posts = self.posts / 2 + 1;
        let mean = |index: usize| {
            let around = |i: usize| (2 * i).saturating_sub(1)..(2 * i + 2).min(self.posts);
            let [column, row] = [index % posts, index / posts];
            let near = around(row).flat_map(|r| around(column).map(move |c| r * self.posts + c));
            let known: Vec<f32> = near.filter(|&i| self.is_known[i]).map(|i| self.heights_m[i]).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f32>() / known.len() as f32)
        };
        let means: Vec<_> = (0..posts * posts).map(mean).collect();
        let heights_m = means.iter().map(|mean| mean.unwrap_or(0.0)).collect();
        Self { posts, heights_m, is_known: means.iter().map(Option::is_some).collect() }
    }

    fn take_unknown_from(&mut self, coarse: &Self) {
        for (index, height_m) in self.heights_m.iter_mut().enumerate().filter(|&(i, _)| !self.is_known[i]) {
            let [column, row] = [index % self.posts, index / self.posts];
            let at = |c: usize, r: usize| coarse.heights_m[r * coarse.posts + c];
            let [left, low] = [column / 2, row / 2];
            let [right, high] = [column.div_ceil(2), row.div_ceil(2)];
            *height_m = (at(left, low) + at(right, low) + at(left, high) + at(right, high)) / 4.0;
        }
    }

    /// Moves each unknown post to the mean of its neighbours (Gauss–Seidel).
    fn relax(&mut self) {
        let last = self.posts - 1;
        for row in 0..self.posts {
            for column in 0..self.posts {
                let index = row * self.posts + column;
                if !self.is_known[index] {
                    let at = |c: usize, r: usize| self.heights_m[r * self.posts + c];
                    let beside = at(column.saturating_sub(1), row) + at((column + 1).min(last), row);
                    let along = at(column, row.saturating_sub(1)) + at(column, (row + 1).min(last));
                    self.heights_m[index] = (beside + along) / 4.0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn data_stay_and_what_lies_beyond_keeps_within_their_heights() {
        let posts = 129;
        let is_known: Vec<bool> =
            (0..posts * posts).map(|i| (48..=80).contains(&(i % posts)) && (48..=80).contains(&(i / posts))).collect();
        let data = |i: usize| (i % posts) as f32 * 0.1;
        let heights_m = (0..posts * posts).map(|i| if is_known[i] { data(i) } else { 0.0 }).collect();
        let mut field = Field { posts, heights_m, is_known };
        field.fill();
        for (i, &h) in field.heights_m.iter().enumerate() {
            assert!(!field.is_known[i] || h == data(i));
            assert!((4.79..=8.01).contains(&h), "{i}: {h}");
        }
    }
}
