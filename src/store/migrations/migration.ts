/** One step of the schema: the same for every database, but for what only one of them can be told. */
export interface Step {
  name: string;
  sql: string;
  /** Run after `sql` on that database only, such as triggers, which both write in their own way. */
  only?: { sqlite: string; postgres: string };
}

/** A step with its number, from 1. */
export interface Migration extends Step {
  version: number;
}
