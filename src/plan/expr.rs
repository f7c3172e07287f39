//! Scalar expressions over the columns of a node's input.

use super::types::DataType;

/// A scalar expression. Every implicit cast that DuckDB's binder added is an explicit [`Expr::Cast`].
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// Output column `index` of the node's input.
    Column {
        /// The position, from 0.
        index: usize,
        /// Its type.
        data_type: DataType,
    },
    /// A constant.
    Literal(Literal),
    /// `left op right`
    Comparison {
        /// The operator.
        op: Comparison,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `a AND b AND …`, `a OR b OR …`
    Conjunction {
        /// Which of the two.
        op: Conjunction,
        /// Two operands or more.
        operands: Vec<Expr>,
    },
    /// `NOT`, `IS NULL`, `COALESCE`, `IN` over a list, and the like.
    Operator {
        /// The operator.
        op: Operator,
        /// Its operands.
        operands: Vec<Expr>,
        /// The result's type.
        data_type: DataType,
    },
    /// `input BETWEEN lower AND upper`, with either bound open or closed.
    Between {
        /// The tested value.
        input: Box<Expr>,
        /// The lower bound.
        lower: Box<Expr>,
        /// The upper bound.
        upper: Box<Expr>,
        /// Does the lower bound itself belong to the range?
        lower_inclusive: bool,
        /// Does the upper bound itself belong to the range?
        upper_inclusive: bool,
    },
    /// `CASE WHEN … THEN … ELSE … END`
    Case {
        /// The branches in order.
        branches: Vec<CaseBranch>,
        /// The `ELSE`.
        otherwise: Box<Expr>,
        /// The result's type.
        data_type: DataType,
    },
    /// `CAST(input AS type)` or `TRY_CAST`.
    Cast {
        /// What is cast.
        input: Box<Expr>,
        /// The type it is cast to.
        data_type: DataType,
        /// NULL instead of an error.
        fallible: bool,
    },
    /// A scalar function.
    Function(FunctionCall),
    /// A parameter of the lambda that encloses this expression: parameter `index` of the lambda `depth` levels up
    /// (0 is the nearest).
    LambdaParameter {
        /// Levels up.
        depth: usize,
        /// The parameter's position.
        index: usize,
        /// Its type.
        data_type: DataType,
    },
}

/// One `WHEN condition THEN value`.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBranch {
    /// The condition.
    pub condition: Expr,
    /// The value if it is true.
    pub value: Expr,
}

/// A typed constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    /// The value; `None` is NULL.
    pub value: Option<Constant>,
    /// The type.
    pub data_type: DataType,
}

/// The value of a [`Literal`].
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// A boolean.
    Boolean(bool),
    /// Any integer type, and the unscaled value of a DECIMAL, in decimal digits (UHUGEINT does not fit an `i128`).
    Integer(String),
    /// FLOAT and DOUBLE.
    Double(f64),
    /// VARCHAR, and every type that is best written as text and cast (dates, UUID, intervals, …).
    Text(String),
    /// BLOB and other raw bytes.
    Bytes(Vec<u8>),
    /// LIST and ARRAY.
    List(Vec<Literal>),
    /// STRUCT, in the order of the type's fields.
    Struct(Vec<Literal>),
    /// MAP, key and value.
    Map(Vec<(Literal, Literal)>),
    /// UNION: the tag's position and the value.
    Union(usize, Box<Literal>),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IS DISTINCT FROM`
    DistinctFrom,
    /// `IS NOT DISTINCT FROM`
    NotDistinctFrom,
}

impl Comparison {
    /// The operator that says the same with its operands exchanged.
    #[must_use]
    pub fn swapped(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            Comparison::Equal | Comparison::NotEqual | Comparison::DistinctFrom | Comparison::NotDistinctFrom => self,
        }
    }
}

/// `AND` or `OR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conjunction {
    /// `AND`
    And,
    /// `OR`
    Or,
}

/// DuckDB's operators that are neither functions nor comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `NOT x`
    Not,
    /// `x IS NULL`
    IsNull,
    /// `x IS NOT NULL`
    IsNotNull,
    /// `COALESCE(…)`
    Coalesce,
    /// `x IN (list)`
    In,
    /// `x NOT IN (list)`
    NotIn,
    /// `TRY(x)`
    Try,
    /// `NULLIF(a, b)`
    NullIf,
}

/// A call of a scalar function, with what its bind data adds to the arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// The function's name as DuckDB bound it (`+`, `upper`, `struct_pack`).
    pub name: String,
    /// Catalog and schema, when the function is not DuckDB's own.
    pub qualifier: Option<(String, String)>,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// The lambda in the bind data, for `list_transform` and its kin.
    pub lambda: Option<Box<Lambda>>,
    /// Written between or before its arguments (`a + b`, `-a`).
    pub is_operator: bool,
    /// The result's type.
    pub data_type: DataType,
}

