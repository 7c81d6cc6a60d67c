/** One step of the schema, the same for every database except for `only`. */
export interface Step {
  name: string;
  sql: string;
  /** SQL for one database, run after `sql`. Triggers, for example, have a different syntax in each. */
  only?: { sqlite: string; postgres: string };
}

/** A step with its number, from 1. */
export interface Migration extends Step {
  version: number;
}
