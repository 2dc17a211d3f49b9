//! Cells, unified: Steensgaard (POPL 1996) over (node, offset).
//!
//! A node is an object, or what some pointer points to; a cell is a byte offset in it; a cell that holds an address
//! has one other cell as its content. To unify two cells is to lay their nodes over each other, moved so that the two
//! offsets meet, and to unify contents that come to lie at one offset. As in the original all of it is almost linear.
//!
//! What differs: a node that meets itself at another offset is *not* collapsed. Collapsing makes one class of almost
//! everything in real programs; not collapsing loses aliases of pointers that walk through an object. So a meeting at
//! distance `d` is noted, counted, and where the node is small the contents of fields at multiples of `d` are
//! unified ([`Cells::settle`]). [`Precision::Sound`] collapses instead: a node's offsets are then taken modulo the
//! distances at which it met itself.

use rustc_hash::FxHashMap;

/// An offset in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The node.
    pub node: u32,
    /// Bytes from the node's zero, which may lie anywhere in it.
    pub offset: i32,
}

impl Cell {
    /// The cell so many bytes on; far away is the end of the line.
    pub fn moved(self, by: i64) -> Cell {
        let offset = i64::from(self.offset).saturating_add(by).clamp(-FARTHEST, FARTHEST);
        Cell {
            node: self.node,
            offset: offset as i32,
        }
    }
}

const FARTHEST: i64 = 1 << 28;

/// What happens to a node that meets itself at another offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Precision {
    /// It is not collapsed: fewer aliases, some of them lost, counted.
    #[default]
    Fields,
    /// Its offsets are taken modulo the distance: every alias is kept.
    Sound,
}

/// Fields of a node above which it does not take part in copies and walks, and objects above which not in walks.
const MOST_FIELDS: usize = 256;
const MOST_OBJECTS: u32 = 16;

/// What was left undone, for the user to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Nodes met themselves at another offset.
    pub meetings: usize,
    /// Walks through nodes too large to follow, or that lead to two places of one node.
    pub walks: usize,
    /// Copies between nodes too large to follow, or that lead to two places of one node.
    pub copies: usize,
}

/// Nodes in the making.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    precision: Precision,
    parent: Vec<u32>,
    /// What to add to an offset in a node to get that in its parent.
    delta: Vec<i32>,
    /// Offsets are taken modulo this; 0: they are not.
    stride: Vec<u32>,
    /// Contents by offset, sorted; of roots only.
    fields: Vec<Vec<(i32, Cell)>>,
    /// Objects in the node; of roots only.
    objects: Vec<u32>,
    /// Functions in the node; of roots only, sorted.
    functions: Vec<Vec<u32>>,
    work: Vec<(Cell, Cell)>,
    /// Walks: from a cell, in steps, so far.
    walks: Vec<(Cell, u32, i64)>,
    /// Copies: to, from, bytes.
    copies: Vec<(Cell, Cell, i64)>,
    walked: FxHashMap<(Cell, u32, i64), ()>,
    losses: Losses,
}