/// An argument; some functions (`struct_pack`, `struct_insert`) take it by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The name in `name := value`.
    pub name: Option<String>,
    /// The value.
    pub value: Expr,
}

/// A lambda. Its body refers to its parameters by [`Expr::LambdaParameter`] and to the row by [`Expr::Column`].
#[derive(Debug, Clone, PartialEq)]
pub struct Lambda {
    /// How many parameters it takes.
    pub parameters: usize,
    /// Its body.
    pub body: Expr,
}

/// One key of an `ORDER BY`.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// What is sorted by.
    pub expr: Expr,
    /// Largest first.
    pub descending: bool,
    /// NULLs before all other values.
    pub nulls_first: bool,
}

impl Expr {
    /// A reference to output column `index` of the input.
    pub fn column(index: usize, data_type: DataType) -> Expr {
        Expr::Column { index, data_type }
    }

    /// The expression's type.
    pub fn data_type(&self) -> DataType {
        match self {
            Expr::Column { data_type, .. }
            | Expr::Operator { data_type, .. }
            | Expr::Case { data_type, .. }
            | Expr::Cast { data_type, .. }
            | Expr::LambdaParameter { data_type, .. } => data_type.clone(),
            Expr::Literal(literal) => literal.data_type.clone(),
            Expr::Function(call) => call.data_type.clone(),
            Expr::Comparison { .. } | Expr::Conjunction { .. } | Expr::Between { .. } => DataType::Boolean,
        }
    }

    /// The direct sub-expressions, in order (a lambda's body included).
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Column { .. } | Expr::Literal(_) | Expr::LambdaParameter { .. } => Vec::new(),
            Expr::Comparison { left, right, .. } => vec![left, right],
            Expr::Conjunction { operands, .. } | Expr::Operator { operands, .. } => operands.iter().collect(),
            Expr::Between { input, lower, upper, .. } => vec![input, lower, upper],
            Expr::Case { branches, otherwise, .. } => {
                branches.iter().flat_map(|branch| [&branch.condition, &branch.value]).chain([&**otherwise]).collect()
            }
            Expr::Cast { input, .. } => vec![input],
            Expr::Function(call) => call
                .arguments
                .iter()
                .map(|argument| &argument.value)
                .chain(call.lambda.iter().map(|lambda| &lambda.body))
                .collect(),
        }
    }

    /// The direct sub-expressions, for rewriting in place.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Expr::Column { .. } | Expr::Literal(_) | Expr::LambdaParameter { .. } => Vec::new(),
            Expr::Comparison { left, right, .. } => vec![left, right],
            Expr::Conjunction { operands, .. } | Expr::Operator { operands, .. } => operands.iter_mut().collect(),
            Expr::Between { input, lower, upper, .. } => vec![input, lower, upper],
            Expr::Case { branches, otherwise, .. } => branches
                .iter_mut()
                .flat_map(|branch| [&mut branch.condition, &mut branch.value])
                .chain([&mut **otherwise])
                .collect(),
            Expr::Cast { input, .. } => vec![input],
            Expr::Function(call) => call
                .arguments
                .iter_mut()
                .map(|argument| &mut argument.value)
                .chain(call.lambda.iter_mut().map(|lambda| &mut lambda.body))
                .collect(),
        }
    }

    /// Calls `visit` on this expression and everything below it, outermost first.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    /// The positions of the input's columns that the expression reads, ascending, each once.
    pub fn columns(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.walk(&mut |expr| {
            if let Expr::Column { index, .. } = expr {
                found.push(*index);
            }
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The same expression with every column `i` read from `position(i)` instead.
    #[must_use]
    pub fn with_columns(mut self, position: &dyn Fn(usize) -> usize) -> Expr {
        self.rewrite_columns(position);
        self
    }

    fn rewrite_columns(&mut self, position: &dyn Fn(usize) -> usize) {
        if let Expr::Column { index, .. } = self {
            *index = position(*index);
        }
        for child in self.children_mut() {
            child.rewrite_columns(position);
        }
    }

    /// The same expression with `value` in the place of column `position`.
    #[must_use]
    pub fn with_value(mut self, position: usize, value: &Expr) -> Expr {
        if matches!(self, Expr::Column { index, .. } if index == position) {
            return value.clone();
        }
        for child in self.children_mut() {
            let taken = std::mem::replace(child, value.clone());
            *child = taken.with_value(position, value);
        }
        self
    }

    /// The same expression with every column `i` replaced by `values[i]`.
    #[must_use]
    pub fn substitute(mut self, values: &[Expr]) -> Expr {
        self.substitute_in_place(values);
        self
    }

    fn substitute_in_place(&mut self, values: &[Expr]) {
        if let Expr::Column { index, .. } = self {
            if let Some(value) = values.get(*index) {
                *self = value.clone();
            }
            return;
        }
        for child in self.children_mut() {
            child.substitute_in_place(values);
        }
    }
}
