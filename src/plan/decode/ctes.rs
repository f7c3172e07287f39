//! CTEs.

use super::super::expr::Expr;
use super::super::rel::{Column, Cte, CteRef, Materialize, RecursiveCte, Rel};
use super::expressions::Scope;
use super::reader::Fields;
use super::{CteInScope, DecodeError, Decoded, Decoder, Slot};

impl Decoder<'_> {
    pub(super) fn cte(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["column_count", "ctename", "materialize"])?;
        let [definition, body] = self.list(fields, "children")? else {
            return Err(self.error("a CTE without a body"));
        };
        let id = self.next_cte;
        self.next_cte += 1;
        let materialize = match self.text(fields, "materialize")? {
            "CTE_MATERIALIZE_DEFAULT" => Materialize::Default,
            "CTE_MATERIALIZE_ALWAYS" => Materialize::Always,
            "CTE_MATERIALIZE_NEVER" => Materialize::Never,
            other => return Err(self.error(format!("the CTE option {other}"))),
        };
        let definition = self.node(definition)?;
        let definition = Box::new(self.exact(definition)?);
        self.ctes.push(CteInScope { table_index: self.number(fields, "table_index")?, id });
        let body = self.node(body)?;
        self.ctes.pop();
        let name = self.text(fields, "ctename")?.to_owned();
        let rel = Rel::Cte(Cte { name, id, materialize, definition, body: Box::new(body.rel) });
        Ok(Decoded { rel, slots: body.slots })
    }

    pub(super) fn cte_reference(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["cte_index", "chunk_types", "bound_columns", "is_recurring"])?;
        let table_index = self.number(fields, "cte_index")?;
        let id = match self.ctes.iter().rev().find(|cte| cte.table_index == table_index) {
            Some(cte) => cte.id,
            None => return Err(self.error("a reference to a CTE that is not in scope")),
        };
        let types = self.data_types(self.list(fields, "chunk_types")?)?;
        let names: Vec<String> = self.typed(fields, "bound_columns")?;
        if names.len() != types.len() {
            return Err(self.error("a reference to a CTE whose columns have no names"));
        }
        let columns = names.into_iter().zip(types).map(|(name, data_type)| Column { name, data_type }).collect();
        let recurring = self.flag(fields, "is_recurring")?;
        let rel = Rel::CteRef(CteRef { id, columns, recurring });
        Decoded::of(rel, self.number(fields, "table_index")?)
    }

    pub(super) fn recursive_cte(&mut self, fields: Fields<'_>) -> Result<Decoded, DecodeError> {
        self.only_node(fields, &["union_all", "ctename", "column_count", "key_targets", "ref_recurring"])?;
        let [start, step] = self.list(fields, "children")? else {
            return Err(self.error("a recursive CTE without a step"));
        };
        let id = self.next_cte;
        self.next_cte += 1;
        let table_index = self.number(fields, "table_index")?;
        let start = self.node(start)?;
        let start = Box::new(self.exact(start)?);
        self.ctes.push(CteInScope { table_index, id });
        let step = self.node(step)?;
        let step = Box::new(self.exact(step)?);
        self.ctes.pop();
        let columns = start.columns();
        let slots = Slot::each(table_index, &columns);
        let mut keys = Vec::new();
        for json in self.list(fields, "key_targets")? {
            match self.expr(json, Scope::Row(&slots))? {
                Expr::Column { index, .. } => keys.push(index),
                _ => return Err(self.error("USING KEY with an expression")),
            }
        }
        let all = self.flag(fields, "union_all")?;
        let name = self.text(fields, "ctename")?.to_owned();
        let rel = Rel::RecursiveCte(RecursiveCte { name, id, all, start, step, keys, columns });
        Ok(Decoded { rel, slots })
    }
}
