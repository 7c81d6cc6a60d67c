import { MAX_AMOUNT, centsFromAmount } from '../domain/money.ts';
import { ENVIRONMENTS, ROUTE_KINDS } from '../domain/route.ts';

/** A fault in a part of a rule set; `path` is relative to that part. */
export interface RuleFault {
  path: (string | number)[];
  code: string;
  message: string;
  /** Remedy, such as `remove it`. Default: set the field to the text that follows `must be` in the message. */
  remedy?: string;
}

export type Operator = 'eq' | 'ne' | 'in' | 'nin' | 'gt' | 'gte' | 'lt' | 'lte' | 'prefix' | 'suffix' | 'exists';

/** A field that conditions can compare. */
export interface RuleField {
  /** Description of the accepted values. */
  wanted: string;
  operators: readonly Operator[];
  /** All values, if they are few. */
  choices?: readonly string[];
  accepts(value: unknown): boolean;
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export const METADATA_PREFIX = 'metadata.';
/** The longest text of a rule set, in characters. */
export const MAX_TEXT = 500;

const CHOICE: readonly Operator[] = ['eq', 'ne', 'in', 'nin'];
const ORDERED: readonly Operator[] = [...CHOICE, 'gt', 'gte', 'lt', 'lte'];
const TEXT: readonly Operator[] = [...CHOICE, 'prefix', 'suffix'];
const CURRENCY_CODE = /^[A-Z]{3}$/;

const oneOf = (values: readonly string[]): RuleField => ({
  wanted: `one of ${values.join(', ')}`,
  operators: CHOICE,
  choices: values,
  accepts: (value) => typeof value === 'string' && values.includes(value),
});

const freeText: RuleField = {
  wanted: `a string of at most ${MAX_TEXT} characters`,
  operators: TEXT,
  accepts: (value) => typeof value === 'string' && isRuleText(value, 0),
};

const optional = (field: RuleField): RuleField => ({ ...field, operators: [...field.operators, 'exists'] });

const FIELDS: Readonly<Record<string, RuleField>> = {
  amount: {
    wanted: `US dollars, not cents: 0 to ${MAX_AMOUNT}, at most two decimals`,
    operators: ORDERED,
    accepts: (value) =>
      typeof value === 'number' && value >= 0 && value <= MAX_AMOUNT && centsFromAmount(value) !== undefined,
  },
  currency: {
    wanted: 'a currency of three capital letters',
    operators: CHOICE,
    accepts: (value) => typeof value === 'string' && CURRENCY_CODE.test(value),
  },
  environment: oneOf(ENVIRONMENTS),
  preferredKind: optional(oneOf(ROUTE_KINDS)),
  product: freeText,
  customer: freeText,
  clientReferenceId: optional(freeText),
  hour: {
    wanted: 'a whole number of 0 to 23',
    operators: ORDERED,
    accepts: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 23,
  },
  weekday: oneOf(WEEKDAYS),
};
const METADATA = optional(freeText);

/** The fields with a fixed name. Conditions can also use `metadata.<key>`. */
export const FIELD_NAMES: readonly string[] = Object.keys(FIELDS);

/** The condition field called `name`, such as `amount` or `metadata.country`; undefined if there is no such field. */
export function fieldNamed(name: string): RuleField | undefined {
  if (Object.hasOwn(FIELDS, name)) return FIELDS[name];
  const isMetadata = name.startsWith(METADATA_PREFIX) && isRuleText(name.slice(METADATA_PREFIX.length), 1);
  return isMetadata ? METADATA : undefined;
}

/** True if a text has `min` to 500 characters, and a session can contain all of them. */
export function isRuleText(value: string, min: number): boolean {
  // A character has at most two UTF-16 units, so a text of more than twice the limit is too long.
  if (value.length < min || value.length > MAX_TEXT * 2) return false;
  return value.isWellFormed() && !value.includes('\0') && Array.from(value).length <= MAX_TEXT;
}
