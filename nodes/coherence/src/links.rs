//! What a node is given: the topics for everybody, those between the nodes of its run, and the world that the
//! run is of.

use std::sync::Arc;

use selene_base::SimTime;
use selene_ros::transport::Transport;
use selene_sim::{AllowedFolders, Model};

use crate::run::RunId;

/// A node's connections.
#[derive(Clone)]
pub struct Links {
    /// Topics for everybody.
    pub public: Arc<dyn Transport>,
    /// Topics between the nodes of a run: in the process alone where all of them are in one.
    pub internal: Arc<dyn Transport>,
    /// The run.
    pub run: RunId,
}

/// What a node is given.
#[derive(Clone)]
pub struct NodeContext {
    /// Its connections.
    pub links: Links,
    /// The scenario's world.
    pub model: Arc<Model>,
    /// Where files of what is added while the world runs may lie.
    pub folders: AllowedFolders,
    /// Data that were due up to here were told before the run was resumed.
    pub told_until: Option<SimTime>,
}

impl Links {
    /// Snapshots of the world, one a heartbeat.
    #[must_use]
    pub fn world_state(&self) -> String {
        self.run.topic("world_state")
    }

    /// Answers to terrain requests.
    #[must_use]
    pub fn terrain_snapshot(&self) -> String {
        self.run.topic("terrain_snapshot")
    }

    /// Requests for terrain that was missed.
    #[must_use]
    pub fn terrain_request(&self) -> String {
        self.run.topic("terrain_request")
    }

    /// Heartbeats that participants have dealt with.
    #[must_use]
    pub fn acknowledge(&self) -> String {
        self.run.topic("acknowledge")
    }

    /// Processes that simulate rovers of one world.
    #[must_use]
    pub fn shared_members(&self) -> String {
        self.run.topic("shared_members")
    }

    /// What was added to the world.
    #[must_use]
    pub fn entities(&self) -> String {
        self.run.topic("entities")
    }
}
