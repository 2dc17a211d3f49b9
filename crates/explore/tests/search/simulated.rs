//! Runs of programs that are functions of their input, with the traces that the runtime would leave.

use deadheat_explore::evaluate::{binary, compare};
use deadheat_explore::expression::{Op, Test, mask};
use deadheat_explore::{Assignment, Symbol};
use deadheat_wire::trace::{self, Constraint, Node, Touch, constraint, op};

/// A value with its expression, as instrumented code has it.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    pub node: u32,
    pub value: u64,
    pub width: u32,
}

/// A run in the making.
pub struct Run<'a> {
    input: &'a Assignment,
    pub nodes: Vec<Node>,
    pub constraints: Vec<Constraint>,
    pub touches: Vec<Touch>,
    /// Branches and their sides.
    pub log: Vec<(u64, bool)>,
    /// Where the program stands.
    pub place: u64,
}

impl Run<'_> {
    pub fn make(&mut self, op: u8, width: u32, (a, b, c): (u32, u32, u32), value: u64) -> Value {
        let value = mask(value, width);
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            op,
            width: width as u8,
            low: 0,
            a,
            b,
            c,
            value,
        });
        Value { node, value, width }
    }

    pub fn byte(&mut self, offset: u32) -> Value {
        let value = self.input.get(&Symbol { source: 1, offset }).copied().unwrap_or(0);
        self.make(op::SYMBOL, 8, (1, offset, 0), value.into())
    }

    pub fn constant(&mut self, value: u64, width: u32) -> Value {
        self.make(op::CONST, width, (0, 0, 0), value)
    }

    pub fn int(&mut self, a: Value) -> Value {
        self.make(op::ZERO_EXTEND, 32, (a.node, 0, 0), a.value)
    }

    pub fn calc(&mut self, code: u8, a: Value, b: Value) -> Value {
        let ops = [Op::Add, Op::Sub, Op::Mul];
        let value = binary(ops[code as usize], a.value, b.value, a.width);
        self.make(code, a.width, (a.node, b.node, 0), value)
    }

    /// `if (a TEST b)`.
    pub fn branch(&mut self, site: u64, code: u8, a: Value, b: Value) -> bool {
        self.constrain(constraint::BRANCH, site, code, a, b)
    }

    /// A constraint of some kind.
    pub fn constrain(&mut self, kind: u8, site: u64, code: u8, a: Value, b: Value) -> bool {
        let holds = match code {
            op::EQ => a.value == b.value,
            op::NE => a.value != b.value,
            op::ULT => a.value < b.value,
            op::SGT => compare(Test::Slt, b.value, a.value, a.width),
            _ => unreachable!(),
        };
        let condition = self.make(code, 1, (a.node, b.node, 0), holds.into());
        self.constraints.push(Constraint {
            site,
            node: condition.node,
            thread: 0,
            kind,
            taken: holds.into(),
            place: self.place,
        });
        self.log.push((site, holds));
        holds
    }

    /// The row of this segment for eight bytes.
    fn touch(&mut self, at: u64, thread: u16) -> &mut Touch {
        let segment = self.constraints.len() as u32;
        let known = self.touches.iter().rposition(|t| t.segment == segment && t.at == at);
        let n = known.unwrap_or_else(|| {
            self.touches.push(Touch {
                at,
                segment,
                thread,
                ..Touch::default()
            });
            self.touches.len() - 1
        });
        let touch = &mut self.touches[n];
        if touch.thread != thread {
            touch.thread = trace::SHARED;
        }
        touch
    }

    /// A statement of a thread reads the byte at an address that is a multiple of eight.
    pub fn reads(&mut self, at: u64, thread: u16, statement: u64) {
        let touch = self.touch(at, thread);
        touch.statements = touch.statements.wrapping_add(statement);
        touch.read |= 1 & !touch.written;
    }

    /// It writes it.
    pub fn writes(&mut self, at: u64, (thread, statement): (u16, u64), value: Value) {
        let touch = self.touch(at, thread);
        touch.statements = touch.statements.wrapping_add(statement);
        touch.written |= 1;
        touch.value = value.value;
        touch.numbers[0] = value.node;
    }

    /// Code of which nothing is known runs.
    pub fn opaque(&mut self) {
        self.touches.push(Touch {
            at: trace::OPAQUE,
            segment: self.constraints.len() as u32,
            ..Touch::default()
        });
    }

    fn bytes(&self) -> Vec<u8> {
        let touches_at = trace::NODES_AT + self.nodes.len() * trace::NODE_SIZE;
        let mut bytes = vec![0; touches_at + self.touches.len() * trace::TOUCH_SIZE];
        bytes[..8].copy_from_slice(&trace::MAGIC);
        let mut word = |at: usize, n: usize| bytes[at..at + 4].copy_from_slice(&(n as u32).to_le_bytes());
        word(trace::NODE_COUNT_AT, self.nodes.len());
        word(trace::CONSTRAINT_COUNT_AT, self.constraints.len());
        word(trace::TOUCH_COUNT_AT, self.touches.len());
        for (n, touch) in self.touches.iter().enumerate() {
            let at = touches_at + n * trace::TOUCH_SIZE;
            bytes[at..at + trace::TOUCH_SIZE].copy_from_slice(&touch.encode());
        }
        for (n, c) in self.constraints.iter().enumerate() {
            let at = trace::CONSTRAINTS_AT + n * trace::CONSTRAINT_SIZE;
            bytes[at..at + trace::CONSTRAINT_SIZE].copy_from_slice(&c.encode());
        }
        for (n, node) in self.nodes.iter().enumerate() {
            let at = trace::NODES_AT + n * trace::NODE_SIZE;
            bytes[at..at + trace::NODE_SIZE].copy_from_slice(&node.encode());
        }
        bytes
    }
}

/// The trace that a program leaves on an input, and the branches that it took.
pub fn run(program: impl Fn(&mut Run), input: &Assignment) -> (Vec<u8>, Vec<(u64, bool)>) {
    let mut run = Run {
        input,
        nodes: vec![Node::default()],
        constraints: Vec::new(),
        touches: Vec::new(),
        log: Vec::new(),
        place: 0,
    };
    program(&mut run);
    (run.bytes(), run.log)
}
