//! The kernels of single grains: their names, the buffers that each uses, and their pipelines.

use selene_spheres::kernel::wgsl;

use crate::engine::Engine;
use crate::pipeline;

/// The buffers, numbered as the kernels bind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Array {
    Model,
    Grains,
    Heads,
    Nexts,
    Pairs,
    Listed,
    Clock,
    Bodies,
    Reactions,
    Pushed,
}

/// Number of buffers.
pub(super) const ARRAYS: usize = 10;

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    FillCells,
    ListPartners,
    BeginSubstep,
    PushGrains,
    MoveGrains,
    EndSubstep,
}

/// All kernels, in the order of their variants.
pub(super) const PASSES: [Pass; 6] =
    [Pass::FillCells, Pass::ListPartners, Pass::BeginSubstep, Pass::PushGrains, Pass::MoveGrains, Pass::EndSubstep];

impl Pass {
    fn entry(self) -> &'static str {
        match self {
            Self::FillCells => "fill_cells",
            Self::ListPartners => "list_partners",
            Self::BeginSubstep => "begin_substep",
            Self::PushGrains => "push_grains",
            Self::MoveGrains => "move_grains",
            Self::EndSubstep => "end_substep",
        }
    }

    /// The buffers that the kernel uses.
    fn arrays(self) -> &'static [Array] {
        use Array::{Bodies, Clock, Grains, Heads, Listed, Model, Nexts, Pairs, Pushed, Reactions};
        match self {
            Self::FillCells => &[Model, Grains, Heads, Nexts, Clock],
            Self::ListPartners => &[Model, Grains, Heads, Nexts, Pairs, Listed, Clock, Bodies],
            Self::BeginSubstep => &[Model, Clock, Bodies],
            Self::PushGrains => &[Model, Grains, Pairs, Clock, Bodies, Reactions, Pushed],
            Self::MoveGrains => &[Model, Grains, Clock, Pushed],
            Self::EndSubstep => &[Model, Clock],
        }
    }

    /// The kernel's own selection of `buffers`.
    pub(super) fn bind(
        self,
        engine: &Engine,
        pipeline: &wgpu::ComputePipeline,
        buffers: &[wgpu::Buffer; ARRAYS],
    ) -> wgpu::BindGroup {
        let numbered = self.arrays().iter().map(|array| (*array as u32, &buffers[*array as usize]));
        pipeline::bind(engine, self.entry(), pipeline, numbered)
    }
}

/// The pipelines in the order of `PASSES`.
pub(super) fn pipelines(engine: &Engine) -> Vec<wgpu::ComputePipeline> {
    let module = engine.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("single grains"),
        source: wgpu::ShaderSource::Wgsl(wgsl().into()),
    });
    PASSES.iter().map(|pass| pipeline::compile(engine, &module, pass.entry(), &[])).collect()
}
