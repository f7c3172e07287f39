//! Joins, and the correlated subqueries that DuckDB turns into them.

use super::super::expr::{Conjunction, Expr};
use super::super::rel::{DependentJoin, DependentKeys, Join, JoinCondition, JoinKind, Rel};
use super::expressions::Scope;
use super::reader::Fields;
use super::{Column, DecodeError, Decoded, Decoder, DependentInScope, Slot, boolean_column, laterals, nested_keys};

/// Fields of the joins with conditions.
const COMPARISON_JOIN: [&str; 9] = [
    "join_type",
    "mark_index",
    "left_projection_map",
    "right_projection_map",
    "conditions",
    "mark_types",
    "duplicate_eliminated_columns",
    "delim_flipped",
    "predicate",
];

impl Decoder<'_> {
    /// A join whose sides stand for themselves.
    pub(super) fn join(&mut self, fields: Fields<'_>, node: &str) -> Result<Decoded, DecodeError> {
        let known = [&COMPARISON_JOIN[..], &["condition"]].concat();
        self.only_node(fields, &known)?;
        for unused in ["duplicate_eliminated_columns", "left_projection_map", "right_projection_map", "mark_types"] {
            self.must_be_empty(fields, unused)?;
        }
        let [left, right] = self.list(fields, "children")? else {
            return Err(self.error("a join without two sides"));
        };
        let (left, right) = (self.node(left)?, self.node(right)?);
        let kind = self.join_kind(fields, node)?;
        let conditions = self.conditions(fields, &left.slots, &right.slots)?;
        let mut predicates = Vec::new();
        let width = left.rel.columns().len();
        let both: Vec<Slot> = left.slots.iter().cloned().chain(Slot::shifted(right.slots.clone(), width)).collect();
        for name in ["condition", "predicate"] {
            if let Some(condition) = fields.get(name) {
                match self.expr(condition, Scope::Row(&both))? {
                    Expr::Conjunction { op: Conjunction::And, operands } => predicates.extend(operands),
                    other => predicates.push(other),
                }
            }
        }
        let slots = self.join_slots(fields, kind, &left, right.slots)?;
        let join = Join { kind, left: Box::new(left.rel), right: Box::new(right.rel), conditions, predicates };
        Ok(Decoded { rel: Rel::Join(join), slots })
    }

    fn join_kind(&self, fields: Fields<'_>, node: &str) -> Result<JoinKind, DecodeError> {
        let join_type = self.text(fields, "join_type")?;
        let kind = match (node, join_type) {
            ("LOGICAL_CROSS_PRODUCT", "") => JoinKind::Inner,
            ("LOGICAL_POSITIONAL_JOIN", "") => JoinKind::Positional,
            ("LOGICAL_ASOF_JOIN", "INNER") => JoinKind::AsOfInner,
            ("LOGICAL_ASOF_JOIN", "LEFT") => JoinKind::AsOfLeft,
            ("LOGICAL_ASOF_JOIN", "RIGHT") => JoinKind::AsOfRight,
            ("LOGICAL_ASOF_JOIN", "FULL" | "OUTER") => JoinKind::AsOfFull,
            ("LOGICAL_COMPARISON_JOIN" | "LOGICAL_ANY_JOIN" | "LOGICAL_DELIM_JOIN", join_type) => match join_type {
                "INNER" => JoinKind::Inner,
                "LEFT" => JoinKind::Left,
                "RIGHT" => JoinKind::Right,
                "FULL" | "OUTER" => JoinKind::Full,
                "SEMI" => JoinKind::Semi,
                "ANTI" => JoinKind::Anti,
                "MARK" => JoinKind::Mark,
                "SINGLE" => JoinKind::Single,
                other => return Err(self.error(format!("the join type {other}"))),
            },
            (node, join_type) => return Err(self.error(format!("the join {node} {join_type}"))),
        };
        Ok(kind)
    }

    fn conditions(
        &mut self,
        fields: Fields<'_>,
        left: &[Slot],
        right: &[Slot],
    ) -> Result<Vec<JoinCondition>, DecodeError> {
        let mut conditions = Vec::new();
        for json in self.list(fields, "conditions")? {
            let condition = self.fields(json, "a join condition", &["left", "right", "comparison"])?;
            conditions.push(JoinCondition {
                left: self.expr(self.required(condition, "left")?, Scope::Row(left))?,
                op: self.comparison(self.text(condition, "comparison")?)?,
                right: self.expr(self.required(condition, "right")?, Scope::Row(right))?,
            });
        }
        Ok(conditions)
    }

    fn join_slots(
        &self,
        fields: Fields<'_>,
        kind: JoinKind,
        left: &Decoded,
        right: Vec<Slot>,
    ) -> Result<Vec<Slot>, DecodeError> {
        let width = left.rel.columns().len();
        let mut slots = left.slots.clone();
        if kind.keeps_right() {
            slots.extend(Slot::shifted(right, width));
        } else if kind == JoinKind::Mark {
            let binding = (self.number(fields, "mark_index")?, 0);
            slots.push(Slot { binding, position: Some(width), column: boolean_column("mark") });
        }
        Ok(slots)
    }

    /// A correlated subquery: DuckDB evaluates its right side for the distinct values of the columns of the left side
    /// that it reads, and joins back.
    pub(super) fn dependent_join(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &COMPARISON_JOIN)?;
        for unused in ["left_projection_map", "right_projection_map"] {
            self.must_be_empty(fields, unused)?;
        }
        if self.flag(fields, "delim_flipped")? || fields.get("predicate").is_some() {
            return Err(self.error("a correlated join with its sides exchanged or a further predicate"));
        }
        let [left, right] = self.list(fields, "children")? else {
            return Err(self.error("a join without two sides"));
        };
        let id = self.next_dependent;
        self.next_dependent += 1;
        let left = self.node(left)?;
        let keys = self.exprs(self.list(fields, "duplicate_eliminated_columns")?, Scope::Row(&left.slots))?;
        let columns = keys.iter().map(|key| Column::new(super::telling_name(key, &left.slots), key.data_type()));
        self.dependents.push(DependentInScope { id, columns: columns.collect() });
        let right = self.node(right)?;
        self.dependents.pop();
        let kind = self.join_kind(fields, "LOGICAL_DELIM_JOIN")?;
        let conditions = self.conditions(fields, &left.slots, &right.slots)?;
        let slots = self.join_slots(fields, kind, &left, right.slots.clone())?;
        let join =
            Join { kind, left: Box::new(left.rel), right: Box::new(right.rel), conditions, predicates: Vec::new() };
        let dependent = DependentJoin { join, keys, id };
        Ok(match laterals::apply(dependent, slots, &right.slots) {
            Ok(lateral) => lateral,
            Err((dependent, slots)) => Decoded { rel: Rel::DependentJoin(nested_keys::by_value(*dependent)), slots },
        })
    }

    /// The distinct keys of the correlated join around.
    pub(super) fn dependent_keys(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["chunk_types"])?;
        let types = self.data_types(self.list(fields, "chunk_types")?)?;
        let around = self.dependents.last();
        let Some((id, columns)) = around.map(|dependent| (dependent.id, dependent.columns.clone())) else {
            return Err(self.error("correlated columns outside a correlated join"));
        };
        if columns.iter().map(|column| &column.data_type).ne(&types) {
            return Err(self.error("correlated columns that are not those of the correlated join around"));
        }
        let rel = Rel::DependentKeys(DependentKeys { id, columns });
        Decoded::of(rel, self.number(fields, "table_index")?)
    }
}