/// What came of unifying the contents of two fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Became {
    /// They were two and are one.
    One,
    /// They were one.
    Same,
    /// They are two places of one node, and stay so: that is lost.
    Apart,
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Cells {
    /// No nodes yet.
    pub fn new(precision: Precision) -> Cells {
        Cells {
            precision,
            ..Cells::default()
        }
    }

    /// A new node, that is an object or not.
    pub fn node(&mut self, object: bool) -> Cell {
        let node = self.parent.len() as u32;
        self.parent.push(node);
        self.delta.push(0);
        self.stride.push(0);
        self.fields.push(Vec::new());
        self.objects.push(u32::from(object));
        self.functions.push(Vec::new());
        Cell { node, offset: 0 }
    }

    /// A new node that is a function's code.
    pub fn function(&mut self, function: u32) -> Cell {
        let cell = self.node(false);
        self.functions[cell.node as usize].push(function);
        cell
    }

    /// Nodes made.
    pub fn count(&self) -> usize {
        self.parent.len()
    }

    /// The root's cell that a cell has become.
    pub fn find(&mut self, cell: Cell) -> Cell {
        let (mut root, mut offset) = (cell.node, i64::from(cell.offset));
        while self.parent[root as usize] != root {
            offset += i64::from(self.delta[root as usize]);
            root = self.parent[root as usize];
        }
        // Halve nothing, compress all: each node on the way gets its whole distance.
        let (mut node, mut left) = (cell.node, offset - i64::from(cell.offset));
        while self.parent[node as usize] != root && node != root {
            let (next, step) = (self.parent[node as usize], i64::from(self.delta[node as usize]));
            self.parent[node as usize] = root;
            self.delta[node as usize] = clamp(left);
            left -= step;
            node = next;
        }
        Cell {
            node: root,
            offset: self.normal(root, offset),
        }
    }

    fn normal(&self, root: u32, offset: i64) -> i32 {
        match self.stride[root as usize] {
            0 => clamp(offset),
            stride => offset.rem_euclid(i64::from(stride)) as i32,
        }
    }

    /// Makes two cells one.
    pub fn unify(&mut self, a: Cell, b: Cell) {
        self.work.push((a, b));
        while let Some((a, b)) = self.work.pop() {
            let (a, b) = (self.find(a), self.find(b));
            if a.node != b.node {
                self.merge(a, b);
            } else if a.offset != b.offset {
                self.meets_itself(a, b);
            }
        }
    }

    fn weight(&self, node: u32) -> usize {
        self.fields[node as usize].len() + self.functions[node as usize].len()
    }

    fn merge(&mut self, mut into: Cell, mut from: Cell) {
        if self.weight(into.node) < self.weight(from.node) {
            std::mem::swap(&mut into, &mut from);
        }
        let (root, gone) = (into.node as usize, from.node as usize);
        let distance = i64::from(into.offset) - i64::from(from.offset);
        self.parent[gone] = into.node;
        self.delta[gone] = clamp(distance);
        self.objects[root] += self.objects[gone];
        let stride = self.stride[gone];
        if stride > 0 {
            self.restride(into.node, stride);
        }
        for (offset, content) in std::mem::take(&mut self.fields[gone]) {
            self.add_field(into.node, i64::from(offset) + distance, content);
        }
        let functions = std::mem::take(&mut self.functions[gone]);
        if !functions.is_empty() {
            let all = &mut self.functions[root];
            all.extend(functions);
            all.sort_unstable();
            all.dedup();
        }
    }

    fn meets_itself(&mut self, a: Cell, b: Cell) {
        let distance = a.offset.abs_diff(b.offset);
        match self.precision {
            Precision::Sound => self.restride(a.node, distance),
            Precision::Fields => {
                self.losses.meetings += 1;
                let low = Cell {
                    node: a.node,
                    offset: a.offset.min(b.offset),
                };
                self.walk(low, distance, i64::MAX);
            }
        }
    }

    fn restride(&mut self, root: u32, by: u32) {
        let stride = gcd(self.stride[root as usize], by);
        if stride == self.stride[root as usize] {
            return;
        }
        self.stride[root as usize] = stride;
        for (offset, content) in std::mem::take(&mut self.fields[root as usize]) {
            self.add_field(root, i64::from(offset), content);
        }
    }

    fn add_field(&mut self, root: u32, offset: i64, content: Cell) {
        let offset = self.normal(root, offset);
        let fields = &mut self.fields[root as usize];
        match fields.binary_search_by_key(&offset, |field| field.0) {
            Ok(at) => self.work.push((fields[at].1, content)),
            Err(at) => fields.insert(at, (offset, content)),
        }
    }

    /// The content of a cell; made if there was none.
    pub fn content(&mut self, cell: Cell) -> Cell {
        let Cell { node, offset } = self.find(cell);
        match self.fields[node as usize].binary_search_by_key(&offset, |field| field.0) {
            Ok(at) => self.fields[node as usize][at].1,
            Err(at) => {
                let content = self.node(false);
                self.fields[node as usize].insert(at, (offset, content));
                content
            }
        }
    }

    /// The functions that a cell's node is.
    pub fn functions(&mut self, cell: Cell) -> &[u32] {
        let root = self.find(cell).node;
        &self.functions[root as usize]
    }

    /// The contents of a root's cells, by offset.
    pub fn fields(&self, root: u32) -> &[(i32, Cell)] {
        &self.fields[root as usize]
    }

    /// An address walks through the node from this cell on, in steps, so many bytes far. Says whether that is new.
    pub fn walk(&mut self, from: Cell, step: u32, extent: i64) -> bool {
        if step == 0 {
            return false;
        }
        if self.precision == Precision::Sound {
            self.unify(from, from.moved(i64::from(step)));
            return false;
        }
        let is_new = self.walked.insert((from, step, extent), ()).is_none();
        if is_new {
            self.walks.push((from, step, extent));
        }
        is_new
    }

    /// So many bytes are copied.
    pub fn copy(&mut self, to: Cell, from: Cell, bytes: i64) {
        if self.precision == Precision::Sound {
            // As if the two were one: contents are shared from then on.
            self.unify(to, from);
        } else {
            self.copies.push((to, from, bytes));
        }
    }

    /// Follows walks and copies once more; says whether anything became one that was not.
    pub fn settle(&mut self) -> bool {
        let mut changed = false;
        self.losses.walks = 0;
        self.losses.copies = 0;
        for n in 0..self.walks.len() {
            let (from, step, extent) = self.walks[n];
            changed |= self.follow_walk(from, step, extent);
        }
        for n in 0..self.copies.len() {
            let (to, from, bytes) = self.copies[n];
            changed |= self.follow_copy(to, from, bytes);
        }
        changed
    }

    fn is_large(&self, root: u32) -> bool {
        self.fields[root as usize].len() > MOST_FIELDS
    }

    fn follow_walk(&mut self, from: Cell, step: u32, extent: i64) -> bool {
        let from = self.find(from);
        if self.is_large(from.node) || self.objects[from.node as usize] > MOST_OBJECTS {
            self.losses.walks += 1;
            return false;
        }
        let mut first: FxHashMap<i32, Cell> = FxHashMap::default();
        let mut changed = false;
        for (offset, content) in self.fields[from.node as usize].clone() {
            let at = i64::from(offset) - i64::from(from.offset);
            if at < 0 || at >= extent {
                continue;
            }
            let class = offset.rem_euclid(step as i32);
            match first.get(&class) {
                Some(&other) => match self.become_one(other, content) {
                    Became::Apart => self.losses.walks += 1,
                    became => changed |= became == Became::One,
                },
                None => drop(first.insert(class, content)),
            }
        }
        changed
    }

    /// Unifies what two fields hold.
    fn become_one(&mut self, a: Cell, b: Cell) -> Became {
        let (a, b) = (self.find(a), self.find(b));
        if a.node != b.node {
            self.unify(a, b);
            return Became::One;
        }
        if a.offset == b.offset {
            Became::Same
        } else {
            Became::Apart
        }
    }

    fn follow_copy(&mut self, to: Cell, from: Cell, bytes: i64) -> bool {
        let mut changed = false;
        for (source, target) in [(from, to), (to, from)] {
            let (source, target) = (self.find(source), self.find(target));
            if source.node == target.node {
                // Within a node fields at the distance of the two places become one, as far as both are copied.
                let distance = source.offset.abs_diff(target.offset);
                let low = if source.offset < target.offset { source } else { target };
                let extent = bytes.saturating_add(distance.into());
                return self.walk(low, distance, extent) || changed;
            }
            if self.is_large(source.node) {
                self.losses.copies += 1;
                continue;
            }
            for (offset, content) in self.fields[source.node as usize].clone() {
                let at = i64::from(offset) - i64::from(source.offset);
                if at < 0 || at >= bytes {
                    continue;
                }
                let there = self.content(target.moved(at));
                match self.become_one(there, content) {
                    Became::Apart => self.losses.copies += 1,
                    became => changed |= became == Became::One,
                }
            }
        }
        changed
    }

    /// What was left undone at the last [`Cells::settle`].
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Objects in a root.
    pub fn objects(&self, root: u32) -> u32 {
        self.objects[root as usize]
    }
}

