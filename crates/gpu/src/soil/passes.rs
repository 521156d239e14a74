//! The kernels of granular soil: their names, the buffers that each uses, and their pipelines.

use std::sync::OnceLock;

use selene_crm::kernel::WGSL;

use crate::engine::Engine;
use crate::pipeline;

/// The buffers, numbered as the kernels bind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Array {
    Model,
    Points,
    SortedPoints,
    Counts,
    Starts,
    Sums,
    Velocities,
    Clock,
    Bodies,
    Reactions,
    NodeSides,
    Reading,
    Masses,
    Totals,
    Densities,
    Tops,
    Columns,
    Surface,
}

/// Number of buffers.
pub(super) const ARRAYS: usize = 18;

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    CountPoints,
    Scan,
    MovePoints,
    BeginSubstep,
    FindSides,
    ToNodes,
    MoveNodes,
    ToPoints,
    EndSubstep,
    TakeMasses,
    AddUp,
    Weigh,
    FindTops,
    RankFirst,
    NameFirst,
    RankSecond,
    NameSecond,
    ShowSurface,
}

/// All kernels, in the order of their variants.
pub(super) const PASSES: [Pass; 18] = [
    Pass::CountPoints,
    Pass::Scan,
    Pass::MovePoints,
    Pass::BeginSubstep,
    Pass::FindSides,
    Pass::ToNodes,
    Pass::MoveNodes,
    Pass::ToPoints,
    Pass::EndSubstep,
    Pass::TakeMasses,
    Pass::AddUp,
    Pass::Weigh,
    Pass::FindTops,
    Pass::RankFirst,
    Pass::NameFirst,
    Pass::RankSecond,
    Pass::NameSecond,
    Pass::ShowSurface,
];

impl Pass {
    fn entry(self) -> &'static str {
        match self {
            Self::CountPoints => "count_points",
            Self::Scan => "scan",
            Self::MovePoints => "move_points",
            Self::BeginSubstep => "begin_substep",
            Self::FindSides => "find_sides",
            Self::ToNodes => "to_nodes",
            Self::MoveNodes => "move_nodes",
            Self::ToPoints => "to_points",
            Self::EndSubstep => "end_substep",
            Self::TakeMasses => "take_masses",
            Self::AddUp => "add_up",
            Self::Weigh => "weigh",
            Self::FindTops => "find_tops",
            Self::RankFirst => "rank_first",
            Self::NameFirst => "name_first",
            Self::RankSecond => "rank_second",
            Self::NameSecond => "name_second",
            Self::ShowSurface => "show_surface",
        }
    }

    /// The buffers that the kernel uses.
    fn arrays(self) -> &'static [Array] {
        use Array::{
            Bodies, Clock, Columns, Counts, Densities, Masses, Model, NodeSides, Points, Reactions, Reading,
            SortedPoints, Starts, Sums, Surface, Tops, Totals, Velocities,
        };
        match self {
            Self::CountPoints => &[Model, Points, Counts],
            Self::Scan => &[Model, Counts, Starts, Clock],
            Self::MovePoints => &[Model, Points, SortedPoints, Counts],
            Self::BeginSubstep => &[Model, Clock, Bodies],
            Self::FindSides => &[Model, Bodies, NodeSides],
            Self::ToNodes => &[Model, Points, Starts, Sums, Clock, Bodies, NodeSides],
            Self::MoveNodes => &[Model, Sums, Velocities, Clock, Bodies, Reactions],
            Self::ToPoints => &[Model, Points, Starts, Velocities, Clock, Bodies, Reactions, NodeSides],
            Self::EndSubstep => &[Model, Clock],
            Self::TakeMasses => &[Model, Points, Masses],
            Self::AddUp => &[Model, Points, Reading, Masses, Totals],
            Self::Weigh => &[Model, Points, Densities],
            Self::FindTops => &[Model, Densities, Tops],
            Self::RankFirst | Self::NameFirst | Self::RankSecond | Self::NameSecond => {
                &[Model, Points, Reading, Columns]
            }
            Self::ShowSurface => &[Model, Points, Reading, Columns, Surface],
        }
    }

    fn compile(self, engine: &Engine, module: &wgpu::ShaderModule, has_shells: bool) -> wgpu::ComputePipeline {
        pipeline::compile(engine, module, self.entry(), &[("SHELLS", f64::from(u8::from(has_shells)))])
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

/// The kernels of steps without shells, and of steps with them.
#[derive(Debug)]
pub(super) struct Pipelines {
    module: wgpu::ShaderModule,
    /// In the order of `PASSES`.
    without_shells: Vec<wgpu::ComputePipeline>,
    with_shells: OnceLock<Vec<wgpu::ComputePipeline>>,
}

impl Pipelines {
    pub(super) fn new(engine: &Engine) -> Self {
        let module = engine.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("granular soil"),
            source: wgpu::ShaderSource::Wgsl(WGSL.into()),
        });
        let without_shells = compile(engine, &module, false);
        Self { module, without_shells, with_shells: OnceLock::new() }
    }

    /// The kernels in the order of `PASSES`.
    pub(super) fn of(&self, engine: &Engine, has_shells: bool) -> &[wgpu::ComputePipeline] {
        if has_shells {
            self.with_shells.get_or_init(|| compile(engine, &self.module, true))
        } else {
            &self.without_shells
        }
    }
}

fn compile(engine: &Engine, module: &wgpu::ShaderModule, has_shells: bool) -> Vec<wgpu::ComputePipeline> {
    PASSES.iter().map(|pass| pass.compile(engine, module, has_shells)).collect()
}
