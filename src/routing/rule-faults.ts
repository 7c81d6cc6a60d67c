import { MAX_TEXT, isRuleText } from './rule-fields.ts';

/** A fault in a part of a rule set; `path` is relative to that part. */
export interface RuleFault {
  path: PropertyKey[];
  code: string;
  message: string;
  /** Remedy, such as `remove it`. Default: set the field to the text that follows `must be` in the message. */
  remedy?: string;
}

/** Maximum number of values of an array, and of fields of a condition. */
export const MAX_VALUES = 100;

/** Faults of the part at `path` as faults of the whole. */
export function within(path: RuleFault['path'], faults: readonly RuleFault[]): RuleFault[] {
  return faults.map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
}

/** Fault of a value that is not an array of 1 to 100 entries, whatever the entries are. */
export function arrayFaults(value: unknown, entries: string): RuleFault[] {
  const message = `must be an array of 1 to ${MAX_VALUES} ${entries}`;
  if (!Array.isArray(value)) return [{ path: [], code: 'invalid_type', message }];
  if (value.length === 0) return [{ path: [], code: 'too_small', message }];
  return value.length > MAX_VALUES ? [{ path: [], code: 'too_big', message }] : [];
}

/** Fault of a value that is not a string of 1 to 500 characters. `prefix` precedes that description in the message. */
export function textFaults(value: unknown, prefix = ''): RuleFault[] {
  if (isRuleText(value, 1)) return [];
  const message = `must be ${prefix}a string of 1 to ${MAX_TEXT} characters`;
  return [{ path: [], code: codeOf(value, 'string'), message }];
}

/** Code of a fault of a value, depending on whether its type is the wanted one. */
export function codeOf(value: unknown, type: 'string' | 'number'): string {
  return typeof value === type ? 'invalid_value' : 'invalid_type';
}
