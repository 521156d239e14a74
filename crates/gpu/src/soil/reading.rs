//! What is read of soil on the GPU at each heartbeat. The points stay there.

use selene_crm::kernel::{ModelRecord, ReadingRecord, column_count, masses, surface, top_count, totals};
use selene_crm::{CrmError, LAYERS, PlacedDrum, SoilPiece, State, Totals};

use super::GpuSoil;
use super::passes::{Array, Pass};

impl GpuSoil {
    /// Writes the masses of the points that are being loaded, or have new ones.
    pub(super) fn write_masses(&mut self, state: &State) -> Result<(), CrmError> {
        let words = masses(&self.model, state)?;
        self.buffers.write(&self.engine, Array::Masses, bytemuck::cast_slice(&words));
        self.masses_and_ids.clear();
        self.masses_and_ids.extend(state.points.iter().map(|point| (point.mass_mg, point.id)));
        Ok(())
    }

    /// Sums over the points, and over those in each of `drums`.
    pub(super) fn add_up(&self, drums: &[PlacedDrum]) -> Result<Totals, CrmError> {
        let mut encoder = self.begin_reading(drums)?;
        encoder.clear_buffer(self.buffers.of(Array::Totals), 0, None);
        self.run_passes(&mut encoder, &[Pass::AddUp]);
        let words = self.read(encoder, Array::Totals)?;
        Ok(totals(&words, self.buffers.points, drums.len()))
    }

    /// Heights of the surface, m.
    pub(super) fn find_tops(&self) -> Result<Vec<f32>, CrmError> {
        let mut encoder = self.begin_reading(&[])?;
        encoder.clear_buffer(self.buffers.of(Array::Densities), 0, None);
        self.run_passes(&mut encoder, &[Pass::Weigh]);
        let columns = top_count(&self.model);
        {
            let mut passes = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            self.dispatch(&mut passes, Pass::FindTops, self.groups_of(columns));
        }
        let mut tops_m = self.read(encoder, Array::Tops)?;
        tops_m.truncate(columns as usize);
        Ok(tops_m)
    }

    /// The highest points of each column that are in none of the drums `outside`.
    pub(super) fn find_surface(&self, outside: &[PlacedDrum]) -> Result<Vec<[Option<SoilPiece>; LAYERS]>, CrmError> {
        let mut encoder = self.begin_reading(outside)?;
        for array in [Array::Columns, Array::Surface] {
            encoder.clear_buffer(self.buffers.of(array), 0, None);
        }
        let ranks = [Pass::RankFirst, Pass::NameFirst, Pass::RankSecond, Pass::NameSecond, Pass::ShowSurface];
        self.run_passes(&mut encoder, &ranks);
        let words = self.read(encoder, Array::Surface)?;
        let mut found = surface(&self.model, &words, |index| self.masses_and_ids.get(index).copied());
        found.truncate(column_count(&self.model) as usize);
        Ok(found)
    }

    fn begin_reading(&self, drums: &[PlacedDrum]) -> Result<wgpu::CommandEncoder, CrmError> {
        let record = ReadingRecord::new(&self.model, drums)?;
        self.buffers.write(&self.engine, Array::Reading, bytemuck::bytes_of(&record));
        Ok(self.begin_without_bodies())
    }

    /// An encoder for kernels that need of the model only the grid and the number of points.
    pub(super) fn begin_without_bodies(&self) -> wgpu::CommandEncoder {
        let model = ModelRecord::new(&self.model, self.buffers.points, &[], 0.0, 0.0);
        self.buffers.write(&self.engine, Array::Model, bytemuck::bytes_of(&model));
        self.encoder()
    }

    /// Runs kernels once for each point, one after the other.
    pub(super) fn run_passes(&self, encoder: &mut wgpu::CommandEncoder, those: &[Pass]) {
        let groups = self.groups_of(self.buffers.points as u64);
        let mut passes = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        those.iter().for_each(|pass| self.dispatch(&mut passes, *pass, groups));
    }
}
