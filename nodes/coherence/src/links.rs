//! The context of a node: the transport of public topics, that of topics between the nodes of its run, and the run's
//! world.

use std::sync::Arc;

use selene_base::SimTime;
use selene_ros::transport::Transport;
use selene_sim::{AllowedFolders, Model};

use crate::run::RunId;

/// A node's transports and its run.
#[derive(Clone)]
pub struct Links {
    /// Transport of public topics.
    pub public: Arc<dyn Transport>,
    /// Transport of topics between the nodes of a run; stays within the process if all nodes are in one.
    pub internal: Arc<dyn Transport>,
    /// The run's id.
    pub run: RunId,
}

/// Everything that a node needs to take part in a run.
#[derive(Clone)]
pub struct NodeContext {
    /// The node's transports and its run.
    pub links: Links,
    /// The scenario's world.
    pub model: Arc<Model>,
    /// Folders in which the files of entities added during the run may lie.
    pub folders: AllowedFolders,
    /// Simulated time up to which data were published before the run was resumed.
    pub published_until: Option<SimTime>,
}

impl Links {
    /// Topic of snapshots of the world, one each heartbeat.
    #[must_use]
    pub fn world_state(&self) -> String {
        self.run.topic("world_state")
    }

    /// Topic of answers to terrain requests.
    #[must_use]
    pub fn terrain_snapshot(&self) -> String {
        self.run.topic("terrain_snapshot")
    }

    /// Topic of requests for missed terrain.
    #[must_use]
    pub fn terrain_request(&self) -> String {
        self.run.topic("terrain_request")
    }

    /// Topic on which participants acknowledge heartbeats.
    #[must_use]
    pub fn acknowledge(&self) -> String {
        self.run.topic("acknowledge")
    }

    /// Topic on which the processes that share a world announce themselves.
    #[must_use]
    pub fn shared_members(&self) -> String {
        self.run.topic("shared_members")
    }

    /// Topic of the table of entities added to the world.
    #[must_use]
    pub fn entities(&self) -> String {
        self.run.topic("entities")
    }
}