fn clamp(offset: i64) -> i32 {
    offset.clamp(-FARTHEST, FARTHEST) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_at_one_offset_become_one() {
        let mut cells = Cells::new(Precision::Fields);
        let (a, b) = (cells.node(true), cells.node(true));
        let (x, y) = (cells.content(a.moved(8)), cells.content(b.moved(16)));
        let z = cells.content(b.moved(24));
        cells.unify(a, b.moved(8));
        assert_eq!(cells.find(x), cells.find(y));
        assert_ne!(cells.find(x), cells.find(z));
        assert_eq!(cells.find(a.moved(16)), cells.find(b.moved(24)));
    }

    #[test]
    fn circles_end() {
        for precision in [Precision::Fields, Precision::Sound] {
            let mut cells = Cells::new(precision);
            let list = cells.node(true);
            let next = cells.content(list.moved(8));
            cells.unify(next, list);
            let next = cells.content(list.moved(8));
            assert_eq!(cells.find(next), cells.find(list));
        }
    }

    #[test]
    fn a_sound_node_that_meets_itself_has_a_stride() {
        let mut cells = Cells::new(Precision::Sound);
        let array = cells.node(true);
        let (first, third) = (cells.content(array), cells.content(array.moved(16)));
        cells.unify(array, array.moved(8));
        assert_eq!(cells.find(first), cells.find(third));
    }

    #[test]
    fn a_small_node_that_is_walked_shares_what_its_steps_hold() {
        let mut cells = Cells::new(Precision::Fields);
        let table = cells.node(true);
        let entries = [0, 8, 16, 20].map(|offset| cells.content(table.moved(offset)));
        cells.unify(table, table.moved(8));
        while cells.settle() {}
        assert_eq!(cells.find(entries[0]), cells.find(entries[2]));
        assert_ne!(cells.find(entries[0]), cells.find(entries[3]));
        assert_eq!(cells.losses().meetings, 1);
    }

    #[test]
    fn a_copy_within_a_node_is_followed() {
        let mut cells = Cells::new(Precision::Fields);
        let (a, b) = (cells.node(true), cells.node(true));
        let content = cells.content(a);
        cells.unify(content, b);
        cells.copy(a.moved(-8), a, 8);
        let (copied, beside) = (cells.content(a.moved(-8)), cells.content(a.moved(8)));
        while cells.settle() {}
        assert_eq!(cells.find(copied), cells.find(b));
        assert_ne!(cells.find(beside), cells.find(b));
        assert_eq!(cells.losses(), Losses::default());
    }

    #[test]
    fn a_copy_of_an_address_beside_another_of_its_node_is_lost_and_counted() {
        let mut cells = Cells::new(Precision::Fields);
        let (a, b, c) = (cells.node(true), cells.node(true), cells.node(true));
        for (holder, held) in [(a, c), (b, c.moved(8))] {
            let content = cells.content(holder);
            cells.unify(content, held);
        }
        cells.copy(b, a, 8);
        while cells.settle() {}
        assert_eq!((cells.losses().copies > 0, cells.losses().meetings), (true, 0));
    }

    #[test]
    fn copies_share_contents_and_not_objects() {
        let mut cells = Cells::new(Precision::Fields);
        let (a, b) = (cells.node(true), cells.node(true));
        let (inside, outside) = (cells.content(a.moved(8)), cells.content(a.moved(40)));
        cells.copy(b, a, 16);
        while cells.settle() {}
        let copied = cells.content(b.moved(8));
        assert_eq!(cells.find(copied), cells.find(inside));
        let beyond = cells.content(b.moved(40));
        assert_ne!(cells.find(beyond), cells.find(outside));
        assert_ne!(cells.find(a), cells.find(b));
    }
}
