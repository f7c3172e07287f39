//! The order in which views that read views are refreshed.

use std::collections::{BTreeMap, BTreeSet};

/// Orders `nodes` so that each comes after all that it reads, and otherwise as they are given. `reads` names, per node,
/// the nodes that it reads; others than `nodes` are ignored. A cycle comes back as the error, in reading order.
pub fn dependency_order<K: Ord + Clone>(nodes: &[K], reads: &BTreeMap<K, BTreeSet<K>>) -> Result<Vec<K>, Vec<K>> {
    let known: BTreeSet<&K> = nodes.iter().collect();
    let mut walk = Walk { known, reads, done: BTreeSet::new(), order: Vec::new(), path: Vec::new() };
    for node in nodes {
        walk.visit(node)?;
    }
    Ok(walk.order)
}

struct Walk<'a, K> {
    known: BTreeSet<&'a K>,
    reads: &'a BTreeMap<K, BTreeSet<K>>,
    done: BTreeSet<K>,
    order: Vec<K>,
    path: Vec<K>,
}

impl<K: Ord + Clone> Walk<'_, K> {
    fn visit(&mut self, node: &K) -> Result<(), Vec<K>> {
        if self.done.contains(node) {
            return Ok(());
        }
        if let Some(start) = self.path.iter().position(|seen| seen == node) {
            return Err(self.path[start..].to_vec());
        }
        self.path.push(node.clone());
        let reads = self.reads;
        for read in reads.get(node).into_iter().flatten() {
            if self.known.contains(read) {
                self.visit(read)?;
            }
        }
        self.path.pop();
        self.done.insert(node.clone());
        self.order.push(node.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(nodes: &[u8], edges: &[(u8, u8)]) -> Result<Vec<u8>, Vec<u8>> {
        let mut reads: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
        for (reader, read) in edges {
            reads.entry(*reader).or_default().insert(*read);
        }
        dependency_order(nodes, &reads)
    }

    #[test]
    fn what_is_read_comes_first_and_the_rest_keeps_its_order() {
        assert_eq!(order(&[1, 2, 3, 4], &[(1, 3), (3, 4)]).unwrap(), [4, 3, 1, 2]);
    }

    #[test]
    fn what_is_not_asked_for_is_left_out() {
        assert_eq!(order(&[1], &[(1, 3)]).unwrap(), [1]);
    }

    #[test]
    fn a_cycle_is_named() {
        assert_eq!(order(&[1, 2, 3], &[(1, 2), (2, 3), (3, 2)]).unwrap_err(), [2, 3]);
        assert_eq!(order(&[1], &[(1, 1)]).unwrap_err(), [1]);
    }
}
